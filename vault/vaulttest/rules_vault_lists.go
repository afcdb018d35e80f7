package vaulttest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/vault"
)

// listVaults returns all vaults of an organization, on one page.
func (s *subject) listVaults(t *testing.T, org string) []vault.Vault {
	t.Helper()
	page, err := s.Store.ListVaults(t.Context(), org, "", mortise.MaxPageSize)
	require.NoError(t, err, "ListVaults of %q", org)
	require.Empty(t, page.Next, "Next of the last page")
	return page.Items
}

// sameVaults compares every field of each.
func sameVaults(t *testing.T, want, got []vault.Vault) {
	t.Helper()
	require.Equal(t, idsOf(want), idsOf(got), "the vaults of a list")
	for i := range want {
		sameVault(t, want[i], got[i])
	}
}

// idsOf returns the IDs of vaults, in their order.
func idsOf(vaults []vault.Vault) []string {
	ids := make([]string, len(vaults))
	for i := range vaults {
		ids[i] = vaults[i].ID
	}
	return ids
}

// vaultListRules are the rules of ListVaults that listtest does not have.
var vaultListRules = []rule{
	{Rule{
		"vaults/list-by-id",
		"ListVaults returns the vaults of an organization by ID, as bytes, with every field, as they are now.",
	}, 0,
		func(t *testing.T, s *subject) {
			var want []vault.Vault
			for i, id := range hard {
				v := newVault(orgA, id)
				if i%2 == 0 {
					v = filledVault(orgA, id)
				}
				v.CreatedAt = moment(time.Duration(-i) * time.Hour)
				if v = s.addVault(t, v); i%3 == 0 {
					v = s.changeVault(t, v)
				}
				want = append(want, v)
			}
			slices.SortFunc(want, func(a, b vault.Vault) int { return strings.Compare(a.ID, b.ID) })
			sameVaults(t, want, s.listVaults(t, orgA))
		}},

	{Rule{
		"vaults/list-of-organization",
		"ListVaults returns the vaults of one organization, whose name is the same if every byte is; none, and no " +
			"error, if it has none.",
	}, 0,
		func(t *testing.T, s *subject) {
			require.Empty(t, s.listVaults(t, orgA))
			var all []vault.Vault
			for i, org := range hard {
				v := newVault(org, []string{"customers", "a", "z"}[i%3])
				v.CreatedAt = moment(time.Duration(i) * time.Second)
				all = append(all, s.addVault(t, v))
			}
			for _, v := range all {
				sameVaults(t, []vault.Vault{v}, s.listVaults(t, v.Organization))
			}
			for _, org := range []string{orgA, orgB, ""} {
				require.Empty(t, s.listVaults(t, org))
			}
		}},
}

// lists are all lists of package vault but the scans.
var lists = []listtest.List[*subject]{
	{ID: "vaults", Method: "ListVaults", Items: "vaults", Open: func(_ *testing.T, s *subject, org string) listtest.Opened {
		return listtest.Opened{
			Position: func(i listtest.Item) mortise.Position { return mortise.Position{ID: listtest.Name(i.N)} },
			Add: func(t *testing.T, items ...listtest.Item) {
				for _, i := range items {
					s.addVault(t, newVault(org, listtest.Name(i.N)))
				}
			},
			Remove: func(t *testing.T, i listtest.Item) {
				_, err := s.Store.MarkVaultDeleted(t.Context(), org, listtest.Name(i.N), moment(0), vault.AuditEvent{})
				require.NoError(t, err)
			},
			Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[vault.Vault], error) {
				return s.Store.ListVaults(ctx, org, after, limit)
			}, (*vault.Vault).Position),
		}
	}},
	{ID: "rows", Method: "ListRows", Items: "rows of a vault", Open: func(t *testing.T, s *subject, org string) listtest.Opened {
		v := s.addVault(t, newVault(org, "customers"))
		token := func(i listtest.Item) string { return listtest.Name(i.N) }
		return listtest.Opened{
			Position: func(i listtest.Item) mortise.Position { return mortise.Position{ID: token(i)} },
			Add: func(t *testing.T, items ...listtest.Item) {
				var rows []vault.Row
				for _, i := range items {
					rows = append(rows, row(token(i), email, "value "+token(i), 1))
				}
				s.adds(t, v, rows...)
			},
			Remove: func(t *testing.T, i listtest.Item) { s.deletes(t, v, token(i)) },
			Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
				page, err := s.Store.ListRows(ctx, org, v.ID, after, limit)
				if errors.Is(err, mortise.ErrNotFound) {
					err = nil // of another organization
				}
				return page, err
			}, (*vault.Row).Position),
		}
	}},
	{ID: "audit-events", Method: "ListAuditEvents", Items: "audit events of a vault", Newest: true,
		Open: func(_ *testing.T, s *subject, org string) listtest.Opened { return s.Listed(org) }},
}

func listsRules() (rules []rule) {
	for _, r := range listtest.Rules(lists) {
		rules = append(rules, rule{Rule{r.ID, r.Text}, r.Needs, r.Check})
	}
	return rules
}
