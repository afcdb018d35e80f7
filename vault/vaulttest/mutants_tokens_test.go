package vaulttest_test

import (
	"cmp"
	"context"
	"errors"

	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// whenTaken calls do when methods say that rows are taken.
func whenTaken(do func(m *mutant, c *mutate.Call, taken *vault.TakenError), methods ...string) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		c.Go()
		if taken := (*vault.TakenError)(nil); errors.As(*c.Err(), &taken) {
			do(m, c, taken)
		}
	}, methods...)
}

// taking makes methods say of rows that they are taken, and do nothing then.
func taking(taken func(m *mutant, c *mutate.Call, r *vault.Row) bool, methods ...string) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		var all vault.TakenError
		for i, r := range rowsIn(c) {
			if taken(m, c, &r) {
				all.Rows = append(all.Rows, i)
			}
		}
		if len(all.Rows) > 0 {
			*c.Err() = &all
			return
		}
		c.Go()
	}, methods...)
}

// inOneVault makes a method take each token for one vault only.
func inOneVault(method string) func(*mutant) {
	where := make(map[string]string)
	return taking(func(_ *mutant, c *mutate.Call, r *vault.Row) bool {
		here := org(c) + "/" + id(c)
		there, ok := where[r.Token]
		where[r.Token] = cmp.Or(there, here)
		return ok && there != here
	}, method)
}

// deleted makes the mutant note which tokens were deleted.
func (m *mutant) deleted() map[string]bool {
	gone := make(map[string]bool)
	mutate.Around(&m.On, func(c *mutate.Call) {
		c.Go()
		gone[c.In[3].String()] = gone[c.In[3].String()] || *c.Err() == nil
	}, "DeleteToken")
	return gone
}

// tokenMutants are wrong about which tokens there are.
var tokenMutants = []broken{
	{name: "gives tokens twice",
		breaks: "tokens/insert-a-token-that-is-there tokens/insert-a-token-twice tokens/deleted-are-not-given-again " +
			"tokens/given-once tokens/names-are-bytes store/durable-absence",
		mutate: whenTaken(func(_ *mutant, c *mutate.Call, _ *vault.TakenError) {
			*mutate.Get[[]string](c.Out), *c.Err() = make([]string, len(rowsIn(c))), nil
		}, "InsertTokens")},
	{name: "names the first token that is taken",
		breaks: "tokens/insert-a-token-that-is-there tokens/deleted-are-not-given-again",
		mutate: whenTaken(
			func(_ *mutant, _ *mutate.Call, taken *vault.TakenError) { taken.Rows = taken.Rows[:1] }, "InsertTokens")},
	{name: "asks rows that are not stored for their tokens", breaks: "tokens/insert-does-not-need-the-token", mutate: taking(
		func(m *mutant, c *mutate.Call, r *vault.Row) bool {
			_, there := m.row(bg, org(c), id(c), r.Token)
			return there
		}, "InsertTokens")},
	{name: "gives each token in one vault only", breaks: "tokens/insert-a-token-of-another-vault", mutate: inOneVault("InsertTokens")},
	{name: "adds fingerprints before it refuses", breaks: "tokens/insert-refused-adds-nothing", mutate: whenTaken(
		func(m *mutant, c *mutate.Call, _ *vault.TakenError) {
			_, _ = m.db.InsertTokens(bg, org(c), id(c), *mutate.Get[int64](c.In), rowsIn(c)[:1])
		}, "InsertTokens")},
	{name: "gives tokens of deleted rows again", breaks: "tokens/deleted-are-not-given-again store/durable-absence", mutate: func(m *mutant) {
		gone := m.deleted()
		whenTaken(func(_ *mutant, c *mutate.Call, _ *vault.TakenError) {
			if token := rowsIn(c)[0].Token; gone[token] {
				*mutate.Get[[]string](c.Out), *c.Err() = []string{token}, nil
			}
		}, "InsertTokens")(m)
	}},
	{name: "keeps the fingerprints of deleted rows",
		breaks: "tokens/deleted-values-get-another-token tokens/delete-forgets rotation/add-to-rows-that-are-gone",
		mutate: func(m *mutant) {
			owner, gone := make(map[keyring.Fingerprint]string), m.deleted()
			inserted(func(_ *mutant, _ *mutate.Call, token *string, r *vault.Row) {
				for _, f := range r.Fingerprints {
					if old, ok := owner[f.Fingerprint]; ok && gone[old] {
						*token = old
					} else {
						owner[f.Fingerprint] = *token
					}
				}
			})(m)
			found(func(token *string, f keyring.Fingerprint) {
				if gone[owner[f]] {
					*token = owner[f]
				}
			})(m)
		}},
	{name: "deletes nothing and says nothing",
		breaks: "tokens/delete-forgets tokens/deleted-are-not-given-again vaults/left-scope-of-deleted-rows " +
			"keys/usage-without-deleted-rows rotation/rows-without-fingerprint rotation/rows-not-sealed-under " +
			"tokens/delete-stores-the-event rotation/reseal-what-is-as-it-was keys/retire-seal-in-use",
		mutate: around(func(*mutant, *mutate.Call) {}, "DeleteToken")},
	{name: "deletes twice", breaks: "tokens/delete-unknown tokens/deleted-once vaults/get-unknown", mutate: func(m *mutant) {
		del := m.On.DeleteToken
		m.On.DeleteToken = func(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
			if err := del(ctx, org, id, token, a); err != nil && ctx.Err() == nil {
				return m.db.AddAuditEvent(ctx, a)
			}
			return nil
		}
	}},
	{name: "deletes without an event", breaks: "tokens/delete-stores-the-event tokens/deleted-once", mutate: arg(
		func(a *vault.AuditEvent) { *a = vault.AuditEvent{} }, "DeleteToken")},
}
