package vaulttest_test

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
)

// listed returns the vaults of an organization that some function selects, in its order.
func (m *mutant) listed(ctx context.Context, org string, limit int, selects func(vault.Vault) bool, order func(a, b vault.Vault) int) []vault.Vault {
	vaults, _ := m.db.ListVaults(ctx, org, "", 1_000_000)
	vaults = slices.DeleteFunc(vaults, func(v vault.Vault) bool { return !selects(v) })
	slices.SortStableFunc(vaults, order)
	return vaults[:max(0, min(limit, len(vaults)))]
}

// vaultListMutants list the wrong vaults.
var vaultListMutants = []broken{
	{name: "lists vaults without their past", breaks: "vaults/list-by-id", mutate: out(func(v *vault.Vault) { v.Past = nil }, "ListVaults")},
	{name: "lists vaults as they were made", breaks: "vaults/list-by-id vaults/list-between-pages", mutate: func(m *mutant) {
		made := make(map[[2]string]vault.Vault)
		in(func(v *vault.Vault) {
			if v.Revision == 1 {
				made[[2]string{v.Organization, v.ID}] = v.Clone()
			}
		}, "PutVault")(m)
		out(func(v *vault.Vault) {
			first := made[[2]string{v.Organization, v.ID}]
			*v = first.Clone()
		}, "ListVaults")(m)
	}},
	{name: "lists the youngest vault first", breaks: "vaults/list-by-id", mutate: out(func(vaults *[]vault.Vault) {
		slices.SortFunc(*vaults, func(a, b vault.Vault) int { return b.CreatedAt.Compare(a.CreatedAt) })
	})},
	{name: "lists vaults as a collation sorts them", breaks: "vaults/list-by-id",
		mutate: replace("ListVaults", func(m *mutant, ctx context.Context, org, after string, limit int) ([]vault.Vault, error) {
			return m.listed(ctx, org, limit, func(v vault.Vault) bool { return strings.ToLower(v.ID) > strings.ToLower(after) },
				func(a, b vault.Vault) int { return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)) }), ctx.Err()
		})},
	{name: "lists vaults from the given one on", breaks: "vaults/list-after vaults/list-by-id vaults/list-of-organization",
		mutate: replace("ListVaults", func(m *mutant, ctx context.Context, org, after string, limit int) ([]vault.Vault, error) {
			return m.listed(ctx, org, limit, func(v vault.Vault) bool { return v.ID >= after },
				func(vault.Vault, vault.Vault) int { return 0 }), ctx.Err()
		})},
	{name: "lists no vaults after one that is not there", breaks: "vaults/list-after", mutate: around(func(m *mutant, c *mutate.Call) {
		after := c.In[2].String()
		if _, err := m.db.Vault(bg, org(c), after); err == nil || after == "" {
			c.Go()
		}
	}, "ListVaults")},
	{name: "lists a vault more than it should", breaks: "vaults/list-after vaults/list-by-id",
		mutate: arg(func(limit *int) { *limit++ }, "ListVaults")},
	{name: "lists all vaults if the limit is none", breaks: "vaults/list-after", mutate: arg(func(limit *int) {
		if *limit <= 0 {
			*limit = 1_000_000 // as LIMIT -1 does
		}
	}, "ListVaults")},
	{name: "lists the vaults of organizations that are alike", breaks: "vaults/list-of-organization", mutate: arg(
		func(org *string) { *org = strings.TrimRight(*org, " \x00") }, "ListVaults")},
	{name: "does not list the vaults of nobody", breaks: "vaults/list-of-organization", mutate: refusing(mortise.ErrNotFound,
		func(m *mutant, c *mutate.Call) bool {
			vaults, _ := m.db.ListVaults(bg, org(c), "", 1)
			return len(vaults) == 0
		}, "ListVaults")},
	{name: "goes on by how many vaults it has listed", breaks: "vaults/list-between-pages", mutate: func(m *mutant) {
		shown := make(map[string]int) // until the end of a page, by the ID there
		m.On.ListVaults = func(ctx context.Context, org, after string, limit int) ([]vault.Vault, error) {
			skip, known := shown[after]
			if known {
				after = ""
			}
			vaults, err := m.db.ListVaults(ctx, org, after, skip+limit)
			if vaults = vaults[min(skip, len(vaults)):]; len(vaults) > 0 {
				shown[vaults[len(vaults)-1].ID] = skip + len(vaults)
			}
			return vaults, err
		}
	}},
	{name: "lists the vaults that there were at the first page", breaks: "vaults/list-between-pages", mutate: func(m *mutant) {
		var snapshot []vault.Vault
		m.On.ListVaults = func(ctx context.Context, org, after string, limit int) ([]vault.Vault, error) {
			if after == "" {
				snapshot = m.listed(ctx, org, 1_000_000, func(vault.Vault) bool { return true }, func(vault.Vault, vault.Vault) int { return 0 })
			}
			var page []vault.Vault
			for _, v := range snapshot {
				if v.Organization == org && v.ID > after && len(page) < limit {
					page = append(page, v.Clone())
				}
			}
			return page, ctx.Err()
		}
	}},
	{name: "lists the vaults that it keeps", breaks: "vaults/copies", mutate: func(m *mutant) {
		kept := make(map[string]vault.Vault)
		in(func(v *vault.Vault) { kept[v.ID] = v.Clone() }, "PutVault")(m)
		out(func(v *vault.Vault) {
			own := kept[v.ID]
			*v = own.Clone()
		}, "Vault")(m)
		out(func(v *vault.Vault) { *v = kept[v.ID] }, "ListVaults")(m)
	}},
}
