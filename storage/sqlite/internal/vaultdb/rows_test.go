package vaultdb

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// someFingerprint differs by its number, at both ends.
func someFingerprint(n int) (f keyring.Fingerprint) {
	binary.BigEndian.PutUint32(f[:], uint32(n))
	binary.BigEndian.PutUint32(f[28:], uint32(n))
	return f
}

// someRow has a fingerprint of version 1.
func someRow(scope, token string, fingerprint int) vault.Row {
	return vault.Row{
		Token: token, Scope: scope, Deterministic: true, Sealed: keyring.Sealed{Version: 1, Ciphertext: []byte("sealed")}, CreatedAt: filetest.SomeTime,
		Fingerprints: []vault.VersionedFingerprint{{Version: 1, Fingerprint: someFingerprint(fingerprint)}},
	}
}

// TestManyLookups: more fingerprints than can be counted at a time, in one scope and in
// several, with some that are not there.
func TestManyLookups(t *testing.T) {
	_, tables := openVault(t)
	const stored = 3 * counted
	scopes := []string{"a", "b", "c.\x00\xff\"'"}
	for _, scope := range scopes {
		var rows []vault.Row
		for i := range stored {
			rows = append(rows, someRow(scope, fmt.Sprint(scope, i), i))
		}
		_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, rows)
		require.NoError(t, err)
	}
	for _, n := range []int{0, 1, 2, counted - 1, counted, counted + 1, 2 * counted, 2*counted + 1, stored} {
		for several := 1; several <= 4; several++ {
			var lookups []vault.Lookup
			var want [][]string
			for l := range several {
				lookup := vault.Lookup{Scope: append(scopes, "none")[l], Version: 1}
				tokens := []string{}
				for i := range n {
					number := (i*7 + l) % (stored + 10)
					lookup.Fingerprints = append(lookup.Fingerprints, someFingerprint(number))
					token := fmt.Sprint(lookup.Scope, number)
					if number >= stored || l == len(scopes) {
						token = ""
					}
					tokens = append(tokens, token)
				}
				lookups, want = append(lookups, lookup), append(want, tokens)
			}
			got, err := tables.FindTokens(t.Context(), "acme", "v1", 1, lookups)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}

// TestDeletedTokenLeavesItsName: nothing else of the value stays in the tables.
func TestDeletedTokenLeavesItsName(t *testing.T) {
	db, tables := openVault(t)
	kept, gone := someRow("a", "kept", 1), someRow("a", "gone", 2)
	for version := 2; version <= 5; version++ {
		for i, r := range []*vault.Row{&kept, &gone} {
			r.Fingerprints = append(r.Fingerprints, vault.VersionedFingerprint{Version: version, Fingerprint: someFingerprint(10*version + i)})
		}
	}
	_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{kept, gone})
	require.NoError(t, err)
	require.NoError(t, tables.DeleteToken(t.Context(), "acme", "v1", "gone", vault.AuditEvent{}))
	require.Equal(t, []int{1}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_tokens WHERE token = 'gone' AND sealed IS NULL AND ciphertext IS NULL"))
	require.Equal(t, []int{0}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_fingerprints WHERE token = 'gone'"))
	require.Equal(t, []int{5}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_fingerprints WHERE token = 'kept'"))
}

// TestRefusedInsertionLeavesNothing: what was written before the first of the rows turned
// out to be taken is not there, and takes nothing from those who come later.
func TestRefusedInsertionLeavesNothing(t *testing.T) {
	db, tables := openVault(t)
	_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", "m", 1)})
	require.NoError(t, err)
	before := filetest.Numbers(t, db.File, "SELECT seq FROM vault_tokens UNION ALL SELECT row FROM vault_fingerprints")
	for range 2 {
		_, err = tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", "z", 2), someRow("b", "m", 3), someRow("a", "b", 4)})
		require.Equal(t, &vault.TakenError{Rows: []int{1}}, err)
		require.Equal(t, before, filetest.Numbers(t, db.File, "SELECT seq FROM vault_tokens UNION ALL SELECT row FROM vault_fingerprints"))
	}
	tokens, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", "z", 2), someRow("a", "x", 1), someRow("a", "b", 4), someRow("a", "y", 2)})
	require.NoError(t, err)
	require.Equal(t, []string{"z", "m", "b", "z"}, tokens)
	require.Equal(t, []int{0}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_fingerprints f LEFT JOIN vault_tokens t ON t.seq = f.row AND t.token = f.token WHERE t.seq IS NULL"))
}

// TestRefusedImportLeavesNothing is that for imports, which also leave what is there as
// it was.
func TestRefusedImportLeavesNothing(t *testing.T) {
	db, tables := openVault(t)
	more := func(r vault.Row, version, fingerprint int) vault.Row {
		r.Fingerprints = append(r.Fingerprints, vault.VersionedFingerprint{Version: version, Fingerprint: someFingerprint(fingerprint)})
		return r
	}
	_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", "m", 1), someRow("a", "k", 9)})
	require.NoError(t, err)
	const all = "SELECT seq FROM vault_tokens UNION ALL SELECT row FROM vault_fingerprints UNION ALL SELECT seq FROM vault_audit"
	before := filetest.Numbers(t, db.File, all)
	event := vault.AuditEvent{ID: uuid.New(), Organization: "acme", At: filetest.SomeTime}
	for range 2 {
		err = tables.ImportTokens(t.Context(), "acme", "v1", 1, []vault.Row{
			someRow("a", "z", 2), more(someRow("a", "m", 1), 2, 1), someRow("a", "b", 9), someRow("b", "k", 3), someRow("a", "k", 9),
		}, event)
		require.Equal(t, &vault.TakenError{Rows: []int{2, 3, 4}}, err)
		require.Equal(t, before, filetest.Numbers(t, db.File, all))
	}
	imported := []vault.Row{someRow("a", "z", 2), more(someRow("a", "m", 1), 2, 1), someRow("a", "b", 4)}
	require.NoError(t, tables.ImportTokens(t.Context(), "acme", "v1", 1, imported, event))
	require.Equal(t, []int{4}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_tokens"))
	require.Equal(t, []int{5}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_fingerprints f JOIN vault_tokens t ON t.seq = f.row AND t.token = f.token"))
	require.Equal(t, []int{1}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_audit"))
}

// TestVaultRefusalsShareAGroup: what is refused has written nothing in the end, so the
// other operations of its transaction need not be done again.
func TestVaultRefusalsShareAGroup(t *testing.T) {
	db, tables := openVault(t)
	for _, k := range []keyring.Key{{Purpose: keyring.FingerprintKey, Version: 1}, {Purpose: keyring.FingerprintKey, Version: 2}, {Purpose: keyring.SealKey, Version: 1}, {Purpose: keyring.SealKey, Version: 9}} {
		_, err := tables.RegisterKey(t.Context(), k)
		require.NoError(t, err)
	}
	require.NoError(t, tables.RetireKey(t.Context(), keyring.SealKey, 9, 0))
	_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", "m", 1)})
	require.NoError(t, err)
	event := func() vault.AuditEvent {
		return vault.AuditEvent{ID: uuid.New(), Organization: "acme", At: filetest.SomeTime}
	}
	insert := func(org string, revision int64, rows ...vault.Row) error {
		_, err := tables.InsertTokens(t.Context(), org, "v1", revision, rows)
		return err
	}
	imports := func(revision int64, rows ...vault.Row) error {
		return tables.ImportTokens(t.Context(), "acme", "v1", revision, rows, event())
	}
	put := func(revision int64, left ...string) error {
		return tables.PutVault(t.Context(), vault.Vault{Organization: "acme", ID: "v1", Revision: revision}, left, event())
	}
	retired := someRow("a", "x", 7)
	retired.Sealed.Version = 9
	refused := map[string]struct {
		want error
		do   func() error
	}{
		"a vault that is there":                    {mortise.ErrExists, func() error { return put(1) }},
		"another revision":                         {vault.ErrConflict, func() error { return put(5) }},
		"a scope in use":                           {vault.ErrScopeInUse, func() error { return put(2, "b", "a") }},
		"no vault":                                 {mortise.ErrNotFound, func() error { return insert("other", 1, someRow("a", "x", 7)) }},
		"a stale revision":                         {vault.ErrConflict, func() error { return insert("acme", 2, someRow("a", "x", 7)) }},
		"a retired key":                            {keyring.ErrRetired, func() error { return insert("acme", 1, someRow("a", "w", 6), retired) }},
		"a fingerprint too few":                    {keyring.ErrUnknownKey, func() error { return insert("acme", 1, vault.Row{Token: "x", Deterministic: true}) }},
		"a taken token, after one that is written": {&vault.TakenError{Rows: []int{1}}, func() error { return insert("acme", 1, someRow("a", "b", 7), someRow("a", "m", 8)) }},
		"an import of a taken token":               {&vault.TakenError{Rows: []int{1}}, func() error { return imports(1, someRow("a", "b", 7), someRow("b", "m", 8)) }},
		"an import of a value that has a token":    {&vault.TakenError{Rows: []int{1}}, func() error { return imports(1, someRow("new", "b", 7), someRow("a", "x", 1)) }},
		"a stale import":                           {vault.ErrConflict, func() error { return imports(2) }},
		"no token":                                 {vault.ErrTokenNotFound, func() error { return tables.DeleteToken(t.Context(), "acme", "v1", "x", event()) }},
		"a key that is not there":                  {keyring.ErrUnknownKey, func() error { return tables.RequireKey(t.Context(), 7) }},
		"a key that is needed":                     {keyring.ErrInUse, func() error { return tables.RetireKey(t.Context(), keyring.SealKey, 1, 0) }},
		"a key without successor":                  {keyring.ErrInUse, func() error { return tables.RetireKey(t.Context(), keyring.FingerprintKey, 1, 2) }},
		"a seal of a retired key": {keyring.ErrRetired, func() error {
			_, err := tables.Reseal(t.Context(), []vault.Resealed{{To: keyring.Sealed{Version: 1}}, {To: keyring.Sealed{Version: 9}}})
			return err
		}},
		"fingerprints of a key in use": {keyring.ErrInUse, func() error {
			_, _, err := tables.RemoveFingerprints(t.Context(), 1, 10)
			return err
		}},
	}
	runs := 0 // of an operation in the same transaction
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		assert.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
			if runs++; runs == 1 {
				close(entered)
				<-leave
			}
			_, err := tx.Exec(setRBAC, "acme", true)
			return err
		}))
	})
	<-entered
	for name, c := range refused {
		wg.Go(func() { assert.Equal(t, c.want, c.do(), name) })
	}
	require.Eventually(t, func() bool { return db.Probe().Waiting() == len(refused) }, 30*time.Second, time.Millisecond)
	close(leave)
	wg.Wait()
	assert.Equal(t, 1, runs)
	require.Equal(t, []int{1}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_tokens"))
	require.Equal(t, []int{1}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_fingerprints"))
	page, err := tables.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Items, "an event of a change that was refused")
}
