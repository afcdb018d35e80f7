package vault

import (
	"context"
	"iter"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

const (
	vaultStep      = 8      // vaults that are read at once
	maxPageColumns = 20_000 // see Vault.columns; no more vaults are read once a page has them
)

// ListVaults returns a page of the organization's vaults, with their schemas, by ID (as
// bytes). Limit 0 means 50. The page is not of one moment: a vault that comes meanwhile
// may be on it or not.
//
// Schemas can be large (40,000 columns), so they bound a page, too: it ends with the
// eighth vault, or the sixteenth, and so on, if it has 20,000 tables, columns and past
// columns then.
//
// Errors are [*mortise.ValidationError], for a limit outside 0 to [mortise.MaxPageSize] or
// a text that is no cursor, and [mortise.ErrUnavailable]. An unknown organization has no
// vaults.
func (s *Service) ListVaults(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[Vault], error) {
	var p problems
	limit = failure.Page(&p.Problems, after, limit, pages.ByNameAlone)
	if err := p.Err(); err != nil {
		return mortise.Page[Vault]{}, err
	}
	if name.Problem(org) != "" {
		return mortise.Page[Vault]{}, nil
	}
	page := mortise.Page[Vault]{Next: after}
	for columns := 0; ; {
		most := min(vaultStep, limit-len(page.Items))
		step, err := s.store.ListVaults(ctx, org, page.Next, most)
		if err == nil {
			err = pages.Check(step, page.Next, most)
		}
		if err != nil {
			return mortise.Page[Vault]{}, unavailable("list vaults", err)
		}
		page.Items, page.Next = append(page.Items, step.Items...), step.Next
		for i := range step.Items {
			columns += step.Items[i].columns()
		}
		if step.Next == "" || len(page.Items) >= limit || columns >= maxPageColumns {
			return page, nil
		}
	}
}

// Position returns the vault's place in ListVaults.
func (v *Vault) Position() mortise.Position { return mortise.Position{ID: v.ID} }

// Position returns the row's place in Tokens.ListRows.
func (r *Row) Position() mortise.Position { return mortise.Position{ID: r.Token} }

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
	return pages.Each("", func(after mortise.Cursor) (mortise.Page[Vault], error) { return s.ListVaults(ctx, org, after, 0) })
}
