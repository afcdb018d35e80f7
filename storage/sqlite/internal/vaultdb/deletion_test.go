package vaultdb

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// fillVault puts something into every table: rows of three scopes, one of them deleted,
// and events.
func fillVault(t *testing.T, s *Store, org, id string) {
	t.Helper()
	ctx := t.Context()
	event := func(kind mortise.Kind) vault.AuditEvent {
		return vault.AuditEvent{ID: uuid.New(), Organization: org, Vault: id, Kind: kind, At: filetest.SomeTime, Actor: "ops"}
	}
	v := vault.Vault{Organization: org, ID: id, Revision: 1, Schema: vault.Schema{Tables: []vault.Table{{Name: "secret schema"}}}}
	require.NoError(t, s.PutVault(ctx, v, nil, event(mortise.KindVaultCreated)))
	var rows []vault.Row
	for i := range 30 {
		r := someRow(fmt.Sprint("scope", i%3), fmt.Sprint("t", i), i)
		r.Fingerprints = append(r.Fingerprints, vault.VersionedFingerprint{Version: 2, Fingerprint: someFingerprint(100 + i)})
		rows = append(rows, r)
	}
	_, err := s.InsertTokens(ctx, org, id, 1, rows)
	require.NoError(t, err)
	require.NoError(t, s.DeleteToken(ctx, org, id, "t7", event(mortise.KindDeleted)))
	for range 10 {
		require.NoError(t, s.AddAuditEvent(ctx, event(mortise.KindDetokenized)))
	}
}

// content returns all rows of the domain's tables, but for those of the keys and the
// numbers.
func content(t *testing.T, db *DB) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	for _, table := range []string{"vaults", "scopes", "tokens", "fingerprints", "audit", "deleted_orgs", "deleted_vaults"} {
		columns := filetest.Numbers(t, db.File, "SELECT count(*) FROM pragma_table_info('vault_"+table+"')")[0]
		require.Positive(t, columns, table)
		require.NoError(t, db.Find(t.Context(), file.NoOrg, "SELECT * FROM vault_"+table, nil, func(r *file.Row) error {
			values := make([]any, columns)
			for i := range values {
				values[i] = file.Cell[any](r, i)
			}
			all[table] = append(all[table], fmt.Sprint(values))
			return nil
		}))
	}
	return all
}

// counts says how many rows each table has.
func counts(all map[string][]string) map[string]int {
	n := make(map[string]int)
	for table, rows := range all {
		n[table] = len(rows)
	}
	return n
}

// TestNothingIsLeftOfDeleted: after the last step the tables have nothing of an
// organization but its mark and its event, and of a vault but its mark and its trail.
func TestNothingIsLeftOfDeleted(t *testing.T) {
	for _, limit := range []int{1, 7, 1000} {
		db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		s, ctx := db.vault, t.Context()
		for _, id := range []string{"a", "b", "c", "d"} {
			fillVault(t, s, "goes", id)
		}
		fillVault(t, s, "stays", "a")
		stays := make(map[string][]string)
		for table, rows := range content(t, db) {
			for _, r := range rows {
				if table != "fingerprints" && table != "scopes" && table != "tokens" && strings.Contains(r, "stays") {
					stays[table] = append(stays[table], r)
				}
			}
		}
		// One vault is gone before, and of one a part.
		mark := func(id string) {
			_, err := s.MarkVaultDeleted(ctx, "goes", id, filetest.SomeTime, vault.AuditEvent{ID: uuid.New(), Organization: "goes", Vault: id, At: filetest.SomeTime})
			require.NoError(t, err)
		}
		mark("d")
		for more := true; more; {
			_, more, err = s.RemoveDeletedVault(ctx, "goes", "d", limit)
			require.NoError(t, err)
		}
		require.Equal(t, map[string]int{"vaults": 4, "scopes": 4 * 3, "tokens": 4 * 30, "fingerprints": 4 * 58, "audit": 5*12 + 1, "deleted_vaults": 1},
			counts(content(t, db)))
		mark("b")
		if limit < 30 {
			_, more, err := s.RemoveDeletedVault(ctx, "goes", "b", limit)
			require.NoError(t, err)
			require.True(t, more)
		}
		event := vault.AuditEvent{ID: uuid.New(), Organization: "goes", At: filetest.SomeTime.Add(-time.Hour), Kind: mortise.KindOrganizationDeleted}
		_, err = s.MarkDeleted(ctx, "goes", filetest.SomeTime, event)
		require.NoError(t, err)
		for more := true; more; {
			_, more, err = s.RemoveDeleted(ctx, "goes", limit)
			require.NoError(t, err)
		}
		left := content(t, db)
		require.Equal(t, map[string]int{"vaults": 1, "scopes": 3, "tokens": 30, "fingerprints": 58, "audit": 12 + 1, "deleted_orgs": 1}, counts(left))
		require.Equal(t, stays["vaults"], left["vaults"])
		require.Subset(t, left["audit"], stays["audit"])
		for table, rows := range left {
			for _, r := range rows {
				require.False(t, strings.Contains(r, "goes") && table != "deleted_orgs" && table != "audit", "%s: %s", table, r)
			}
		}
		require.Equal(t, []int{0}, filetest.Numbers(t, db.File, "SELECT rest FROM vault_deleted_orgs"))
		require.Empty(t, filetest.Numbers(t, db.File, "SELECT 1 FROM pragma_foreign_key_check"))
	}
}

// TestStepsOfDeletionAreBounded: by rows, whatever the caller allows, and by bytes.
func TestStepsOfDeletionAreBounded(t *testing.T) {
	db, s := openVault(t)
	ctx := t.Context()
	left := func() int { return filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_tokens")[0] }
	add := func(n, size int) {
		rows := make([]vault.Row, n)
		for i := range rows {
			rows[i] = someRow("s", fmt.Sprint("t", size, "-", i), size+i)
			rows[i].Sealed.Ciphertext = bytes.Repeat([]byte{1}, size)
		}
		for len(rows) > 0 {
			_, err := s.InsertTokens(ctx, "acme", "v1", 1, rows[:min(100, len(rows))])
			require.NoError(t, err)
			rows = rows[min(100, len(rows)):]
		}
	}
	const large = 128 << 10
	add(2*removalRows, 10)
	add(200, large)
	_, err := s.MarkVaultDeleted(ctx, "acme", "v1", filetest.SomeTime, vault.AuditEvent{})
	require.NoError(t, err)
	small := 0
	for more := true; more; {
		before, bytes := left(), filetest.Numbers(t, db.File, "SELECT ifnull(sum(length(ciphertext)), 0) FROM vault_tokens")[0]
		_, more, err = s.RemoveDeletedVault(ctx, "acme", "v1", 1_000_000)
		require.NoError(t, err)
		require.LessOrEqual(t, before-left(), removalRows)
		gone := bytes - filetest.Numbers(t, db.File, "SELECT ifnull(sum(length(ciphertext)), 0) FROM vault_tokens")[0]
		require.LessOrEqual(t, gone, removalBytes+large)
		if before-left() < removalRows/2 && more {
			small++
		}
	}
	require.Greater(t, small, 1, "steps that were ended by their bytes")
	require.Zero(t, left())

	// Events, too.
	tokens := []vault.AuditToken{{Token: strings.Repeat("t", 1<<20)}}
	for range 12 {
		require.NoError(t, s.AddAuditEvent(ctx, vault.AuditEvent{ID: uuid.New(), Organization: "acme", At: filetest.SomeTime, Tokens: tokens}))
	}
	_, err = s.MarkDeleted(ctx, "acme", filetest.SomeTime, vault.AuditEvent{})
	require.NoError(t, err)
	for more, before := true, 12; more; {
		_, more, err = s.RemoveDeleted(ctx, "acme", 1000)
		require.NoError(t, err)
		now := filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_audit")[0]
		require.LessOrEqual(t, before-now, removalBytes>>20+1)
		before = now
	}
}

// TestNumbersOfDeletedVaults: a vault that is made beside what is left of another one, or
// after it, has nothing of it, though SQLite gives the numbers of rows again.
func TestNumbersOfDeletedVaults(t *testing.T) {
	db, s := openVault(t)
	ctx := t.Context()
	for i := range 20 {
		id := fmt.Sprint("v", i+2)
		fillVault(t, s, "acme", id)
		_, err := s.MarkVaultDeleted(ctx, "acme", id, filetest.SomeTime, vault.AuditEvent{})
		require.NoError(t, err)
		for range i {
			_, _, err = s.RemoveDeletedVault(ctx, "acme", id, 3)
			require.NoError(t, err)
		}
		// The step before may be in the middle of its rows.
		fillVault(t, s, fmt.Sprint("other", i), "v1")
		rows, err := s.ListRows(ctx, fmt.Sprint("other", i), "v1", "", 1000)
		require.NoError(t, err)
		require.Len(t, rows.Items, 29)
	}
	for i := range 20 {
		for more := true; more; {
			var err error
			_, more, err = s.RemoveDeletedVault(ctx, "acme", fmt.Sprint("v", i+2), 11)
			require.NoError(t, err)
		}
	}
	for i := range 20 {
		org := fmt.Sprint("other", i)
		found, err := s.FindTokens(ctx, org, "v1", 1, []vault.Lookup{{Scope: "scope0", Version: 2, Fingerprints: []keyring.Fingerprint{someFingerprint(103)}}})
		require.NoError(t, err)
		require.Equal(t, [][]string{{"t3"}}, found)
	}
	require.Equal(t, map[string]int{"vaults": 21, "scopes": 60, "tokens": 600, "fingerprints": 20 * 58, "audit": 40 * 12, "deleted_vaults": 20},
		counts(content(t, db)))
}

// TestDeletionBesideAnotherHandle: whoever has the same file open sees a mark at once.
func TestDeletionBesideAnotherHandle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	var handles [2]*Store
	for i := range handles {
		db, err := Open(t.Context(), path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		handles[i] = db.vault
	}
	ctx := t.Context()
	for i, s := range handles {
		other, id := handles[1-i], fmt.Sprint("v", i)
		for _, org := range []string{"acme", fmt.Sprint("goes", i)} {
			fillVault(t, s, org, id)
			_, err := other.Vault(ctx, org, id)
			require.NoError(t, err)
		}
		_, err := s.MarkVaultDeleted(ctx, "acme", id, filetest.SomeTime, vault.AuditEvent{})
		require.NoError(t, err)
		_, err = s.MarkDeleted(ctx, fmt.Sprint("goes", i), filetest.SomeTime, vault.AuditEvent{})
		require.NoError(t, err)
		for _, org := range []string{"acme", fmt.Sprint("goes", i)} {
			_, err := other.Rows(ctx, org, id, []string{"t1"})
			require.ErrorIs(t, err, mortise.ErrNotFound)
			_, err = other.InsertTokens(ctx, org, id, 1, []vault.Row{someRow("scope0", "new", 1000)})
			require.ErrorIs(t, err, mortise.ErrNotFound)
			require.ErrorIs(t, other.PutVault(ctx, vault.Vault{Organization: org, ID: id, Revision: 1}, nil, vault.AuditEvent{}), mortise.ErrDeleted)
		}
		_, more, err := other.RemoveDeletedVault(ctx, "acme", id, 3)
		require.NoError(t, err)
		require.True(t, more)
	}
}

// TestFingerprintsOfDeletedVaults: those of a retired version are removed with the
// others, and do not count, so that a step does not pass over them.
func TestFingerprintsOfDeletedVaults(t *testing.T) {
	db, s := openVault(t)
	ctx := t.Context()
	for version := 1; version <= 2; version++ {
		_, err := s.RegisterKey(ctx, keyring.Key{Purpose: keyring.FingerprintKey, Version: version})
		require.NoError(t, err)
	}
	fillVault(t, s, "acme", "v2")
	fillVault(t, s, "goes", "v1")
	fillVault(t, s, "other", "v1")
	_, err := s.MarkVaultDeleted(ctx, "acme", "v2", filetest.SomeTime, vault.AuditEvent{})
	require.NoError(t, err)
	_, err = s.MarkDeleted(ctx, "goes", filetest.SomeTime, vault.AuditEvent{})
	require.NoError(t, err)
	require.NoError(t, s.RequireKey(ctx, 2))
	require.NoError(t, s.RetireKey(ctx, keyring.FingerprintKey, 1, 2))
	removed, steps := 0, 0
	for more := true; more; steps++ { // those of deleted vaults go with them, and do not count
		var n int
		n, more, err = s.RemoveFingerprints(ctx, 1, 10)
		require.NoError(t, err)
		require.True(t, n > 0 || !more)
		removed += n
	}
	require.Equal(t, 29, removed)
	require.Less(t, steps, 6, "of 29, and of 58 of deleted vaults")
	require.Equal(t, []int{0, 3 * 29}, filetest.Numbers(t, db.File, "SELECT count(*) FILTER (WHERE version = 1) FROM vault_fingerprints UNION ALL"+
		" SELECT count(*) FILTER (WHERE version = 2) FROM vault_fingerprints"))
	usage, err := s.KeyUsage(ctx)
	require.NoError(t, err)
	require.Equal(t, map[int]int{2: 29}, usage.Fingerprints)
	for more := true; more; {
		_, more, err = s.RemoveDeleted(ctx, "goes", 7)
		require.NoError(t, err)
	}
}
