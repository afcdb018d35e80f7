package vaultdb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// TestRememberedScopes: what a connection has read of a scope counts for nothing once
// another process has changed the file. Here it is another DB of this one.
func TestRememberedScopes(t *testing.T) {
	db, readers := openVault(t)
	ctx := t.Context()
	second, err := Open(ctx, db.Probe().Path(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Close()) })
	changes := second.vault
	// Through all connections, twice: what one remembers, it does not read again.
	finders := connectAll(t, db)
	require.Greater(t, finders, 1)
	requireTokens := func(id string, revision int64, fails error, want ...string) {
		t.Helper()
		of := make([]keyring.Fingerprint, len(want))
		for i := range of {
			of[i] = someFingerprint(i)
		}
		for range 2 * finders {
			found, err := readers.FindTokens(ctx, "acme", id, revision, []vault.Lookup{{Scope: "a", Version: 1, Fingerprints: of}})
			if fails != nil {
				require.ErrorIs(t, err, fails)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, [][]string{want}, found)
		}
	}
	insert := func(id string, revision int64, token string, fingerprint int) {
		t.Helper()
		_, err := changes.InsertTokens(ctx, "acme", id, revision, []vault.Row{someRow("a", token, fingerprint)})
		require.NoError(t, err)
	}
	requireTokens("v1", 1, nil, "") // the scope is not there
	insert("v1", 1, "t0", 0)
	requireTokens("v1", 1, nil, "t0")
	requireTokens("v1", 1, nil, "t0", "")
	insert("v1", 1, "t1", 1)
	requireTokens("v1", 1, nil, "t0", "t1")
	requireTokens("v1", 2, vault.ErrConflict, "t0")
	requireTokens("v1", 1, nil, "t0")
	require.NoError(t, changes.PutVault(ctx, vault.Vault{Organization: "acme", ID: "v1", Revision: 2}, nil, vault.AuditEvent{}))
	requireTokens("v1", 1, vault.ErrConflict, "t0")
	requireTokens("v1", 2, nil, "t0")

	_, err = changes.MarkVaultDeleted(ctx, "acme", "v1", filetest.SomeTime, vault.AuditEvent{})
	require.NoError(t, err)
	requireTokens("v1", 2, mortise.ErrNotFound, "")
	for more := true; more; {
		_, more, err = changes.RemoveDeletedVault(ctx, "acme", "v1", 100)
		require.NoError(t, err)
	}
	// This one has the numbers of the first, and of its scope.
	require.NoError(t, changes.PutVault(ctx, vault.Vault{Organization: "acme", ID: "v2", Revision: 1}, nil, vault.AuditEvent{}))
	insert("v2", 1, "other", 0)
	requireTokens("v1", 2, mortise.ErrNotFound, "")
	requireTokens("v2", 1, nil, "other", "")
	_, err = changes.MarkDeleted(ctx, "acme", filetest.SomeTime, vault.AuditEvent{})
	require.NoError(t, err)
	requireTokens("v2", 1, mortise.ErrNotFound, "")
}

// TestRememberedScopeIsGone: what was found by a number that is another scope's now does not
// count if the scope is not there any more. A copy of the file's that is put back page by
// page, as by the shell's .restore, does that.
func TestRememberedScopeIsGone(t *testing.T) {
	db, tables := openVault(t)
	_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", "t0", 0)})
	require.NoError(t, err)
	finders := connectAll(t, db)
	requireToken := func(want string) {
		t.Helper()
		for range 2 * finders {
			found, err := tables.FindTokens(t.Context(), "acme", "v1", 1,
				[]vault.Lookup{{Scope: "a", Version: 1, Fingerprints: []keyring.Fingerprint{someFingerprint(0)}}})
			require.NoError(t, err)
			require.Equal(t, [][]string{{want}}, found)
		}
	}
	requireToken("t0")
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		_, err := tx.Exec("UPDATE vault_scopes SET name = 'b'")
		return err
	}))
	requireToken("")
}

// TestRememberedScopesAreBounded: more scopes than are remembered read as well.
func TestRememberedScopesAreBounded(t *testing.T) {
	var known knownScopes
	for i := range 3 * maxKnownScopes {
		known.put(1, scopeID{name: string(rune(i))}, knownScope{seq: i})
		require.LessOrEqual(t, len(known.scopes), maxKnownScopes)
		require.Equal(t, i, known.scopes[scopeID{name: string(rune(i))}].seq)
	}
	known.put(2, scopeID{}, knownScope{})
	require.Len(t, known.scopes, 1)
}
