package vaulttest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// late makes an insertion the last of calls that race: those that do not wait for it have
// ended when it begins.
var late = around(func(_ *mutant, c *mutate.Call) {
	conformance.Seam()
	c.Go()
}, "InsertTokens")

// swallowing makes InsertTokens say that it stored what it refuses with an error.
func swallowing(refusal error) func(*mutant) {
	return both(late, around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); errors.Is(*c.Err(), refusal) {
			*c.Err() = nil
			tokens := mutate.Get[[]string](c.Out)
			for _, r := range rowsIn(c) {
				*tokens = append(*tokens, r.Token)
			}
		}
	}, "InsertTokens"))
}

// inserted calls do with each token that InsertTokens returns, and its row.
func inserted(do func(m *mutant, c *mutate.Call, token *string, r *vault.Row)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		rows := rowsIn(c)
		c.Go()
		for i := range tokensOut(c) {
			do(m, c, &tokensOut(c)[i], &rows[i])
		}
	}, "InsertTokens")
}

// found calls do with each token that FindTokens returns, and its fingerprint.
func found(do func(token *string, f keyring.Fingerprint)) func(*mutant) {
	return around(func(_ *mutant, c *mutate.Call) {
		c.Go()
		for i, tokens := range *mutate.Get[[][]string](c.Out) {
			for j := range tokens {
				do(&tokens[j], (*mutate.Get[[]vault.Lookup](c.In))[i].Fingerprints[j])
			}
		}
	}, "FindTokens")
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
	{name: "gives each insertion a token of its own",
		breaks: "tokens/insert-keeps-the-token tokens/insert-twice-in-a-call tokens/one-token-of-a-value " +
			"tokens/insert-first-fingerprint-counts tokens/insert-does-not-need-the-token rotation/add-at-once " +
			"store/durable-constraints",
		mutate: in(func(r *vault.Row) {
			r.Fingerprints = slices.Clone(r.Fingerprints)
			for i := range r.Fingerprints {
				copy(r.Fingerprints[i].Fingerprint[:], r.Token+" and no other")
			}
		}, insertions...)},
	{name: "stores the value again", breaks: "tokens/insert-keeps-the-token keys/usage", mutate: inserted(
		func(m *mutant, c *mutate.Call, token *string, r *vault.Row) {
			if *token != r.Token {
				again := r.Clone()
				again.Fingerprints, again.Deterministic = nil, false
				_, _ = m.db.InsertTokens(bg, org(c), id(c), *mutate.Get[int64](c.In), []vault.Row{again})
			}
		})},
	{name: "returns tokens sorted", breaks: "tokens/insert-stores-every-field tokens/insert-keeps-the-token", mutate: out(
		func(tokens *[]string) { slices.Sort(*tokens) }, "InsertTokens")},
	{name: "has one scope for all", breaks: "tokens/scopes-are-apart tokens/find-answers-every-fingerprint", mutate: both(
		in(func(r *vault.Row) { r.Scope = "all" }, insertions...),
		in(func(l *vault.Lookup) { l.Scope = "all" }),
	)},
	{name: "has one version for all", breaks: "tokens/versions-are-apart tokens/find-answers-every-fingerprint", mutate: both(
		in(func(f *[]vault.VersionedFingerprint) {
			*f = slices.Clone((*f)[:min(1, len(*f))])
			for i := range *f {
				(*f)[i].Version = 1
			}
		}, insertions...),
		in(func(l *vault.Lookup) { l.Version = 1 }),
	)},
	{name: "takes the highest version first", breaks: "tokens/insert-first-fingerprint-counts",
		mutate: in(func(f *[]vault.VersionedFingerprint) {
			*f = slices.SortedFunc(slices.Values(*f), func(a, b vault.VersionedFingerprint) int { return b.Version - a.Version })
		}, insertions...)},
	{name: "keeps the first fingerprint only",
		breaks: "tokens/insert-stores-every-field tokens/insert-adds-missing-fingerprints " +
			"tokens/insert-needs-required-versions tokens/one-token-during-a-rotation tokens/copies",
		mutate: in(func(f *[]vault.VersionedFingerprint) { *f = (*f)[:min(1, len(*f))] }, insertions...)},
	{name: "adds no fingerprint to a token that is there",
		breaks: "tokens/insert-adds-missing-fingerprints store/durable tokens/one-token-during-a-rotation",
		mutate: func(m *mutant) {
			var mu sync.Mutex
			around(func(m *mutant, c *mutate.Call) {
				mu.Lock() // so that each finds what those before it have inserted
				defer mu.Unlock()
				rows := rowsIn(c)
				for i := range rows {
					r := &rows[i]
					for n, f := range r.Fingerprints {
						if m.tokenOf(bg, org(c), id(c), r.Scope, f) != "" {
							r.Fingerprints = r.Fingerprints[n : n+1]
							break
						}
					}
				}
				c.Go()
			}, "InsertTokens")(m)
		}},
	{name: "stores random rows once", breaks: "tokens/insert-random-rows", mutate: in(func(f *[]vault.VersionedFingerprint) {
		if len(*f) == 0 {
			*f = []vault.VersionedFingerprint{{Version: 1, Fingerprint: keyring.Fingerprint{7}}}
		}
	}, insertions...)},
	{name: "does not look at the revision",
		breaks: "tokens/insert-other-revision tokens/find-other-revision vaults/left-scope-while-inserting",
		mutate: both(
			around(func(m *mutant, c *mutate.Call) {
				v, _ := m.db.Vault(bg, org(c), id(c))
				*mutate.Get[int64](c.In) = v.Revision
				c.Go()
			}, "InsertTokens", "FindTokens"),
			late, // until the vault has changed
		)},
	{name: "ignores what is required",
		breaks: "tokens/insert-needs-required-versions tokens/insert-random-needs-no-version " +
			"tokens/insert-in-every-organization keys/require-while-inserting store/durable-constraints",
		mutate: swallowing(keyring.ErrUnknownKey)},
	{name: "asks random rows for what is required", breaks: "tokens/insert-random-needs-no-version", mutate: refusing(keyring.ErrUnknownKey,
		func(m *mutant, c *mutate.Call) bool {
			keys, _ := m.db.Keys(bg)
			return slices.ContainsFunc(rowsIn(c), func(r vault.Row) bool { return len(r.Fingerprints) == 0 }) &&
				slices.ContainsFunc(keys, func(k keyring.Key) bool { return k.Required })
		}, "InsertTokens")},
	{name: "stores under retired keys",
		breaks: "tokens/insert-under-a-retired-seal tokens/insert-in-every-organization keys/retire-while-inserting " +
			"store/durable-constraints",
		mutate: swallowing(keyring.ErrRetired)},
	{name: "finds tokens by retired fingerprints", breaks: "tokens/insert-ignores-retired-versions", mutate: inserted(
		func(m *mutant, c *mutate.Call, token *string, r *vault.Row) {
			for _, f := range r.Fingerprints {
				if slices.Contains(m.retiredVersions(bg), f.Version) {
					*token = cmp.Or(m.tokenOf(bg, org(c), id(c), r.Scope, f), *token)
				}
			}
		})},
	{name: "stores retired fingerprints", breaks: "tokens/insert-stores-no-retired-fingerprints", mutate: func(m *mutant) {
		extra := make(map[keyring.Fingerprint]string)
		inserted(func(m *mutant, _ *mutate.Call, token *string, r *vault.Row) {
			for _, f := range r.Fingerprints {
				if slices.Contains(m.retiredVersions(bg), f.Version) {
					extra[f.Fingerprint] = *token
				}
			}
		})(m)
		found(func(token *string, f keyring.Fingerprint) { *token = cmp.Or(*token, extra[f]) })(m)
	}},
	{name: "replaces fingerprints", breaks: "tokens/insert-keeps-fingerprints tokens/insert-leaves-others-fingerprints",
		mutate: func(m *mutant) {
			taken := make(map[keyring.Fingerprint]string) // what each fingerprint was last inserted for
			inserted(func(_ *mutant, _ *mutate.Call, token *string, r *vault.Row) {
				for _, f := range r.Fingerprints {
					taken[f.Fingerprint] = *token
				}
			})(m)
			found(func(token *string, f keyring.Fingerprint) { *token = cmp.Or(taken[f], *token) })(m)
		}},
}
