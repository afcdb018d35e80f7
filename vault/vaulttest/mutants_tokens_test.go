package vaulttest_test

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// tokenMutants are wrong about which tokens there are.
var tokenMutants = []broken{
	{name: "gives tokens twice", breaks: []string{
		"tokens/insert-a-token-that-is-there", "tokens/insert-a-token-twice", "tokens/deleted-are-not-given-again", "tokens/given-once", "tokens/names-are-bytes",
		"store/durable-absence",
	}, mutate: inserting(func(_ *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			if errors.As(err, new(*vault.TakenError)) {
				return make([]string, len(rows)), nil
			}
			return tokens, err
		}
	})},
	{name: "names the first token that is taken", breaks: []string{"tokens/insert-a-token-that-is-there", "tokens/deleted-are-not-given-again"}, mutate: inserting(func(_ *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			var taken *vault.TakenError
			if errors.As(err, &taken) {
				taken.Rows = taken.Rows[:1]
			}
			return tokens, err
		}
	})},
	{name: "asks rows that are not stored for their tokens", breaks: []string{"tokens/insert-does-not-need-the-token"}, mutate: inserting(func(m *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			var taken vault.TakenError
			there := m.rowsOf(ctx, org, id)
			for i := range rows {
				if slices.ContainsFunc(there, func(r vault.Row) bool { return r.Token == rows[i].Token }) {
					taken.Rows = append(taken.Rows, i)
				}
			}
			if len(taken.Rows) > 0 {
				return nil, &taken
			}
			return insert(ctx, org, id, revision, rows)
		}
	})},
	{name: "gives each token in one vault only", breaks: []string{"tokens/insert-a-token-of-another-vault"}, mutate: func(m *mutant) {
		where := make(map[string]string)
		insert := m.insertTokens
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			for i := range rows {
				if there, ok := where[rows[i].Token]; ok && there != org+"/"+id {
					return nil, &vault.TakenError{Rows: []int{i}}
				}
				where[rows[i].Token] = org + "/" + id
			}
			return insert(ctx, org, id, revision, rows)
		}
	}},
	{name: "adds fingerprints before it refuses", breaks: []string{"tokens/insert-refused-adds-nothing"}, mutate: inserting(func(m *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			if errors.As(err, new(*vault.TakenError)) {
				_, _ = m.db.InsertTokens(ctx, org, id, revision, rows[:1])
			}
			return tokens, err
		}
	})},
	{name: "gives tokens of deleted rows again", breaks: []string{"tokens/deleted-are-not-given-again", "store/durable-absence"}, mutate: func(m *mutant) {
		insert, del := m.insertTokens, m.deleteToken
		gone := make(map[string]bool)
		m.deleteToken = func(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
			err := del(ctx, org, id, token, a)
			gone[token] = gone[token] || err == nil
			return err
		}
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			if errors.As(err, new(*vault.TakenError)) && gone[rows[0].Token] {
				return []string{rows[0].Token}, nil
			}
			return tokens, err
		}
	}},
	{name: "keeps the fingerprints of deleted rows", breaks: []string{"tokens/deleted-values-get-another-token", "tokens/delete-forgets", "rotation/add-to-rows-that-are-gone"}, mutate: func(m *mutant) {
		insert, del := m.insertTokens, m.deleteToken
		owner := make(map[keyring.Fingerprint]string)
		gone := make(map[string]bool)
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			for i := range tokens {
				for _, f := range rows[i].Fingerprints {
					if old, ok := owner[f.Fingerprint]; ok && gone[old] {
						tokens[i] = old
					} else {
						owner[f.Fingerprint] = tokens[i]
					}
				}
			}
			return tokens, err
		}
		m.deleteToken = func(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
			gone[token] = true
			return del(ctx, org, id, token, a)
		}
		find := m.findTokens
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			found, err := find(ctx, org, id, revision, lookups)
			for i := range found {
				for j := range found[i] {
					if old := owner[lookups[i].Fingerprints[j]]; gone[old] {
						found[i][j] = old
					}
				}
			}
			return found, err
		}
	}},
	{name: "deletes nothing and says nothing", breaks: []string{
		"tokens/delete-forgets", "tokens/deleted-are-not-given-again", "vaults/left-scope-of-deleted-rows", "keys/usage-without-deleted-rows", "rotation/rows-without-fingerprint",
		"rotation/rows-not-sealed-under", "tokens/delete-stores-the-event", "rotation/reseal-what-is-as-it-was", "keys/retire-seal-in-use",
	}, mutate: func(m *mutant) {
		m.deleteToken = func(context.Context, string, string, string, vault.AuditEvent) error { return nil }
	}},
	{name: "deletes twice", breaks: []string{"tokens/delete-unknown", "tokens/deleted-once", "vaults/get-unknown"}, mutate: func(m *mutant) {
		del := m.deleteToken
		m.deleteToken = func(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
			if err := del(ctx, org, id, token, a); err != nil && ctx.Err() == nil {
				return m.db.AddAuditEvent(ctx, a)
			}
			return nil
		}
	}},
	{name: "deletes without an event", breaks: []string{"tokens/delete-stores-the-event", "tokens/deleted-once"}, mutate: func(m *mutant) {
		del := m.deleteToken
		m.deleteToken = func(ctx context.Context, org, id, token string, _ vault.AuditEvent) error {
			return del(ctx, org, id, token, vault.AuditEvent{})
		}
	}},
}
