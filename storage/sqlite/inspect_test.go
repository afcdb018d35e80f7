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

// TestOpenAfterACrashInTheFirstTransaction: what a process left that died while it made
// the database, or changed one that is not in WAL mode, is rolled back. A foreign
// database is refused then as before, and holds what it held.
func TestOpenAfterACrashInTheFirstTransaction(t *testing.T) {
	for name, before := range map[string]string{"new": "", "foreign": "CREATE TABLE diary (day TEXT)"} {
		t.Run(name, func(t *testing.T) {
			live, crashed := filepath.Join(t.TempDir(), "live.db"), filepath.Join(t.TempDir(), "test.db")
			other, err := sql.Open("sqlite", "file:"+live+"?_journal=DELETE")
			require.NoError(t, err)
			defer other.Close()
			conn, err := other.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			// With so small a cache, changed pages go into the file before the commit.
			for _, statement := range []string{before, "PRAGMA cache_size = 1", "BEGIN", "CREATE TABLE cut_off (b BLOB)"} {
				_, err = conn.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
			for range 100 {
				_, err = conn.ExecContext(t.Context(), "INSERT INTO cut_off VALUES (randomblob(4000))")
				require.NoError(t, err)
			}
			for _, suffix := range []string{"", "-journal"} { // as they are at this moment
				data, err := os.ReadFile(live + suffix)
				require.NoError(t, err)
				require.NotEmpty(t, data)
				require.NoError(t, os.WriteFile(crashed+suffix, data, 0o600))
			}
			if before == "" {
				openAt(t, crashed, nil)
				return
			}
			_, err = sqlite.Open(t.Context(), crashed, nil)
			require.ErrorIs(t, err, sqlite.ErrUnusable)
			require.ErrorContains(t, err, "another program")
			left, err := sql.Open("sqlite", "file:"+crashed)
			require.NoError(t, err)
			defer left.Close()
			var tables string
			require.NoError(t, left.QueryRowContext(t.Context(), "SELECT group_concat(name) FROM sqlite_schema").Scan(&tables))
			require.Equal(t, "diary", tables)
		})
	}
}

// TestOpenWithoutDatabase: what stands in a log is not thrown away because its database
// is not there.
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
