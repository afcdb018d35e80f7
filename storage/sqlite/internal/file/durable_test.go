package file

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// settings reads PRAGMAs on the connection that the writer writes with.
func settings(t *testing.T, db *File, names ...string) (values []string) {
	t.Helper()
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
		values = nil
		for _, name := range names {
			err := tx.Query("PRAGMA "+name, nil, func(r *Row) error {
				values = append(values, fmt.Sprint(r.values[0]))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return values
}

// TestWriterSettings: what makes a commit durable is set on the writer's connection, on
// each one that it ever makes.
func TestWriterSettings(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for range 3 {
		require.Equal(t, []string{"2", "wal", "1"}, settings(t, db, "synchronous", "journal_mode", "foreign_keys"))
		// This loses the connection.
		require.Error(t, db.Write(t.Context(), func(tx *Tx) error {
			_, err := tx.Exec("INSERT INTO trigger_collections (organization, id, ready) VALUES ('nobody', x'00', 1)")
			if err == nil { // a foreign key is looked at by the end of the statement
				t.Error("foreign keys are not enforced")
			}
			return err
		}))
	}
}

// TestReadersCannotWrite: not even by mistake.
func TestReadersCannotWrite(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	err = db.Find(t.Context(), NoOrg, "DELETE FROM trigger_events", nil, func(*Row) error { return nil })
	require.ErrorContains(t, err, "readonly")
}

// TestFiles: the files can be read by their owner only, and after Close there is but the
// one, with everything in it.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "test.db")
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	stored := newItem()
	require.NoError(t, storeItem(t.Context(), db, stored))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), suffix)
		}
	}
	require.NoError(t, db.Close())
	requireFiles(t, folder, "test.db")

	// The file by itself is the whole database.
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	moved := filepath.Join(t.TempDir(), "moved.db")
	require.NoError(t, os.WriteFile(moved, data, 0o600))
	db, err = Open(t.Context(), moved, defaults)
	require.NoError(t, err)
	got, err := findItem(t.Context(), db, stored.id)
	require.NoError(t, err)
	require.Equal(t, stored, got)
	require.NoError(t, db.Close())
}

func requireFiles(t *testing.T, folder string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.Equal(t, want, names)
}
