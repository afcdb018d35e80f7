package vaulttest_test

import (
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
)

// vaultListMutants list the wrong vaults.
var vaultListMutants = []broken{
	{name: "lists vaults without their past", breaks: "vaults/list-by-id", mutate: out(func(v *vault.Vault) { v.Past = nil }, "ListVaults")},
	{name: "lists vaults as they were made", breaks: "vaults/list-by-id", mutate: func(m *mutant) {
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
	{name: "lists the vaults of organizations that are alike", breaks: "vaults/list-of-organization", mutate: arg(
		func(org *string) { *org = strings.TrimRight(*org, " \x01") }, "ListVaults")},
	{name: "does not list the vaults of nobody", breaks: "vaults/list-of-organization", mutate: refusing(mortise.ErrNotFound,
		func(m *mutant, c *mutate.Call) bool {
			page, _ := m.db.ListVaults(bg, org(c), "", 1)
			return len(page.Items) == 0
		}, "ListVaults")},
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
