package vaulttest_test

import (
	"errors"
	"sync"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
)

// marks are what was marked as deleted.
type marks struct {
	mu  sync.Mutex
	ids map[[2]string]bool // organization and vault, which is "" for the organization
}

// marked makes the mutant note what is marked as deleted.
func (m *mutant) marked() *marks {
	k := &marks{ids: make(map[[2]string]bool)}
	mutate.Around(&m.On, func(c *mutate.Call) {
		if c.Go(); *c.Err() == nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.ids[[2]string{org(c), id(c)}] = true
		}
	}, marking...)
	return k
}

// has reports whether a vault is marked, or its organization is.
func (k *marks) has(org, id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ids[[2]string{org, ""}] || k.ids[[2]string{org, id}]
}

// any reports whether anything is marked.
func (k *marks) any() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ids) > 0
}

// hidden are the rules that look for what is marked in every method.
const hidden = "deletion/organization-is-hidden deletion/vault-is-hidden"

// answering makes a mutant that has an answer in one method where there is what is marked
// no more: answer says whether it has, and sets it.
func answering(name, method string, answer func(*mutate.Call) bool) broken {
	return broken{name: name, breaks: hidden, mutate: func(m *mutant) {
		k := m.marked()
		mutate.Around(&m.On, func(c *mutate.Call) {
			if c.Go(); errors.Is(*c.Err(), mortise.ErrNotFound) && k.has(asked(c)) && answer(c) {
				*c.Err() = nil
			}
		}, method)
	}}
}

// asked returns the vault that a method is asked for.
func asked(c *mutate.Call) (string, string) {
	if v := mutate.Get[vault.Vault](c.In); v != nil {
		return v.Organization, v.ID
	}
	if e := mutate.Get[vault.AuditEvent](c.In); e != nil && c.Method == "AddAuditEvent" {
		return e.Organization, e.Vault
	}
	return org(c), id(c)
}

// nothing is the answer that a method's results are without its error.
func nothing(*mutate.Call) bool { return true }

// atRevision2 is nothing for the vault as the rules have changed it.
func atRevision2(c *mutate.Call) bool { return *mutate.Get[int64](c.In) == 2 }

// showingMutants show what is marked as deleted, or take changes of it.
var showingMutants = []broken{
	answering("shows deleted vaults", "Vault", func(c *mutate.Call) bool {
		*mutate.Get[vault.Vault](c.Out) = vault.Vault{Organization: org(c), ID: id(c), Revision: 2}
		return true
	}),
	{name: "lists deleted vaults", breaks: hidden, mutate: func(m *mutant) {
		k, deleted := m.marked(), "customers"
		mutate.Around(&m.On, func(c *mutate.Call) {
			c.Go()
			if k.has(org(c), deleted) {
				page := mutate.Get[mortise.Page[vault.Vault]](c.Out)
				page.Items = append([]vault.Vault{{Organization: org(c), ID: deleted}}, page.Items...)
			}
		}, "ListVaults")
	}},
	answering("finds nothing in deleted vaults", "FindTokens", func(c *mutate.Call) bool {
		for _, l := range *mutate.Get[[]vault.Lookup](c.In) {
			found := mutate.Get[[][]string](c.Out)
			*found = append(*found, make([]string, len(l.Fingerprints)))
		}
		return true
	}),
	answering("finds the second revision of deleted vaults stale", "FindTokens", func(c *mutate.Call) bool {
		if !atRevision2(c) {
			*c.Err() = vault.ErrConflict
		}
		return false
	}),
	answering("takes tokens for deleted vaults", "InsertTokens", func(c *mutate.Call) bool {
		*mutate.Get[[]string](c.Out) = []string{rowsIn(c)[0].Token}
		return atRevision2(c)
	}),
	answering("imports into deleted vaults", "ImportTokens", atRevision2),
	answering("reads no rows of deleted vaults", "Rows", func(c *mutate.Call) bool {
		*mutate.Get[[]vault.Row](c.Out) = make([]vault.Row, len(*mutate.Get[[]string](c.In)))
		return true
	}),
	answering("lists no rows of deleted vaults", "ListRows", nothing),
	{name: "deletes tokens of deleted vaults", breaks: hidden, mutate: func(m *mutant) {
		k := m.marked()
		mutate.Around(&m.On, func(c *mutate.Call) {
			if c.Go(); errors.Is(*c.Err(), vault.ErrTokenNotFound) && k.has(org(c), id(c)) && c.In[3].String() == "t1" {
				*c.Err() = nil
			}
		}, "DeleteToken")
	}},
	answering("changes deleted vaults", "PutVault", func(c *mutate.Call) bool { return mutate.Get[vault.Vault](c.In).Revision == 3 }),
	answering("stores events of deleted vaults nowhere", "AddAuditEvent", nothing),
	{name: "marks vaults of deleted organizations",
		breaks: "deletion/organization-is-hidden deletion/organization-of-deleted-vaults",
		mutate: func(m *mutant) {
			k := m.marked()
			mutate.Around(&m.On, func(c *mutate.Call) {
				if c.Go(); errors.Is(*c.Err(), mortise.ErrNotFound) && k.has(org(c), "") {
					*c.Err() = nil
				}
			}, "MarkVaultDeleted", "RemoveDeletedVault")
		}},
}
