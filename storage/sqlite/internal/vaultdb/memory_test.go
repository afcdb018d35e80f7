package vaultdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// rememberedBy returns a copy of what a database's writer remembers of vaults, or nil.
func rememberedBy(t *testing.T, db *DB) (m *vaultMemory) {
	t.Helper()
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		kept := *file.MemoryOf[vaultMemory](tx.Conn().Lasting())
		if version, err := tx.Conn().DataVersion(); err != nil || !kept.valid || kept.version != version {
			return err
		}
		m = &kept
		return nil
	}))
	return m
}

// TestInsertionsRemember: what the writer has read of a vault, its scopes and the keys holds
// for the next insertions, whatever else is written beside them, and counts for nothing once
// it was changed: by the same database, in a transaction of the host's, or by another
// process. Here that is another DB of this one.
func TestInsertionsRemember(t *testing.T) {
	for name, by := range map[string]func(t *testing.T, db, second *DB, do func(context.Context, *Store) error) error{
		"same": func(t *testing.T, db, _ *DB, do func(context.Context, *Store) error) error {
			return do(t.Context(), db.vault)
		},
		"host": func(t *testing.T, db, _ *DB, do func(context.Context, *Store) error) error {
			return db.InTx(t.Context(), func(ctx context.Context, _ *file.HostTx) error { return do(ctx, db.vault) })
		},
		"other": func(t *testing.T, _, second *DB, do func(context.Context, *Store) error) error {
			return do(t.Context(), second.vault)
		},
	} {
		for _, between := range []bool{false, true} { // a write that is about something else
			t.Run(fmt.Sprint(name, " ", between), func(t *testing.T) { testRemembering(t, between, by) })
		}
	}
}

func testRemembering(t *testing.T, between bool, by func(t *testing.T, db, second *DB, do func(context.Context, *Store) error) error) {
	db, tables := openVault(t)
	second, err := Open(t.Context(), db.Probe().Path(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Close()) })
	something := func() {
		t.Helper()
		require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
			_, err := tx.Exec(insertVaultAudit, []byte("0123456789abcdef"), "acme", 1, "x", "x", "v1", nil, nil)
			return err
		}))
	}
	change := func(do func(ctx context.Context, v *Store) error) {
		t.Helper()
		require.NoError(t, by(t, db, second, do))
		if between {
			something()
		}
	}
	stored := 0
	insert := func(id string, revision int64, want error) {
		t.Helper()
		stored++
		row := someRow("a", fmt.Sprint("t", stored), stored)
		_, err := tables.InsertTokens(t.Context(), "acme", id, revision, []vault.Row{row})
		require.ErrorIs(t, err, want)
	}
	remember := func(id string, revision int64) {
		t.Helper()
		insert(id, revision, nil) // the scope may be new, which is forgotten at once
		insert(id, revision, nil)
		before := rememberedBy(t, db)
		require.NotNil(t, before)
		require.Equal(t, revision, before.vaults[vaultID{"acme", id}].revision)
		require.Len(t, before.scopes, 1)
		require.NotNil(t, before.keys)
		insert(id, revision, nil)
		something()
		require.Equal(t, reflect.ValueOf(before.vaults).Pointer(), reflect.ValueOf(rememberedBy(t, db).vaults).Pointer(), "it was there all the time")
	}
	for _, version := range []int{1, 2} {
		for _, p := range []keyring.Purpose{keyring.FingerprintKey, keyring.SealKey} {
			_, err := tables.RegisterKey(t.Context(), keyring.Key{Purpose: p, Version: version})
			require.NoError(t, err)
		}
	}

	remember("v1", 1)
	change(func(ctx context.Context, v *Store) error { // numbers of rows
		_, err := v.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{someRow("a", "theirs", 1000), someRow("b", "theirs, too", 1001)})
		return err
	})
	insert("v1", 1, nil)

	remember("v1", 1)
	change(func(ctx context.Context, v *Store) error { return v.RequireKey(ctx, 2) })
	insert("v1", 1, keyring.ErrUnknownKey)
	change(func(ctx context.Context, v *Store) error { return v.RetireKey(ctx, keyring.FingerprintKey, 2, 1) })

	remember("v1", 1)
	change(func(ctx context.Context, v *Store) error {
		return v.PutVault(ctx, vault.Vault{Organization: "acme", ID: "v1", Revision: 2}, nil, vault.AuditEvent{})
	})
	insert("v1", 1, vault.ErrConflict)

	remember("v1", 2)
	change(func(ctx context.Context, v *Store) error {
		_, err := v.MarkVaultDeleted(ctx, "acme", "v1", filetest.SomeTime, vault.AuditEvent{})
		return err
	})
	insert("v1", 2, mortise.ErrNotFound)

	// The next vault gets the numbers of the first one, and of its scope.
	change(func(ctx context.Context, v *Store) error {
		for more := true; more; {
			var err error
			if _, more, err = v.RemoveDeletedVault(ctx, "acme", "v1", 100); err != nil {
				return err
			}
		}
		return v.PutVault(ctx, vault.Vault{Organization: "acme", ID: "v2", Revision: 1}, nil, vault.AuditEvent{})
	})
	insert("v1", 2, mortise.ErrNotFound)
	remember("v2", 1)
	change(func(ctx context.Context, v *Store) error { return v.RetireKey(ctx, keyring.SealKey, 2, 0) })
	row := someRow("a", "sealed under 2", 2000)
	row.Sealed.Version = 2
	_, err = tables.InsertTokens(t.Context(), "acme", "v2", 1, []vault.Row{row})
	require.ErrorIs(t, err, keyring.ErrRetired)

	remember("v2", 1)
	change(func(ctx context.Context, v *Store) error {
		_, err := v.MarkDeleted(ctx, "acme", filetest.SomeTime, vault.AuditEvent{})
		return err
	})
	insert("v2", 1, mortise.ErrNotFound)
}

// TestInsertionsForgetARollback: what was read of a transaction that is rolled back is not
// remembered, of the host's not even in it.
func TestInsertionsForgetARollback(t *testing.T) {
	db, tables := openVault(t)
	ctx := t.Context()
	insert := func(ctx context.Context, scope, token string, fingerprint int) error {
		_, err := tables.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{someRow(scope, token, fingerprint)})
		return err
	}
	require.NoError(t, insert(ctx, "a", "t0", 0))
	failed := errors.New("no")
	require.ErrorIs(t, db.Write(ctx, func(tx *file.Tx) error {
		for _, token := range []string{"gone", "gone, too"} { // the first one makes the scope, the second one remembers it
			if _, err := insertTokens(tx, "acme", "v1", 1, []vault.Row{someRow("b", token, len(token))}); err != nil {
				return err
			}
		}
		require.Len(t, file.MemoryOf[vaultMemory](tx.Conn().Lasting()).scopes, 1)
		return failed
	}), failed)
	require.NoError(t, insert(ctx, "c", "t1", 1)) // has the number that b had
	require.NoError(t, insert(ctx, "b", "t2", 2))
	require.Equal(t, [][]string{{"t1"}, {"t2"}}, findIn(t, tables, "c", 1, "b", 2))

	require.ErrorIs(t, db.InTx(ctx, func(ctx context.Context, _ *file.HostTx) error {
		for _, row := range []vault.Row{someRow("d", "gone", 10), someRow("d", "gone, too", 11)} {
			if _, err := tables.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{row}); err != nil {
				return err
			}
		}
		return failed
	}), failed)
	var hosts *file.Conn
	require.NoError(t, db.InTx(ctx, func(ctx context.Context, _ *file.HostTx) error {
		if err := db.Write(ctx, func(tx *file.Tx) error {
			hosts = tx.Conn()
			return nil
		}); err != nil {
			return err
		}
		if err := insert(ctx, "e", "t3", 3); err != nil {
			return err
		}
		if err := insert(ctx, "d", "t4", 4); err != nil {
			return err
		}
		return insert(ctx, "d", "t5", 5)
	}))
	require.Equal(t, [][]string{{"t3"}, {"t4"}}, findIn(t, tables, "e", 3, "d", 4))
	require.Empty(t, file.MemoryOf[vaultMemory](hosts.Lasting()).vaults)
}

// findIn returns the tokens of two fingerprints.
func findIn(t *testing.T, tables *Store, scope string, n int, second string, m int) [][]string {
	t.Helper()
	found, err := tables.FindTokens(t.Context(), "acme", "v1", 1, []vault.Lookup{
		{Scope: scope, Version: 1, Fingerprints: []keyring.Fingerprint{someFingerprint(n)}},
		{Scope: second, Version: 1, Fingerprints: []keyring.Fingerprint{someFingerprint(m)}},
	})
	require.NoError(t, err)
	return found
}

// TestInsertionsRememberNoMoreThan: a writer that sees many vaults and scopes does not keep
// them all.
func TestInsertionsRememberNoMoreThan(t *testing.T) {
	db, tables := openVault(t)
	_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", "s", 100)})
	require.NoError(t, err)
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		m, err := memoryOf(tx)
		require.NoError(t, err)
		for i := range maxVaultMemory + 1 {
			m.scopes[scopeOf{i, "x"}] = i
		}
		return nil
	}))
	_, err = tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", "t", 0)})
	require.NoError(t, err)
	_, err = tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", "u", 1)})
	require.NoError(t, err)
	require.Len(t, rememberedBy(t, db).scopes, 1)
}

// TestKnownValueIsNoWrite: an insertion of a value that is there, which nobody looked for
// before, does not grow the log.
func TestKnownValueIsNoWrite(t *testing.T) {
	db, tables := openVault(t)
	insert := func(token string) []string {
		t.Helper()
		tokens, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", token, 7)})
		require.NoError(t, err)
		return tokens
	}
	length := func() int64 {
		t.Helper()
		log, err := os.Stat(db.Probe().Path() + "-wal")
		require.NoError(t, err)
		return log.Size()
	}
	require.Equal(t, []string{"t0"}, insert("t0"))
	before := length()
	require.Positive(t, before)
	require.Equal(t, []string{"t0"}, insert("t1"))
	require.Equal(t, before, length())
}
