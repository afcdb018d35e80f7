package file

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newFileConn is a connection to a new file, as Open's is. The test's end closes it.
func newFileConn(t *testing.T, path string) *Conn {
	t.Helper()
	require.NoError(t, create(path))
	return connectTo(t, path, url.Values{"_journal": {"WAL"}, "_sync": {"FULL"}, "_fk": {"1"}})
}

// connectTo opens a connection that the test's end closes.
func connectTo(t *testing.T, path string, settings url.Values) *Conn {
	t.Helper()
	s, err := newSource(path, settings)
	require.NoError(t, err)
	c, err := s.connect()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// changeFile runs statements on the file, as another program would.
func changeFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	s, err := newSource(path, url.Values{})
	require.NoError(t, err)
	c, err := s.connect()
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	for _, statement := range statements {
		_, err := c.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// requireRefused returns the error of Open for a file that must be the same afterwards, byte
// for byte, with nothing beside it.
func requireRefused(t *testing.T, path string, opts *Options) error {
	t.Helper()
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = Open(t.Context(), path, opts)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, path)
	after, readErr := os.ReadFile(path)
	require.NoError(t, readErr)
	require.True(t, bytes.Equal(before, after), "the file was changed")
	files, readErr := os.ReadDir(filepath.Dir(path))
	require.NoError(t, readErr)
	require.Len(t, files, 1)
	return err
}

// column is a query of one column.
func column(t *testing.T, conn *Conn, query string) []string {
	t.Helper()
	found := []string{}
	require.NoError(t, conn.Query(t.Context(), query, nil, func(r *Row) error {
		found = append(found, fmt.Sprint(r.values[0]))
		return nil
	}))
	return found
}

// TestOtherVersion: a file that the program of another commit has made is refused by name.
func TestOtherVersion(t *testing.T) {
	const refusal = "unusable file: made by another development version of Mortise (the tables of %s): " +
		"remove it, or open it with the program that made it"
	t.Run("of before there were digests", func(t *testing.T) {
		for _, adopt := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "test.db")
			packed, err := os.Open(filepath.Join("..", "..", "testdata", "of_54962722.db.gz"))
			require.NoError(t, err)
			defer packed.Close()
			unpacked, err := gzip.NewReader(packed)
			require.NoError(t, err)
			file, err := io.ReadAll(unpacked)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, file, 0o600))
			err = requireRefused(t, path, settingsOf(Options{Adopt: adopt}))
			require.EqualError(t, err, "sqlite: open "+path+": "+fmt.Sprintf(refusal, "trigger"))
		}
	})
	today := time.Now().UTC().Format(time.DateOnly)
	for name, c := range map[string]struct{ domain, change, by string }{
		"another script": {"vault", "UPDATE mortise_scripts SET digest = 'x' WHERE domain = 'vault'",
			" (it was made by " + program() + " on " + today + ")"},
		"another program": {"jobs", "UPDATE mortise_scripts SET (digest, program, made_at) = ('x', 'example.com/host v1.2.3', '2026-11-21T12:00:00Z')" +
			" WHERE domain = 'jobs'", " (it was made by example.com/host v1.2.3 on 2026-11-21)"},
		"no digest":             {"authmgmt", "DELETE FROM mortise_scripts WHERE domain = 'authmgmt'", ""},
		"no digests":            {"trigger", "DELETE FROM mortise_scripts", ""},
		"no table of digests":   {"trigger", "DROP TABLE mortise_scripts", ""},
		"another such table":    {"trigger", "ALTER TABLE mortise_scripts ADD COLUMN x", ""},
		"an unknown domain":     {"chat", "INSERT INTO mortise_scripts VALUES ('chat', 'x', 'p', '2026-11-21T12:00:00Z')", " (it was made by p on 2026-11-21)"},
		"a table of it changed": {"trigger", "UPDATE mortise_scripts SET (digest, program) = ('x', ''); ALTER TABLE vault_keys ADD COLUMN x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := EmptyFile(t)
			changeFile(t, path, c.change)
			for _, adopt := range []bool{false, true} {
				err := requireRefused(t, path, settingsOf(Options{Adopt: adopt}))
				require.EqualError(t, err, "sqlite: open "+path+": "+fmt.Sprintf(refusal, c.domain)+c.by)
			}
		})
	}
}

// TestScriptsFailing: whatever fails in whichever script, the file is as it was, and the
// tables can be made by scripts that are whole.
func TestScriptsFailing(t *testing.T) {
	const all = "SELECT name FROM sqlite_schema ORDER BY 1"
	conn := newFileConn(t, filepath.Join(t.TempDir(), "test.db"))
	good := script{"a", "CREATE TABLE a (x); INSERT INTO a VALUES (1), (2)"}
	for name, bad := range map[string]string{
		"no SQL":                   "CREATE TABLE b (x); CREATE TABEL",
		"a constraint":             "CREATE TABLE b (x UNIQUE); INSERT INTO b VALUES (1); INSERT INTO b VALUES (1)",
		"a table twice":            "DELETE FROM a; CREATE TABLE a (x)",
		"a foreign key at the end": "CREATE TABLE p (id PRIMARY KEY); CREATE TABLE c (p REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED); INSERT INTO c VALUES (1)",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBlueprint(good, script{"b", bad})
			b.objects = newBlueprint(good).objects
			require.Error(t, b.prepare(t.Context(), conn, false))
			require.Empty(t, column(t, conn, all))
			// The connection is not left in a transaction.
			_, err := conn.Exec(t.Context(), "BEGIN IMMEDIATE; ROLLBACK")
			require.NoError(t, err)
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b := newBlueprint(good)
	require.ErrorIs(t, b.prepare(ended, conn, false), context.Canceled)
	require.Empty(t, column(t, conn, all))
	for range 2 {
		require.NoError(t, b.prepare(t.Context(), conn, false))
		require.Equal(t, []string{"a", "mortise_scripts"}, column(t, conn, all))
		require.Equal(t, []string{"1", "2"}, column(t, conn, "SELECT x FROM a ORDER BY 1"))
	}
}

// TestKilledInTheScripts: a process that was killed while it made the tables leaves nothing of
// them, though its log has a part of them, and the next one makes them.
func TestKilledInTheScripts(t *testing.T) {
	folder := t.TempDir()
	path, killed := filepath.Join(folder, "test.db"), filepath.Join(folder, "killed.db")
	conn := newFileConn(t, path)
	// With so small a cache, changed pages go into the log before the commit.
	for _, statement := range []string{"PRAGMA cache_size = 1", "BEGIN IMMEDIATE"} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	require.NoError(t, run(t.Context(), conn, ours.scripts))
	for _, suffix := range []string{"", "-wal"} { // as they are at this moment
		data, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.True(t, suffix == "" || len(data) > 100<<10, "the log has a part of them")
		require.NoError(t, os.WriteFile(killed+suffix, data, 0o600))
	}
	db, err := Open(t.Context(), killed, defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Ping(t.Context()))
	require.Equal(t, []int{1024}, numbers(t, db, "SELECT count(*) FROM vault_numbers WHERE n BETWEEN 0 AND 1023"))
}

// TestOpenTogether: several that open a new file at once all succeed, and the tables are made
// once.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	for range 2 {
		path := filepath.Join(t.TempDir(), "test.db")
		var opened [8]*File
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range opened {
			wg.Go(func() {
				<-start
				var err error
				opened[i], err = Open(t.Context(), path, settingsOf(Options{BusyTimeout: time.Minute}))
				assert.NoError(t, err)
			})
		}
		close(start)
		wg.Wait()
		require.False(t, slices.Contains(opened[:], nil))
		for _, db := range opened {
			require.NoError(t, storeItem(t.Context(), db, newItem()))
		}
		require.Equal(t, []int{8}, numbers(t, opened[0], "SELECT count(*) FROM mortise_jobs"))
		require.Equal(t, []int{len(ours.scripts)}, numbers(t, opened[0], "SELECT count(*) FROM mortise_scripts"))
		require.Equal(t, []int{1024}, numbers(t, opened[0], "SELECT count(*) FROM vault_numbers"))
		for _, db := range opened {
			require.NoError(t, db.Close())
		}
	}
}
