package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
)

func someEvent() trigger.Event {
	return trigger.Event{
		ID: uuid.New(), Organization: "acme", Status: trigger.StatusReceived, Source: trigger.SourceAPI, Instructions: "Document it.",
		SubmittedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	}
}

// settings reads PRAGMAs on the connection that the writer writes with.
func settings(t *testing.T, db *DB, names ...string) (values []string) {
	t.Helper()
	require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
		values = nil
		for _, name := range names {
			err := tx.query("PRAGMA "+name, nil, func(r *row) error {
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

// TestWriterSettings: what makes a commit durable is set on the writer's connection, on each one that it ever makes.
func TestWriterSettings(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for range 3 {
		require.Equal(t, []string{"2", "wal", "1"}, settings(t, db, "synchronous", "journal_mode", "foreign_keys"))
		// This loses the connection.
		require.Error(t, db.writer.write(t.Context(), func(tx *tx) error {
			_, err := tx.exec("INSERT INTO trigger_collections (organization, id, ready) VALUES ('nobody', x'00', 1)")
			if err == nil { // a foreign key is looked at by the end of the statement
				t.Error("foreign keys are not enforced")
			}
			return err
		}))
	}
}

// TestReadersCannotWrite: not even by mistake.
func TestReadersCannotWrite(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	err = db.find(t.Context(), "DELETE FROM trigger_events", nil, func(*row) error { return nil })
	require.ErrorContains(t, err, "readonly")
}

// TestFiles: the files can be read by their owner only, and after Close there is but the one, with everything in it.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "test.db")
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	e := someEvent()
	_, _, err = db.Trigger().Create(t.Context(), e, time.Time{})
	require.NoError(t, err)
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
	db, err = Open(t.Context(), moved, nil)
	require.NoError(t, err)
	got, err := db.Trigger().Get(t.Context(), "acme", e.ID)
	require.NoError(t, err)
	require.Equal(t, e, got)
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

// TestCloseDuringReads: Close waits for reads and writes, so that the one file is whole when it returns.
func TestCloseDuringReads(t *testing.T) {
	folder := t.TempDir()
	db, err := Open(t.Context(), filepath.Join(folder, "test.db"), nil)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 300 {
		wg.Go(func() {
			e := someEvent()
			e.Instructions = strings.Repeat("x", 10000)
			_, _, err := db.Trigger().Create(t.Context(), e, time.Time{})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	for range 8 {
		wg.Go(func() {
			for {
				page, err := db.Trigger().List(t.Context(), "acme", trigger.Query{Limit: trigger.MaxPageSize})
				if err != nil {
					assert.ErrorIs(t, err, ErrClosed)
					return
				}
				assert.Len(t, page.Events, 300)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, db.Close())
	requireFiles(t, folder, "test.db")
	wg.Wait()
	_, err = db.Trigger().Get(t.Context(), "acme", uuid.New())
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, db.Trigger().Update(t.Context(), "acme", uuid.New(), func(*trigger.Event) error { return nil }), ErrClosed)
}

// TestCloseTogether: closing from several goroutines at once, beside reads and writes, neither hangs nor fails.
func TestCloseTogether(t *testing.T) {
	for range 5 {
		db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					_, _, err := db.Trigger().Create(t.Context(), someEvent(), time.Time{})
					if err != nil {
						assert.ErrorIs(t, err, ErrClosed)
						return
					}
					if _, err := db.Trigger().List(t.Context(), "acme", trigger.Query{Limit: 1}); err != nil {
						assert.ErrorIs(t, err, ErrClosed)
						return
					}
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		for range 4 {
			wg.Go(func() { assert.NoError(t, db.Close()) })
		}
		wg.Wait()
	}
}

// TestNothingLeaks: neither goroutines nor open files are left by what failed, nor by Close.
func TestNothingLeaks(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc")
		}
		return len(entries)
	}
	folder := t.TempDir()
	round := func(name string) {
		db, err := Open(t.Context(), filepath.Join(folder, name), nil)
		require.NoError(t, err)
		boom := errors.New("boom")
		for range 10 {
			require.ErrorIs(t, db.writer.write(t.Context(), func(tx *tx) error {
				if _, err := tx.exec("DELETE FROM no_such_table"); err == nil {
					t.Error("no error")
				}
				return boom
			}), boom)
			require.ErrorIs(t, db.list(t.Context(), "SELECT 1 UNION SELECT 2", nil, func(*row) error { return boom }), boom)
			require.Error(t, db.list(t.Context(), "SELECT * FROM no_such_table", nil, nil))
		}
		require.NoError(t, db.Close())
		_, err = Open(t.Context(), folder, nil)
		require.Error(t, err)
	}
	round("first.db")
	goroutines, before := runtime.NumGoroutine(), files()
	for range 5 {
		round("other.db")
	}
	// What was told to end may need a moment. (Eventually would count its own goroutine.)
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines || files() > before; {
		require.False(t, time.Now().After(deadline), "goroutines: %d before, %d now; files: %d before, %d now",
			goroutines, runtime.NumGoroutine(), before, files())
		time.Sleep(10 * time.Millisecond)
	}
}

// TestFailedTransaction: SQLite ends a transaction by itself on some errors, and what comes then would be committed statement by
// statement. Nothing of a group must be stored by that.
func TestFailedTransaction(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tables := db.Trigger()
	before, after := someEvent(), someEvent()
	boom := errors.New("boom")

	entered, leave := make(chan struct{}), make(chan struct{})
	enter := sync.OnceFunc(func() { close(entered) })
	var wg sync.WaitGroup
	wg.Go(func() {
		assert.NoError(t, db.writer.write(t.Context(), func(*tx) error {
			enter() // perhaps twice: others join the transaction, and one of them may break it
			<-leave
			return nil
		}))
	})
	<-entered
	stored := func(e trigger.Event) func() {
		return func() {
			_, created, err := tables.Create(t.Context(), e, time.Time{})
			assert.NoError(t, err)
			assert.True(t, created, "stored by itself, before its transaction")
		}
	}
	for _, do := range []func(){stored(before), func() {
		err := db.writer.write(t.Context(), func(tx *tx) error {
			if _, err := tx.exec("INSERT INTO trigger_organizations (id, setup_complete) VALUES ('half', 1)"); err != nil {
				return err
			}
			// It rolls the transaction back, as SQLITE_FULL does.
			_, err := tx.exec("INSERT OR ROLLBACK INTO trigger_jobs (seq, event, generation, organization, claimable_at, deliveries, dead)" +
				" VALUES (1, x'00', 0, '', 0, 0, 0), (1, x'01', 0, '', 0, 0, 0)")
			return errors.Join(err, boom)
		})
		assert.ErrorIs(t, err, boom)
		assert.ErrorContains(t, err, "UNIQUE")
	}, stored(after)} {
		wg.Go(do)
		time.Sleep(20 * time.Millisecond) // in this order
	}
	close(leave)
	wg.Wait()
	for _, e := range []trigger.Event{before, after} {
		got, err := tables.Get(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got)
	}
	_, err = tables.Organization(t.Context(), "half")
	require.ErrorIs(t, err, trigger.ErrNotFound)
}

// TestBackupPaths: whatever the path, a backup is there as a whole, or an error says that it is not.
func TestBackupPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	db, err := Open(t.Context(), "test.db", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	e := someEvent()
	_, _, err = db.Trigger().Create(t.Context(), e, time.Time{})
	require.NoError(t, err)
	for _, path := range []string{"plain.db", "file:uri.db", "file:///uri.db", "a?mode=memory", ":memory:", "it's.db", "a%20b.db"} {
		if path == "file:///uri.db" {
			require.NoError(t, os.MkdirAll("file:", 0o700))
		}
		require.NoError(t, db.Backup(t.Context(), path), path)
		restored, err := Open(t.Context(), path, nil)
		require.NoError(t, err, path)
		got, err := restored.Trigger().Get(t.Context(), "acme", e.ID)
		require.NoError(t, errors.Join(err, restored.Close()), "the backup %s is empty", path)
		require.Equal(t, e, got)
	}
	partials, err := filepath.Glob("*.partial")
	require.NoError(t, err)
	require.Empty(t, partials)
}

// TestBackupOfNothing: if the file is gone, there is nothing to copy, and Backup says so. It does not make a new one either.
func TestBackupOfNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed")
	}
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "test.db"), filepath.Join(folder, "backup.db")
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	_, _, err = db.Trigger().Create(t.Context(), someEvent(), time.Time{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	assert.Error(t, db.Backup(t.Context(), backup), "an empty backup")
	assert.NoFileExists(t, backup)
	assert.NoFileExists(t, path, "an empty database in place of the lost one")
}
