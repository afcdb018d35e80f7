package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// TestOpenForeign: a database of another program is left as it is.
func TestOpenForeign(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		path := filepath.Join(t.TempDir(), "diary.db")
		other, err := sql.Open("sqlite", "file:"+path+"?_journal="+mode)
		require.NoError(t, err)
		_, err = other.ExecContext(t.Context(), "CREATE TABLE diary (day TEXT); INSERT INTO diary VALUES ('Monday')")
		require.NoError(t, errors.Join(err, other.Close()))
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = sqlite.Open(t.Context(), path, nil)
		require.ErrorIs(t, err, sqlite.ErrUnusable)
		require.ErrorContains(t, err, "another program")
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after)
		files, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.Len(t, files, 1)
	}
}

// TestOpenWithoutDatabase: what stands in a log is not thrown away because its database is not there.
func TestOpenWithoutDatabase(t *testing.T) {
	for _, empty := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "test.db")
		if empty {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		}
		require.NoError(t, os.WriteFile(path+"-wal", []byte("a log"), 0o600))
		_, err := sqlite.Open(t.Context(), path, nil)
		require.ErrorIs(t, err, sqlite.ErrUnusable)
		require.FileExists(t, path+"-wal")
		if !empty {
			require.NoFileExists(t, path)
		}
	}
}
