package file

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBackupPaths: whatever the path, a backup is there as a whole, or an error says that
// it is not.
func TestBackupPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	db, err := Open(t.Context(), "test.db", defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	stored := newItem()
	require.NoError(t, storeItem(t.Context(), db, stored))
	for _, path := range []string{"plain.db", "file:uri.db", "file:///uri.db", "a?mode=memory", ":memory:", "it's.db", "a%20b.db"} {
		if path == "file:///uri.db" {
			require.NoError(t, os.MkdirAll("file:", 0o700))
		}
		require.NoError(t, db.Backup(t.Context(), path), path)
		restored, err := Open(t.Context(), path, defaults)
		require.NoError(t, err, path)
		got, err := findItem(t.Context(), restored, stored.id)
		require.NoError(t, errors.Join(err, restored.Close()), "the backup %s is empty", path)
		require.Equal(t, stored, got)
	}
	partials, err := filepath.Glob("*.partial")
	require.NoError(t, err)
	require.Empty(t, partials)
}

// TestBackupOfNothing: if the file is gone, there is nothing to copy, and Backup says so.
// It does not make a new one either.
func TestBackupOfNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed")
	}
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "test.db"), filepath.Join(folder, "backup.db")
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	require.NoError(t, storeItem(t.Context(), db, newItem()))
	require.NoError(t, os.Remove(path))
	assert.Error(t, db.Backup(t.Context(), backup), "an empty backup")
	assert.NoFileExists(t, backup)
	assert.NoFileExists(t, path, "an empty database in place of the lost one")
}
