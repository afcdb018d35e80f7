package vaulttest_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

type insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error)

// inserting makes a mutant whose InsertTokens is another one.
func inserting(change func(m *mutant, insert insertTokens) insertTokens) func(*mutant) {
	return func(m *mutant) { m.insertTokens = change(m, m.insertTokens) }
}

// late makes an insertion the last of calls that race: those that do not wait for it have
// ended when it begins.
func late(insert insertTokens) insertTokens {
	return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
		conformance.Seam()
		return insert(ctx, org, id, revision, rows)
	}
}

// swallowing makes InsertTokens say that it stored what it refuses with an error.
func swallowing(refusal error) func(*mutant) {
	return inserting(func(_ *mutant, insert insertTokens) insertTokens {
		insert = late(insert)
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
		if k.Retired && k.Purpose == keyring.FingerprintKey {
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
		var mu sync.Mutex
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			mu.Lock() // so that each finds what those before it have inserted
			defer mu.Unlock()
			var own []vault.Row
			for i := range rows {
				r := rows[i].Clone()
				for n, f := range r.Fingerprints {
					found, err := m.db.FindTokens(ctx, org, id, revision, []vault.Lookup{{Scope: r.Scope, Version: f.Version, Fingerprints: []keyring.Fingerprint{f.Fingerprint}}})
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
				r.Fingerprints = []vault.VersionedFingerprint{{Version: 1, Fingerprint: keyring.Fingerprint{7}}}
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
			conformance.Seam() // until the vault has changed
			return insert(ctx, org, id, revision(ctx, org, id), rows)
		}
		m.findTokens = func(ctx context.Context, org, id string, _ int64, lookups []vault.Lookup) ([][]string, error) {
			return find(ctx, org, id, revision(ctx, org, id), lookups)
		}
	}},
	{name: "ignores what is required", breaks: []string{
		"tokens/insert-needs-required-versions", "tokens/insert-random-needs-no-version", "tokens/insert-in-every-organization", "keys/require-while-inserting",
		"store/durable-constraints",
	}, mutate: swallowing(keyring.ErrUnknownKey)},
	{name: "asks random rows for what is required", breaks: []string{"tokens/insert-random-needs-no-version"}, mutate: inserting(func(m *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			keys, _ := m.db.Keys(ctx)
			if slices.ContainsFunc(rows, func(r vault.Row) bool { return len(r.Fingerprints) == 0 }) &&
				slices.ContainsFunc(keys, func(k keyring.Key) bool { return k.Required }) {
				return nil, keyring.ErrUnknownKey
			}
			return insert(ctx, org, id, revision, rows)
		}
	})},
	{name: "stores under retired keys", breaks: []string{
		"tokens/insert-under-a-retired-seal", "tokens/insert-in-every-organization", "keys/retire-while-inserting", "store/durable-constraints",
	}, mutate: swallowing(keyring.ErrRetired)},
	{name: "finds tokens by retired fingerprints", breaks: []string{"tokens/insert-ignores-retired-versions"}, mutate: inserting(func(m *mutant, insert insertTokens) insertTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
			tokens, err := insert(ctx, org, id, revision, rows)
			for i := range tokens {
				for _, f := range rows[i].Fingerprints {
					if !slices.Contains(m.retiredVersions(ctx), f.Version) {
						continue
					}
					found, err := m.db.FindTokens(ctx, org, id, revision, []vault.Lookup{{Scope: rows[i].Scope, Version: f.Version, Fingerprints: []keyring.Fingerprint{f.Fingerprint}}})
					if err == nil && found[0][0] != "" {
						tokens[i] = found[0][0]
					}
				}
			}
			return tokens, err
		}
	})},
	{name: "stores retired fingerprints", breaks: []string{"tokens/insert-stores-no-retired-fingerprints"}, mutate: func(m *mutant) {
		extra := make(map[keyring.Fingerprint]string)
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
		taken := make(map[keyring.Fingerprint]string) // what each fingerprint was last inserted for
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
