package vault

import (
	"context"
	"fmt"
	"iter"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// VaultQuery selects vaults of one organization. The zero value selects all.
type VaultQuery struct {
	// After is the ID that the page begins behind, whether or not there is such a vault;
	// "" for the first page.
	After string

	// Limit is how many vaults a page may hold: 0 for 50, at most mortise.MaxPageSize.
	Limit int
}

// VaultPage is a stretch of the list of an organization's vaults, by ID (as bytes).
type VaultPage struct {
	Items []Vault
	Next  string // the next page's VaultQuery.After; "" if this is the last one
}

const (
	vaultStep      = 8      // vaults that are read at once
	maxPageColumns = 20_000 // see Vault.columns; a page ends with the vault that reaches it
)

// ListVaults returns a page of the organization's vaults, with their schemas, by ID. It
// is not of one moment: a vault that comes meanwhile may be there or not.
//
// Schemas can be large (40,000 columns), so a page is bounded by them, too: it ends with
// the vault by which it has 20,000 tables, columns and past columns, though it may hold
// fewer vaults than Limit then. Next says whether others follow. Beyond that, no more
// than seven further schemas are in memory at a time.
//
// Errors are [*mortise.ValidationError], for a Limit outside 0 to
// [mortise.MaxPageSize], and [mortise.ErrUnavailable]. An organization that nobody has
// heard of has no vaults.
func (s *Service) ListVaults(ctx context.Context, org string, q VaultQuery) (VaultPage, error) {
	var p problems
	limit := p.Limit(q.Limit)
	if err := p.Err(); err != nil {
		return VaultPage{}, err
	}
	if name.Problem(org) != "" {
		return VaultPage{}, nil
	}
	var page VaultPage
	columns := 0
	for after := q.After; ; {
		// One more than the page may hold says that there is a next one. A few at a time,
		// so that what is read beyond the bound of the columns is little.
		step := min(vaultStep, limit+1-len(page.Items))
		vaults, err := s.store.ListVaults(ctx, org, after, step)
		if err != nil {
			return VaultPage{}, unavailable("list vaults", err)
		}
		for i := range vaults {
			if len(page.Items) == limit || columns >= maxPageColumns {
				page.Next = page.Items[len(page.Items)-1].ID
				return page, nil
			}
			page.Items = append(page.Items, vaults[i])
			columns += vaults[i].columns()
		}
		if len(vaults) < step {
			return page, nil
		}
		after = vaults[len(vaults)-1].ID
	}
}

// columns says how large a vault's schema is: its tables, their columns, and the past
// ones.
func (v *Vault) columns() int {
	n := len(v.Schema.Tables) + len(v.Past)
	for i := range v.Schema.Tables {
		n += len(v.Schema.Tables[i].Columns)
	}
	return n
}

// Vaults iterates over the organization's vaults, with their schemas, by ID (as bytes),
// page by page. It ends after the first error; see [Service.ListVaults].
func (s *Service) Vaults(ctx context.Context, org string) iter.Seq2[Vault, error] {
	return pages.Each("", errGoesBack, func(after pages.ID) ([]Vault, pages.ID, bool, error) {
		page, err := s.ListVaults(ctx, org, VaultQuery{After: string(after)})
		return page.Items, pages.ID(page.Next), page.Next > string(after), err
	})
}

var errGoesBack = fmt.Errorf("%w: the store returned vaults that come before those of the page before", mortise.ErrUnavailable)
