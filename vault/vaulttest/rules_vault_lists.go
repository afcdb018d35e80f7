package vaulttest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
)

// listVaults calls ListVaults.
func (s *subject) listVaults(t *testing.T, org, after string, limit int) []vault.Vault {
	t.Helper()
	vaults, err := s.Store.ListVaults(t.Context(), org, after, limit)
	require.NoError(t, err, "ListVaults of %q after %q, limit %d", org, after, limit)
	return vaults
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

// vaultListRules are the rules of ListVaults.
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
			for _, limit := range []int{1, 2, 3, len(want) - 1, len(want), len(want) + 1, 10_000} {
				var got []vault.Vault
				for after := ""; ; {
					page := s.listVaults(t, orgA, after, limit)
					if len(page) == 0 {
						break
					}
					require.Len(t, page, min(limit, len(want)-len(got)), "vaults of a page that follow %q", after)
					got, after = append(got, page...), page[len(page)-1].ID
				}
				sameVaults(t, want, got)
			}
		}},

	{Rule{
		"vaults/list-after",
		"ListVaults returns at most limit vaults whose ID comes after the given one, whether or not there is such a " +
			"vault; none if limit is below 1.",
	}, 0,
		func(t *testing.T, s *subject) {
			for _, id := range []string{"d", "b", "f"} {
				s.addVault(t, newVault(orgA, id))
			}
			for after, want := range map[string][]string{
				"": {"b", "d", "f"}, "a": {"b", "d", "f"}, "b": {"d", "f"}, "b\x00": {"d", "f"}, "c": {"d", "f"}, "d": {"f"},
				"e": {"f"}, "f": {}, "g": {}, "B": {"b", "d", "f"}, "\xff": {}, "\x00": {"b", "d", "f"},
			} {
				for limit := -1; limit < 5; limit++ {
					got := idsOf(s.listVaults(t, orgA, after, limit))
					require.Equal(t, want[:max(0, min(limit, len(want)))], got, "after %q, limit %d", after, limit)
				}
			}
		}},

	{Rule{
		"vaults/list-of-organization",
		"ListVaults returns the vaults of one organization, whose name is the same if every byte is; none, and no " +
			"error, if it has none.",
	}, 0,
		func(t *testing.T, s *subject) {
			require.Empty(t, s.listVaults(t, orgA, "", 10))
			var all []vault.Vault
			for i, org := range hard {
				v := newVault(org, []string{"customers", "a", "z"}[i%3])
				v.CreatedAt = moment(time.Duration(i) * time.Second)
				all = append(all, s.addVault(t, v))
			}
			for _, v := range all {
				sameVaults(t, []vault.Vault{v}, s.listVaults(t, v.Organization, "", 10))
				require.Empty(t, s.listVaults(t, v.Organization, v.ID, 10))
			}
			for _, org := range []string{orgA, orgB, ""} {
				require.Empty(t, s.listVaults(t, org, "", 10))
			}
		}},

	{Rule{
		"vaults/list-between-pages",
		"A vault that comes between two pages of a list is on a later one if its ID comes after the position, else on " +
			"none. The others come once, as they are then.",
	}, 0,
		func(t *testing.T, s *subject) {
			vaults := make(map[string]vault.Vault)
			add := func(ids ...string) {
				for _, id := range ids {
					vaults[id] = s.addVault(t, newVault(orgA, id))
				}
			}
			add("b", "d", "f", "h")
			first := s.listVaults(t, orgA, "", 2)
			sameVaults(t, []vault.Vault{vaults["b"], vaults["d"]}, first)
			add("a", "c", "e", "g", "z")
			s.addVault(t, newVault(orgB, "e"))
			vaults["f"], vaults["b"] = s.changeVault(t, vaults["f"]), s.changeVault(t, vaults["b"])
			sameVaults(t, []vault.Vault{vaults["e"], vaults["f"], vaults["g"]}, s.listVaults(t, orgA, "d", 3))
			add("ff")
			sameVaults(t, []vault.Vault{vaults["h"], vaults["z"]}, s.listVaults(t, orgA, "g", 3))
			sameVaults(t, []vault.Vault{vaults["a"], vaults["b"], vaults["c"]}, s.listVaults(t, orgA, "", 3))
		}},
}
