package vaulttest_test

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise/vault"
)

type insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error)

// inserting makes a mutant whose InsertTokens is another one.
func inserting(change func(m *mutant, insert insertTokens) insertTokens) func(*mutant) {
	return func(m *mutant) { m.insertTokens = change(m, m.insertTokens) }
}

// swallowing makes InsertTokens say that it stored what it refuses with an error.
func swallowing(refusal error) func(*mutant) {
	return inserting(func(_ *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			if !errors.Is(err, refusal) {
				return tokens, err
			}
			for i := range rows {
				tokens = append(tokens, rows[i].Token)
			}
			return tokens, nil
		}
	})
}

// retiredVersions returns the fingerprint versions that are retired.
func (m *mutant) retiredVersions(ctx context.Context) (versions []int) {
	keys, _ := m.db.Keys(ctx)
	for _, k := range keys {
		if k.Retired && k.Purpose == vault.FingerprintKey {
			versions = append(versions, k.Version)
		}
	}
	return versions
}

// insertMutants are wrong about which values have a token.
var insertMutants = []broken{
	{name: "gives each insertion a token of its own", breaks: []string{
		"tokens/insert-keeps-the-token", "tokens/insert-twice-in-a-call", "tokens/one-token-of-a-value", "tokens/insert-first-fingerprint-counts", "tokens/insert-does-not-need-the-token",
		"rotation/add-at-once", "store/durable-constraints",
	}, mutate: func(m *mutant) {
		m.everyInsertion(func(r *vault.Row) {
			for i := range r.Fingerprints {
				copy(r.Fingerprints[i].Fingerprint[:], r.Token+" and no other")
			}
		})
	}},
	{name: "stores the value again", breaks: []string{"tokens/insert-keeps-the-token", "keys/usage"}, mutate: inserting(func(m *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			for i := range tokens {
				if tokens[i] != rows[i].Token {
					again := rows[i].Clone()
					again.Fingerprints, again.Deterministic = nil, false
					_, _ = m.db.InsertTokens(ctx, org, id, revision, []vault.Row{again})
				}
			}
			return tokens, err
		}
	})},
	{name: "returns tokens sorted", breaks: []string{"tokens/insert-stores-every-field", "tokens/insert-keeps-the-token"}, mutate: inserting(func(_ *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			slices.Sort(tokens)
			return tokens, err
		}
	})},
	{name: "has one scope for all", breaks: []string{"tokens/scopes-are-apart", "tokens/find-answers-every-fingerprint"}, mutate: func(m *mutant) {
		m.everyInsertion(func(r *vault.Row) { r.Scope = "all" })
		m.everyLookup(func(l *vault.Lookup) { l.Scope = "all" })
	}},
	{name: "has one version for all", breaks: []string{"tokens/versions-are-apart", "tokens/find-answers-every-fingerprint"}, mutate: func(m *mutant) {
		m.everyInsertion(func(r *vault.Row) {
			for i := range r.Fingerprints {
				r.Fingerprints[i].Version = 1
			}
			r.Fingerprints = r.Fingerprints[:min(1, len(r.Fingerprints))]
		})
		m.everyLookup(func(l *vault.Lookup) { l.Version = 1 })
	}},
	{name: "takes the highest version first", breaks: []string{"tokens/insert-first-fingerprint-counts"}, mutate: func(m *mutant) {
		m.everyInsertion(func(r *vault.Row) {
			slices.SortFunc(r.Fingerprints, func(a, b vault.VersionedFingerprint) int { return b.Version - a.Version })
		})
	}},
	{name: "keeps the first fingerprint only", breaks: []string{
		"tokens/insert-stores-every-field", "tokens/insert-adds-missing-fingerprints", "tokens/insert-needs-required-versions", "tokens/one-token-during-a-rotation", "tokens/copies",
	}, mutate: func(m *mutant) {
		m.everyInsertion(func(r *vault.Row) { r.Fingerprints = r.Fingerprints[:min(1, len(r.Fingerprints))] })
	}},
	{name: "adds no fingerprint to a token that is there", breaks: []string{
		"tokens/insert-adds-missing-fingerprints", "store/durable", "tokens/one-token-during-a-rotation",
	}, mutate: inserting(func(m *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			var own []vault.Row
			for i := range rows {
				r := rows[i].Clone()
				for n, f := range r.Fingerprints {
					found, err := m.db.FindTokens(ctx, org, id, revision, []vault.Lookup{{Scope: r.Scope, Version: f.Version, Fingerprints: []vault.Fingerprint{f.Fingerprint}}})
					if err == nil && found[0][0] != "" {
						r.Fingerprints = r.Fingerprints[n : n+1]
						break
					}
				}
				own = append(own, r)
			}
			return insert(ctx, org, id, revision, own)
		}
	})},
	{name: "stores random rows once", breaks: []string{"tokens/insert-random-rows"}, mutate: func(m *mutant) {
		m.everyInsertion(func(r *vault.Row) {
			if len(r.Fingerprints) == 0 {
				r.Fingerprints = []vault.VersionedFingerprint{{Version: 1, Fingerprint: vault.Fingerprint{7}}}
			}
		})
	}},
	{name: "does not look at the revision", breaks: []string{"tokens/insert-other-revision", "tokens/find-other-revision", "vaults/left-scope-while-inserting"}, mutate: func(m *mutant) {
		revision := func(ctx context.Context, org, id string) int64 {
			v, _ := m.db.Vault(ctx, org, id)
			return v.Revision
		}
		insert, find := m.insertTokens, m.findTokens
		m.insertTokens = func(ctx context.Context, org, id string, _ int64, rows []vault.Row) ([]string, error) {
			return insert(ctx, org, id, revision(ctx, org, id), rows)
		}
		m.findTokens = func(ctx context.Context, org, id string, _ int64, lookups []vault.Lookup) ([][]string, error) {
			return find(ctx, org, id, revision(ctx, org, id), lookups)
		}
	}},
	{name: "ignores what is required", breaks: []string{
		"tokens/insert-needs-required-versions", "tokens/insert-random-needs-no-version", "tokens/insert-in-every-organization", "keys/require-while-inserting",
		"store/durable-constraints",
	}, mutate: swallowing(vault.ErrUnknownKey)},
	{name: "asks random rows for what is required", breaks: []string{"tokens/insert-random-needs-no-version"}, mutate: inserting(func(m *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			keys, _ := m.db.Keys(ctx)
			if slices.ContainsFunc(rows, func(r vault.Row) bool { return len(r.Fingerprints) == 0 }) &&
				slices.ContainsFunc(keys, func(k vault.Key) bool { return k.Required }) {
				return nil, vault.ErrUnknownKey
			}
			return insert(ctx, org, id, revision, rows)
		}
	})},
	{name: "stores under retired keys", breaks: []string{
		"tokens/insert-under-a-retired-seal", "tokens/insert-in-every-organization", "keys/retire-while-inserting", "store/durable-constraints",
	}, mutate: swallowing(vault.ErrKeyRetired)},
	{name: "finds tokens by retired fingerprints", breaks: []string{"tokens/insert-ignores-retired-versions"}, mutate: inserting(func(m *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			for i := range tokens {
				for _, f := range rows[i].Fingerprints {
					if !slices.Contains(m.retiredVersions(ctx), f.Version) {
						continue
					}
					found, err := m.db.FindTokens(ctx, org, id, revision, []vault.Lookup{{Scope: rows[i].Scope, Version: f.Version, Fingerprints: []vault.Fingerprint{f.Fingerprint}}})
					if err == nil && found[0][0] != "" {
						tokens[i] = found[0][0]
					}
				}
			}
			return tokens, err
		}
	})},
	{name: "stores retired fingerprints", breaks: []string{"tokens/insert-stores-no-retired-fingerprints"}, mutate: func(m *mutant) {
		extra := make(map[vault.Fingerprint]string)
		insert, find := m.insertTokens, m.findTokens
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			for i := range tokens {
				for _, f := range rows[i].Fingerprints {
					if slices.Contains(m.retiredVersions(ctx), f.Version) {
						extra[f.Fingerprint] = tokens[i]
					}
				}
			}
			return tokens, err
		}
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			found, err := find(ctx, org, id, revision, lookups)
			for i := range found {
				for j := range found[i] {
					if found[i][j] == "" {
						found[i][j] = extra[lookups[i].Fingerprints[j]]
					}
				}
			}
			return found, err
		}
	}},
	{name: "replaces fingerprints", breaks: []string{
		"tokens/insert-keeps-fingerprints", "tokens/insert-leaves-others-fingerprints",
	}, mutate: func(m *mutant) {
		taken := make(map[vault.Fingerprint]string) // what each fingerprint was last inserted for
		insert, find := m.insertTokens, m.findTokens
		m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			for i := range tokens {
				for _, f := range rows[i].Fingerprints {
					taken[f.Fingerprint] = tokens[i]
				}
			}
			return tokens, err
		}
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			found, err := find(ctx, org, id, revision, lookups)
			for i := range found {
				for j := range found[i] {
					if token, ok := taken[lookups[i].Fingerprints[j]]; ok {
						found[i][j] = token
					}
				}
			}
			return found, err
		}
	}},
}

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
		owner := make(map[vault.Fingerprint]string)
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

// listMutants are wrong about what they are asked for.
var listMutants = []broken{
	{name: "finds each value once", breaks: []string{"tokens/find-answers-every-fingerprint", "tokens/find-many"}, mutate: func(m *mutant) {
		find := m.findTokens
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			found, err := find(ctx, org, id, revision, lookups)
			for i := range found {
				seen := make(map[string]bool)
				for j, token := range found[i] {
					if seen[token] {
						found[i][j] = ""
					}
					seen[token] = true
				}
			}
			return found, err
		}
	}},
	{name: "answers the first lookup of a scope", breaks: []string{"tokens/find-answers-every-fingerprint", "tokens/find-many"}, mutate: func(m *mutant) {
		find := m.findTokens
		m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
			found, err := find(ctx, org, id, revision, lookups)
			seen := make(map[string]bool)
			for i := range found {
				if seen[lookups[i].Scope] {
					clear(found[i])
				}
				seen[lookups[i].Scope] = true
			}
			return found, err
		}
	}},
	{name: "leaves out rows that are not there", breaks: []string{"tokens/rows-in-order", "tokens/rows-many", "tokens/delete-forgets"}, mutate: func(m *mutant) {
		rows := m.rows
		m.rows = func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
			got, err := rows(ctx, org, id, tokens)
			return slices.DeleteFunc(got, func(r vault.Row) bool { return r.Token == "" }), err
		}
	}},
	{name: "returns each row once", breaks: []string{"tokens/rows-in-order", "tokens/rows-many"}, mutate: func(m *mutant) {
		rows := m.rows
		m.rows = func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
			got, err := rows(ctx, org, id, tokens)
			seen := make(map[string]bool)
			for i := range got {
				if seen[got[i].Token] {
					got[i] = vault.Row{}
				}
				seen[got[i].Token] = true
			}
			return got, err
		}
	}},
	{name: "lists the other way round", breaks: []string{
		"tokens/list-by-token", "rotation/rows-without-fingerprint-in-order", "rotation/rows-not-sealed-under-in-order",
	}, mutate: func(m *mutant) {
		reversed := func(rows []vault.Row) []vault.Row { slices.Reverse(rows); return rows }
		m.everyListing(reversed)
		m.everyMaintenance(func(*vault.RowID, *int) {}, reversed)
	}},
	{name: "lists from the given token on", breaks: []string{
		"tokens/list-after", "tokens/list-by-token", "rotation/rows-without-fingerprint-in-order", "rotation/rows-not-sealed-under-in-order",
	}, mutate: func(m *mutant) {
		before := func(token string) string {
			if token == "" {
				return ""
			}
			return token[:len(token)-1]
		}
		list := m.listRows
		m.listRows = func(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
			return list(ctx, org, id, before(after), limit)
		}
		m.everyMaintenance(func(after *vault.RowID, _ *int) { after.Token = before(after.Token) }, func(rows []vault.Row) []vault.Row { return rows })
	}},
	{name: "lists more than it should", breaks: []string{
		"tokens/list-after", "tokens/list-by-token", "rotation/rows-without-fingerprint-in-order", "rotation/rows-not-sealed-under-in-order",
	}, mutate: func(m *mutant) {
		list := m.listRows
		m.listRows = func(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
			return list(ctx, org, id, after, limit+1)
		}
		m.everyMaintenance(func(_ *vault.RowID, limit *int) { *limit++ }, func(rows []vault.Row) []vault.Row { return rows })
	}},
	{name: "pages by token alone", breaks: []string{"rotation/rows-without-fingerprint-in-order", "rotation/rows-not-sealed-under-in-order"}, mutate: func(m *mutant) {
		m.everyMaintenance(func(after *vault.RowID, _ *int) {
			if after.Token != "" {
				after.Vault += "\xff"
			}
		}, func(rows []vault.Row) []vault.Row { return rows })
	}},
	{name: "maintains one organization", breaks: []string{
		"rotation/rows-without-fingerprint-in-order", "rotation/rows-not-sealed-under-in-order",
	}, mutate: func(m *mutant) {
		m.everyMaintenance(func(*vault.RowID, *int) {}, func(rows []vault.Row) []vault.Row {
			return slices.DeleteFunc(rows, func(r vault.Row) bool { return r.Organization != rows[0].Organization })
		})
	}},
	{name: "lists random rows as those without fingerprints", breaks: []string{"rotation/rows-without-fingerprint"}, mutate: func(m *mutant) {
		m.rowsWithoutFingerprint = func(ctx context.Context, _ int, after vault.RowID, limit int) ([]vault.Row, error) {
			return m.db.RowsNotSealedUnder(ctx, -1, after, limit)
		}
	}},
	{name: "lists deterministic rows only", breaks: []string{"rotation/rows-not-sealed-under", "rotation/rows-not-sealed-under-in-order"}, mutate: func(m *mutant) {
		under := m.rowsNotSealedUnder
		m.rowsNotSealedUnder = func(ctx context.Context, version int, after vault.RowID, limit int) ([]vault.Row, error) {
			rows, err := under(ctx, version, after, limit)
			return slices.DeleteFunc(rows, func(r vault.Row) bool { return !r.Deterministic }), err
		}
	}},
}
