package vaulttest_test

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

type importTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error

// importing makes a mutant whose ImportTokens is another one.
func importing(change func(m *mutant, imports importTokens) importTokens) func(*mutant) {
	return func(m *mutant) { m.importTokens = change(m, m.importTokens) }
}

// importingRows makes a mutant whose ImportTokens takes other rows than those that it is
// given.
func importingRows(change func(ctx context.Context, m *mutant, org, id string, rows []vault.Row) []vault.Row) func(*mutant) {
	return importing(func(m *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			return imports(ctx, org, id, revision, change(ctx, m, org, id, changedRows(rows, func(*vault.Row) {})), a)
		}
	})
}

// comparingLess makes ImportTokens take some fields of a row from the one of its token
// that is there.
func comparingLess(forget func(r *vault.Row, there vault.Row)) func(*mutant) {
	return importingRows(func(ctx context.Context, m *mutant, org, id string, rows []vault.Row) []vault.Row {
		for i := range rows {
			if there, ok := m.row(ctx, org, id, rows[i].Token); ok {
				forget(&rows[i], there)
			}
		}
		return rows
	})
}

// swallowingImports makes ImportTokens say that it did what it refuses with an error.
func swallowingImports(refusal error) func(*mutant) {
	return importing(func(_ *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			if err := imports(ctx, org, id, revision, rows, a); !errors.Is(err, refusal) {
				return err
			}
			return nil
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

// same reports whether a row is the one of its token that is there.
func (m *mutant) same(ctx context.Context, org, id string, r *vault.Row) bool {
	there, ok := m.row(ctx, org, id, r.Token)
	return ok && there.Scope == r.Scope && bytes.Equal(there.Sealed.Ciphertext, r.Sealed.Ciphertext)
}

// importMutants are wrong about tokens that were given elsewhere.
var importMutants = []broken{
	{name: "imports as it inserts", breaks: []string{
		"imports/rows-that-are-there", "imports/a-value-with-another-token", "imports/rows-that-contradict-each-other", "imports/beside-insertions",
	}, mutate: importing(func(m *mutant, _ importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			conformance.Seam() // until all have inserted
			if _, err := m.db.InsertTokens(ctx, org, id, revision, rows); err != nil {
				return err
			}
			return m.db.AddAuditEvent(ctx, a)
		}
	})},
	{name: "imports row by row", breaks: []string{
		"imports/refused-changes-nothing", "imports/rows-that-contradict-each-other", "imports/one-token-of-a-value", "imports/whole",
	}, mutate: importing(func(m *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			for i := range rows {
				if err := imports(ctx, org, id, revision, rows[i:i+1], vault.AuditEvent{}); err != nil {
					return err
				}
				if i < 10 {
					conformance.Seam()
				}
			}
			return m.db.AddAuditEvent(ctx, a)
		}
	})},
	{name: "imports rows without their last fingerprints", breaks: []string{
		"imports/stores-every-field", "imports/a-value-with-another-token", "imports/adds-missing-fingerprints", "imports/needs-the-keys",
	}, mutate: importingRows(func(_ context.Context, _ *mutant, _, _ string, rows []vault.Row) []vault.Row {
		for i := range rows {
			rows[i].Fingerprints = rows[i].Fingerprints[:min(1, len(rows[i].Fingerprints))]
		}
		return rows
	})},
	{name: "imports without an event", breaks: []string{"imports/stores-the-event"}, mutate: importing(func(_ *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, _ vault.AuditEvent) error {
			return imports(ctx, org, id, revision, rows, vault.AuditEvent{})
		}
	})},
	{name: "imports nothing without a trace", breaks: []string{"imports/stores-the-event"}, mutate: importing(func(_ *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			if len(rows) == 0 {
				a = vault.AuditEvent{}
			}
			return imports(ctx, org, id, revision, rows, a)
		}
	})},
	{name: "stores events of imports that it refuses", breaks: []string{
		"imports/refused-changes-nothing", "imports/a-token-that-is-there", "imports/other-revision", "imports/one-token-of-a-value",
	}, mutate: importing(func(m *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			err := imports(ctx, org, id, revision, rows, a)
			if err != nil && ctx.Err() == nil {
				_ = m.db.AddAuditEvent(ctx, a)
			}
			return err
		}
	})},
	{name: "stores the event before the import", breaks: []string{"imports/whole"}, mutate: importing(func(m *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			if err := m.db.AddAuditEvent(ctx, a); err != nil {
				return err
			}
			conformance.Seam()
			return imports(ctx, org, id, revision, rows, vault.AuditEvent{})
		}
	})},
	{name: "refuses rows that are there", breaks: []string{
		"imports/rows-that-are-there", "imports/adds-missing-fingerprints", "imports/many",
	}, mutate: importing(func(m *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			var taken vault.TakenError
			for i := range rows {
				if _, ok := m.row(ctx, org, id, rows[i].Token); ok {
					taken.Rows = append(taken.Rows, i)
				}
			}
			if len(taken.Rows) > 0 {
				return &taken
			}
			return imports(ctx, org, id, revision, rows, a)
		}
	})},
	{name: "brings the time of what is there up to date", breaks: []string{"imports/rows-that-are-there"}, mutate: func(m *mutant) {
		imported := make(map[string]vault.Row)
		m.everyRow(func(r *vault.Row) {
			if i, ok := imported[r.Token]; ok {
				r.CreatedAt = i.CreatedAt
			}
		})
		imports := m.importTokens
		m.importTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			for i := range rows {
				imported[rows[i].Token] = rows[i]
			}
			return imports(ctx, org, id, revision, rows, a)
		}
	}},
	{name: "adds no fingerprints to what is there", breaks: []string{
		"imports/adds-missing-fingerprints", "imports/needs-the-keys",
	}, mutate: importingRows(func(ctx context.Context, m *mutant, org, id string, rows []vault.Row) []vault.Row {
		for i := range rows {
			r := &rows[i]
			if m.same(ctx, org, id, r) {
				r.Fingerprints = slices.DeleteFunc(r.Fingerprints, func(f vault.VersionedFingerprint) bool { return m.tokenOf(ctx, org, id, r.Scope, f) == "" })
			}
		}
		return rows
	})},
	{name: "compares imports but for their scopes", breaks: []string{"imports/a-token-that-is-there"}, mutate: comparingLess(func(r *vault.Row, there vault.Row) {
		r.Scope = there.Scope
	})},
	{name: "compares imports but for their kind", breaks: []string{"imports/a-token-that-is-there"}, mutate: comparingLess(func(r *vault.Row, there vault.Row) {
		r.Deterministic = there.Deterministic
	})},
	{name: "compares imports but for the version of their seals", breaks: []string{"imports/a-token-that-is-there"}, mutate: comparingLess(func(r *vault.Row, there vault.Row) {
		r.Sealed.Version = there.Sealed.Version
	})},
	{name: "compares imports but for their seals", breaks: []string{"imports/a-token-that-is-there"}, mutate: comparingLess(func(r *vault.Row, there vault.Row) {
		r.Sealed = there.Sealed
	})},
	{name: "imports deleted tokens", breaks: []string{"imports/a-token-that-was-deleted", "store/durable-absence"}, mutate: importing(func(m *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			err := imports(ctx, org, id, revision, rows, a)
			if _, there := m.row(ctx, org, id, append(rows, vault.Row{})[0].Token); !there && errors.As(err, new(*vault.TakenError)) {
				return nil
			}
			return err
		}
	})},
	{name: "lets the first of contradicting rows win", breaks: []string{"imports/rows-that-contradict-each-other"}, mutate: importingRows(
		func(_ context.Context, _ *mutant, _, _ string, rows []vault.Row) (own []vault.Row) {
			for i := range rows {
				contradicts := func(r vault.Row) bool {
					return r.Token == rows[i].Token || r.Scope == rows[i].Scope && slices.ContainsFunc(rows[i].Fingerprints, func(f vault.VersionedFingerprint) bool {
						return slices.Contains(r.Fingerprints, f)
					})
				}
				if !slices.ContainsFunc(own, contradicts) {
					own = append(own, rows[i])
				}
			}
			return own
		})},
	{name: "names the first row of an import that is taken", breaks: []string{
		"imports/a-token-that-is-there", "imports/a-token-that-was-deleted", "imports/a-value-with-another-token", "imports/many",
	}, mutate: importing(func(_ *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			err := imports(ctx, org, id, revision, rows, a)
			var taken *vault.TakenError
			if errors.As(err, &taken) {
				taken.Rows = taken.Rows[:1]
			}
			return err
		}
	})},
	{name: "imports each token into one vault only", breaks: []string{"imports/into-another-vault"}, mutate: importing(func(_ *mutant, imports importTokens) importTokens {
		where := make(map[string]string)
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			for i := range rows {
				if there, ok := where[rows[i].Token]; ok && there != org+"/"+id {
					return &vault.TakenError{Rows: []int{i}}
				}
				where[rows[i].Token] = org + "/" + id
			}
			return imports(ctx, org, id, revision, rows, a)
		}
	})},
	{name: "imports at any revision", breaks: []string{"imports/other-revision", "imports/left-scope-meanwhile"}, mutate: importing(func(m *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, _ int64, rows []vault.Row, a vault.AuditEvent) error {
			conformance.Seam() // until the vault has changed
			v, _ := m.db.Vault(ctx, org, id)
			return imports(ctx, org, id, v.Revision, rows, a)
		}
	})},
	{name: "imports without the versions that are required", breaks: []string{"imports/needs-the-keys"}, mutate: swallowingImports(keyring.ErrUnknownKey)},
	{name: "imports under retired keys", breaks: []string{"imports/needs-the-keys"}, mutate: swallowingImports(keyring.ErrRetired)},
	{name: "refuses imports because of retired fingerprints", breaks: []string{"imports/ignores-retired-versions"}, mutate: importing(func(m *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			var taken vault.TakenError
			for i := range rows {
				for _, f := range rows[i].Fingerprints {
					if token := m.tokenOf(ctx, org, id, rows[i].Scope, f); token != "" && token != rows[i].Token {
						taken.Rows = append(taken.Rows, i)
					}
				}
			}
			if len(taken.Rows) > 0 {
				return &taken
			}
			return imports(ctx, org, id, revision, rows, a)
		}
	})},
	{name: "keeps what it is given to import", breaks: []string{"imports/copies"}, mutate: func(m *mutant) {
		var given []vault.Row
		imports := m.importTokens
		m.importTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			given = slices.Clone(rows)
			return imports(ctx, org, id, revision, rows, a)
		}
		m.everyRow(func(r *vault.Row) {
			for i := range given {
				if given[i].Token == r.Token {
					r.Sealed.Ciphertext = given[i].Sealed.Ciphertext
				}
			}
		})
	}},
}

// importRaceMutants look first and import later.
var importRaceMutants = []broken{
	{name: "looks for tokens and values before it imports them", breaks: []string{
		"imports/one-token-of-a-value", "imports/one-value-of-a-token",
	}, mutate: importing(func(m *mutant, imports importTokens) importTokens {
		return func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			free := true
			for i := range rows {
				_, taken := m.row(ctx, org, id, rows[i].Token)
				free = free && !taken
				for _, f := range rows[i].Fingerprints {
					free = free && m.tokenOf(ctx, org, id, rows[i].Scope, f) == ""
				}
			}
			conformance.Seam()
			if err := imports(ctx, org, id, revision, rows, a); !free || !errors.As(err, new(*vault.TakenError)) {
				return err
			}
			return nil
		}
	})},
	{name: "leaves out what is there before it imports", breaks: []string{"imports/beside-deletion"}, mutate: func(m *mutant) {
		imports, del := m.importTokens, m.deleteToken
		m.deleteToken = func(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
			conformance.Seam() // until the import has looked
			return del(ctx, org, id, token, a)
		}
		m.importTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			own := slices.DeleteFunc(slices.Clone(rows), func(r vault.Row) bool { return m.same(ctx, org, id, &r) })
			conformance.Seam()
			conformance.Seam() // until the token was deleted
			return imports(ctx, org, id, revision, own, a)
		}
	}},
	{name: "looks for values before it imports them beside insertions", breaks: []string{"imports/beside-insertions"}, mutate: func(m *mutant) {
		imports := m.importTokens
		m.insertTokens = late(m.insertTokens) // until the import has looked
		m.importTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
			free := true
			for i := range rows {
				for _, f := range rows[i].Fingerprints {
					free = free && m.tokenOf(ctx, org, id, rows[i].Scope, f) == ""
				}
			}
			conformance.Seam()
			conformance.Seam() // until all have inserted
			if err := imports(ctx, org, id, revision, rows, a); !free || !errors.As(err, new(*vault.TakenError)) {
				return err
			}
			return nil
		}
	}},
}
