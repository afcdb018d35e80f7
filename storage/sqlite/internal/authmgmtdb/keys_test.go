package authmgmtdb

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// checkKeys asks whether the file was made with one of these keys.
func checkKeys(t *testing.T, db *DB, key authmgmt.InvitationKey, others ...authmgmt.InvitationKey) error {
	s, err := authmgmt.New(authmgmt.Backend{Store: db.authmgmt}, &authmgmt.Options{InvitationKey: key, OtherInvitationKeys: others})
	if err != nil {
		return err
	}
	return s.CheckKey(t.Context())
}

// testKeys returns n keys, which are not random, and nobody's.
func testKeys(t *testing.T, n int) (keys []authmgmt.InvitationKey) {
	t.Helper()
	for i := range n {
		key, err := authmgmt.NewInvitationKey([]byte(fmt.Sprintf("%d is not random, and nobody's key", i)[:32]))
		require.NoError(t, err)
		keys = append(keys, key)
	}
	return keys
}

// keyChecksOf returns what stands in the file.
func keyChecksOf(t *testing.T, db *DB) (value []byte) {
	t.Helper()
	require.NoError(t, db.Find(t.Context(), file.NoOrg, keyChecks, nil, func(r *file.Row) error {
		value = file.Cell[[]byte](r, 0)
		return nil
	}))
	return value
}

// TestKeyOfAnOlderProgram: a file has the value of one key, as programs wrote it that
// knew no others. Its key can be changed, and until then an older program reads it.
func TestKeyOfAnOlderProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	keys := testKeys(t, 3)
	require.NoError(t, checkKeys(t, db, keys[0]))
	value := keyChecksOf(t, db)
	require.Len(t, value, 32)
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		const older = "INSERT INTO authmgmt_key_check (only, value) VALUES (1, ?) ON CONFLICT DO NOTHING"
		_, err := tx.Exec("DELETE FROM authmgmt_key_check")
		if err == nil {
			_, err = tx.Exec(older, value)
		}
		return err
	}))

	for range 2 {
		require.NoError(t, db.Close())
		db, err = Open(t.Context(), path, nil)
		require.NoError(t, err)
		require.Equal(t, authmgmt.ErrWrongKey, checkKeys(t, db, keys[2]))
		require.NoError(t, checkKeys(t, db, keys[0]))
		require.Equal(t, value, keyChecksOf(t, db), "what an older program reads")
	}
	require.NoError(t, checkKeys(t, db, keys[1], keys[0]))
	require.NoError(t, db.Close())
	db, err = Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, key := range keys[:2] {
		require.NoError(t, checkKeys(t, db, key))
	}
	require.Equal(t, authmgmt.ErrWrongKey, checkKeys(t, db, keys[2]))
	require.Len(t, keyChecksOf(t, db), 64)
}

// TestKeyCheckWritesOnce: a start whose keys are noted waits for no writer.
func TestKeyCheckWritesOnce(t *testing.T) {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	keys := testKeys(t, 2)
	require.NoError(t, checkKeys(t, db, keys[0], keys[1]))
	blocked, free := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- db.Write(t.Context(), func(*file.Tx) error {
			close(blocked)
			<-free
			return nil
		})
	}()
	<-blocked
	for range 2 {
		assert.NoError(t, checkKeys(t, db, keys[0], keys[1]))
		assert.NoError(t, checkKeys(t, db, keys[1]))
	}
	close(free)
	require.NoError(t, <-done)
	require.NoError(t, db.Close())
}

// TestTwoDatabasesChangeTheKey: servers over one file that bring a key each, beside the
// one that is noted, are all believed.
func TestTwoDatabasesChangeTheKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	keys := testKeys(t, 9)
	var dbs [2]*DB
	for i := range dbs {
		var err error
		dbs[i], err = Open(t.Context(), path, nil)
		require.NoError(t, err)
	}
	require.NoError(t, checkKeys(t, dbs[0], keys[0]))
	errs := make(chan error)
	for i, key := range keys[1:] {
		go func() { errs <- checkKeys(t, dbs[i%2], key, keys[0]) }()
	}
	for range keys[1:] {
		assert.NoError(t, <-errs)
	}
	for i, key := range keys {
		assert.NoError(t, checkKeys(t, dbs[i%2], key))
	}
	for _, db := range dbs {
		require.NoError(t, db.Close())
	}
}

// TestDamagedKeyCheck: half a value is not taken for another key, nor for none.
func TestDamagedKeyCheck(t *testing.T) {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	key := testKeys(t, 1)[0]
	for _, value := range []any{bytes.Repeat([]byte{1}, 33), []byte{1}, "a text", 7} {
		require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
			_, err := tx.Exec(putKeyChecks, value)
			return err
		}))
		err := checkKeys(t, db, key)
		require.ErrorIs(t, err, mortise.ErrUnavailable, "%v", value)
		require.ErrorContains(t, err, "a row is damaged", "%v", value)
	}
}
