package vaulttest_test

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// importing makes a mutant whose ImportTokens is another one.
func importing(do func(m *mutant, c *mutate.Call)) func(*mutant) { return around(do, "ImportTokens") }

// importingRows makes a mutant whose ImportTokens takes other rows than those that it is
// given.
func importingRows(change func(m *mutant, c *mutate.Call, rows *[]vault.Row)) func(*mutant) {
	return importing(func(m *mutant, c *mutate.Call) {
		rowsIn(c)
		change(m, c, mutate.Get[[]vault.Row](c.In))
		c.Go()
	})
}

// comparingLess makes ImportTokens take some fields of a row from the one of its token
// that is there.
func comparingLess(forget func(r *vault.Row, there vault.Row)) func(*mutant) {
	return importingRows(func(m *mutant, c *mutate.Call, rows *[]vault.Row) {
		for i := range *rows {
			if there, ok := m.row(bg, org(c), id(c), (*rows)[i].Token); ok {
				forget(&(*rows)[i], there)
			}
		}
	})
}

// row returns a row that is there.
func (m *mutant) row(ctx context.Context, org, id, token string) (vault.Row, bool) {
	rows, err := m.db.Rows(ctx, org, id, []string{token})
	return append(rows, vault.Row{})[0], err == nil && rows[0].Token != ""
}

// tokenOf returns the token of a fingerprint.
func (m *mutant) tokenOf(ctx context.Context, org, id, scope string, f vault.VersionedFingerprint) string {
	v, err := m.db.Vault(ctx, org, id)
	if err != nil {
		return ""
	}
	found, err := m.db.FindTokens(ctx, org, id, v.Revision, []vault.Lookup{{Scope: scope, Version: f.Version, Fingerprints: []keyring.Fingerprint{f.Fingerprint}}})
	if err != nil {
		return ""
	}
	return found[0][0]
}

// ifFree imports rows whose values, and whose tokens if those count, are free, whatever has
// come meanwhile, as often as there is a pause.
func (m *mutant) ifFree(c *mutate.Call, tokens bool, pauses int) {
	free := true
	for _, r := range rowsIn(c) {
		_, taken := m.row(bg, org(c), id(c), r.Token)
		free = free && (!tokens || !taken)
		for _, f := range r.Fingerprints {
			free = free && m.tokenOf(bg, org(c), id(c), r.Scope, f) == ""
		}
	}
	for range pauses {
		conformance.Seam()
	}
	if c.Go(); free && errors.As(*c.Err(), new(*vault.TakenError)) {
		*c.Err() = nil
	}
}

// same reports whether a row is the one of its token that is there.
func (m *mutant) same(ctx context.Context, org, id string, r *vault.Row) bool {
	there, ok := m.row(ctx, org, id, r.Token)
	return ok && there.Scope == r.Scope && bytes.Equal(there.Sealed.Ciphertext, r.Sealed.Ciphertext)
}

// keepingCiphertexts makes a mutant that keeps the ciphertexts that a method is given.
func keepingCiphertexts(method string) func(*mutant) {
	return func(m *mutant) {
		given := make(map[string][]byte)
		in(func(r *vault.Row) { given[r.Token] = r.Sealed.Ciphertext }, method)(m)
		out(func(r *vault.Row) {
			if c, ok := given[r.Token]; ok {
				r.Sealed.Ciphertext = c
			}
		})(m)
	}
}

// storingRefused makes a method store the event of what it refuses.
func storingRefused(method string) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		if c.Go(); *c.Err() != nil && (*mutate.Get[context.Context](c.In)).Err() == nil {
			_ = m.db.AddAuditEvent(bg, *mutate.Get[vault.AuditEvent](c.In))
		}
	}, method)
}

// storingBefore makes methods store the event, and later what it tells of.
func storingBefore(methods ...string) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		a := mutate.Get[vault.AuditEvent](c.In)
		if *c.Err() = m.db.AddAuditEvent(bg, *a); *c.Err() == nil {
			conformance.Seam()
			*a = vault.AuditEvent{}
			c.Go()
		}
	}, methods...)
}

// importMutants are wrong about tokens that were given elsewhere.
var importMutants = []broken{
	{name: "imports as it inserts",
		breaks: "imports/rows-that-are-there imports/a-value-with-another-token imports/rows-that-contradict-each-other " +
			"imports/beside-insertions",
		mutate: importing(func(m *mutant, c *mutate.Call) {
			conformance.Seam() // until all have inserted
			if _, *c.Err() = m.db.InsertTokens(bg, org(c), id(c), *mutate.Get[int64](c.In), rowsIn(c)); *c.Err() == nil {
				*c.Err() = m.db.AddAuditEvent(bg, *mutate.Get[vault.AuditEvent](c.In))
			}
		})},
	{name: "imports row by row",
		breaks: "imports/refused-changes-nothing imports/rows-that-contradict-each-other imports/one-token-of-a-value " +
			"imports/whole",
		mutate: importing(func(m *mutant, c *mutate.Call) {
			a := *mutate.Get[vault.AuditEvent](c.In)
			for i, r := range rowsIn(c) {
				*mutate.Get[[]vault.Row](c.In), *mutate.Get[vault.AuditEvent](c.In) = []vault.Row{r}, vault.AuditEvent{}
				if c.Go(); *c.Err() != nil {
					return
				}
				if i < 10 {
					conformance.Seam()
				}
			}
			*c.Err() = m.db.AddAuditEvent(bg, a)
		})},
	{name: "imports rows without their last fingerprints",
		breaks: "imports/stores-every-field imports/a-value-with-another-token imports/adds-missing-fingerprints " +
			"imports/needs-the-keys",
		mutate: in(func(f *[]vault.VersionedFingerprint) { *f = (*f)[:min(1, len(*f))] }, "ImportTokens")},
	{name: "imports without an event", breaks: "imports/stores-the-event", mutate: arg(
		func(a *vault.AuditEvent) { *a = vault.AuditEvent{} }, "ImportTokens")},
	{name: "imports nothing without a trace", breaks: "imports/stores-the-event", mutate: importing(func(_ *mutant, c *mutate.Call) {
		if len(rowsIn(c)) == 0 {
			*mutate.Get[vault.AuditEvent](c.In) = vault.AuditEvent{}
		}
		c.Go()
	})},
	{name: "stores events of imports that it refuses",
		breaks: "imports/refused-changes-nothing imports/a-token-that-is-there imports/other-revision " +
			"imports/one-token-of-a-value",
		mutate: storingRefused("ImportTokens")},
	{name: "stores the event before the import", breaks: "imports/whole", mutate: storingBefore("ImportTokens")},
	{name: "refuses rows that are there", breaks: "imports/rows-that-are-there imports/adds-missing-fingerprints imports/many",
		mutate: taking(func(m *mutant, c *mutate.Call, r *vault.Row) bool {
			_, there := m.row(bg, org(c), id(c), r.Token)
			return there
		}, "ImportTokens")},
	{name: "brings the time of what is there up to date", breaks: "imports/rows-that-are-there", mutate: func(m *mutant) {
		imported := make(map[string]vault.Row)
		in(func(r *vault.Row) { imported[r.Token] = *r }, "ImportTokens")(m)
		out(func(r *vault.Row) {
			if i, ok := imported[r.Token]; ok {
				r.CreatedAt = i.CreatedAt
			}
		})(m)
	}},
	{name: "adds no fingerprints to what is there", breaks: "imports/adds-missing-fingerprints imports/needs-the-keys",
		mutate: importingRows(func(m *mutant, c *mutate.Call, rows *[]vault.Row) {
			for i := range *rows {
				if r := &(*rows)[i]; m.same(bg, org(c), id(c), r) {
					r.Fingerprints = slices.DeleteFunc(r.Fingerprints, func(f vault.VersionedFingerprint) bool {
						return m.tokenOf(bg, org(c), id(c), r.Scope, f) == ""
					})
				}
			}
		})},
	{name: "compares imports but for their scopes", breaks: "imports/a-token-that-is-there",
		mutate: comparingLess(func(r *vault.Row, there vault.Row) {
			r.Scope = there.Scope
		})},
	{name: "compares imports but for their kind", breaks: "imports/a-token-that-is-there",
		mutate: comparingLess(func(r *vault.Row, there vault.Row) {
			r.Deterministic = there.Deterministic
		})},
	{name: "compares imports but for the version of their seals", breaks: "imports/a-token-that-is-there",
		mutate: comparingLess(func(r *vault.Row, there vault.Row) {
			r.Sealed.Version = there.Sealed.Version
		})},
	{name: "compares imports but for their seals", breaks: "imports/a-token-that-is-there",
		mutate: comparingLess(func(r *vault.Row, there vault.Row) {
			r.Sealed = there.Sealed
		})},
	{name: "imports deleted tokens", breaks: "imports/a-token-that-was-deleted store/durable-absence", mutate: whenTaken(
		func(m *mutant, c *mutate.Call, _ *vault.TakenError) {
			if _, there := m.row(bg, org(c), id(c), rowsIn(c)[0].Token); !there {
				*c.Err() = nil
			}
		}, "ImportTokens")},
	{name: "lets the first of contradicting rows win", breaks: "imports/rows-that-contradict-each-other", mutate: importingRows(
		func(_ *mutant, _ *mutate.Call, rows *[]vault.Row) {
			var own []vault.Row
			for _, given := range *rows {
				contradicts := func(r vault.Row) bool {
					return r.Token == given.Token || r.Scope == given.Scope && slices.ContainsFunc(given.Fingerprints, func(f vault.VersionedFingerprint) bool {
						return slices.Contains(r.Fingerprints, f)
					})
				}
				if !slices.ContainsFunc(own, contradicts) {
					own = append(own, given)
				}
			}
			*rows = own
		})},
	{name: "names the first row of an import that is taken",
		breaks: "imports/a-token-that-is-there imports/a-token-that-was-deleted imports/a-value-with-another-token imports/many",
		mutate: whenTaken(func(_ *mutant, _ *mutate.Call, taken *vault.TakenError) { taken.Rows = taken.Rows[:1] }, "ImportTokens")},
	{name: "imports each token into one vault only", breaks: "imports/into-another-vault", mutate: inOneVault("ImportTokens")},
	{name: "imports at any revision", breaks: "imports/other-revision imports/left-scope-meanwhile",
		mutate: importing(func(m *mutant, c *mutate.Call) {
			conformance.Seam() // until the vault has changed
			v, _ := m.db.Vault(bg, org(c), id(c))
			*mutate.Get[int64](c.In) = v.Revision
			c.Go()
		})},
	{name: "imports without the versions that are required", breaks: "imports/needs-the-keys",
		mutate: accepting(keyring.ErrUnknownKey, "ImportTokens")},
	{name: "imports under retired keys", breaks: "imports/needs-the-keys", mutate: accepting(keyring.ErrRetired, "ImportTokens")},
	{name: "refuses imports because of retired fingerprints", breaks: "imports/ignores-retired-versions", mutate: taking(
		func(m *mutant, c *mutate.Call, r *vault.Row) bool {
			return slices.ContainsFunc(r.Fingerprints, func(f vault.VersionedFingerprint) bool {
				token := m.tokenOf(bg, org(c), id(c), r.Scope, f)
				return token != "" && token != r.Token
			})
		}, "ImportTokens")},
	{name: "keeps what it is given to import", breaks: "imports/copies", mutate: keepingCiphertexts("ImportTokens")},
}

// importRaceMutants look first and import later.
var importRaceMutants = []broken{
	{name: "looks for tokens and values before it imports them",
		breaks: "imports/one-token-of-a-value imports/one-value-of-a-token",
		mutate: importing(func(m *mutant, c *mutate.Call) { m.ifFree(c, true, 1) })},
	{name: "leaves out what is there before it imports", breaks: "imports/beside-deletion", mutate: both(
		around(func(_ *mutant, c *mutate.Call) {
			conformance.Seam() // until the import has looked
			c.Go()
		}, "DeleteToken"),
		importing(func(m *mutant, c *mutate.Call) {
			*mutate.Get[[]vault.Row](c.In) = slices.DeleteFunc(rowsIn(c), func(r vault.Row) bool { return m.same(bg, org(c), id(c), &r) })
			conformance.Seam()
			conformance.Seam() // until the token was deleted
			c.Go()
		}),
	)},
	{name: "looks for values before it imports them beside insertions", breaks: "imports/beside-insertions", mutate: both(
		late, // until the import has looked
		importing(func(m *mutant, c *mutate.Call) { m.ifFree(c, false, 2) }), // until all have inserted
	)},
}
