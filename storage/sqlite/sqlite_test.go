package sqlite_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// newEvent is an event of the organization acme that was submitted at a fixed time.
func newEvent() trigger.Event {
	return trigger.Event{
		ID: uuid.New(), Organization: "acme", Status: trigger.StatusReceived, Source: "api",
		Instructions: "Document the --json flag.", Context: []byte(`{"n": 1.10}`),
		SubmittedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	}
}

func create(t testing.TB, db *sqlite.DB, e trigger.Event) trigger.Event {
	t.Helper()
	stored, created, err := db.Trigger().Store.CreateEvent(t.Context(), e, time.Time{})
	require.NoError(t, err)
	require.True(t, created)
	return stored
}

func TestOpenRefuses(t *testing.T) {
	_, err := sqlite.Open(t.Context(), "", nil)
	require.Error(t, err)

	_, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "no", "such", "folder.db"), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)

	folder := t.TempDir()
	_, err = sqlite.Open(t.Context(), folder, nil)
	require.Error(t, err)

	garbage := filepath.Join(t.TempDir(), "garbage.db")
	require.NoError(t, os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 1000)), 0o600))
	before, err := os.ReadFile(garbage)
	require.NoError(t, err)
	_, err = sqlite.Open(t.Context(), garbage, nil)
	require.ErrorContains(t, err, "not a database")
	after, err := os.ReadFile(garbage)
	require.NoError(t, err)
	require.Equal(t, before, after, "a file that is not ours was changed")
}

// TestOpenFindsDamage: a page of events that is overwritten is found at once after a crash.
// After a file was closed in peace it is found when it is read, see
// TestDamageInAClosedFile.
func TestOpenFindsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	empty, err := os.Stat(path)
	require.NoError(t, err)
	db, err = sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	for range 500 {
		create(t, db, newEvent())
	}
	require.NoError(t, db.Close())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	info, err := f.Stat()
	require.NoError(t, err)
	// Behind the pages that every file has, such as those of the schema: without them a file
	// cannot be opened at all.
	require.Greater(t, info.Size(), empty.Size()+20*4096)
	damaged := (empty.Size() + info.Size()) / 2
	_, err = f.WriteAt([]byte(strings.Repeat("\xff", 4096)), damaged/4096*4096)
	require.NoError(t, err)
	require.NoError(t, f.Close())

	db, err = sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.NoError(t, os.WriteFile(path+"-wal", nil, 0o600)) // as a crash leaves it
	_, err = sqlite.Open(t.Context(), path, nil)
	require.ErrorContains(t, err, "damaged")
	db, err = sqlite.Open(t.Context(), path, &sqlite.Options{SkipCheck: true})
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// TestOpenPaths: whatever may stand in a file's name, the file is that one.
func TestOpenPaths(t *testing.T) {
	for _, name := range []string{"a b.db", "50%.db", "what?.db", "#1.db", "mode=ro&x.db", "ü.db", "file:x.db", ":memory:"} {
		if runtime.GOOS == "windows" && strings.ContainsAny(name, "?:") {
			continue
		}
		path := filepath.Join(t.TempDir(), name)
		create(t, openAt(t, path, nil), newEvent())
		info, err := os.Stat(path)
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
		}
	}
	t.Chdir(t.TempDir())
	create(t, openAt(t, "relative.db", nil), newEvent())
	require.FileExists(t, "relative.db")
}

func TestClose(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	require.NoError(t, err)
	e := create(t, db, newEvent())

	// Writes that are under way are finished or refused; none hangs.
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for {
				if _, _, err := db.Trigger().Store.CreateEvent(context.Background(), newEvent(), time.Time{}); err != nil {
					if !errors.Is(err, sqlite.ErrClosed) {
						t.Errorf("a write during Close: %v", err)
					}
					return
				}
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, db.Close())
	wg.Wait()

	_, _, err = db.Trigger().Store.CreateEvent(t.Context(), newEvent(), time.Time{})
	require.ErrorIs(t, err, sqlite.ErrClosed)
	_, err = db.Trigger().Store.Event(t.Context(), "acme", e.ID)
	require.Error(t, err)
	require.NotErrorIs(t, err, mortise.ErrNotFound)
	require.ErrorIs(t, db.Backup(t.Context(), filepath.Join(t.TempDir(), "backup.db")), sqlite.ErrClosed)
	require.NoError(t, db.Close(), "closing twice")
}

func TestBackup(t *testing.T) {
	folder := t.TempDir()
	db := openAt(t, filepath.Join(folder, "test.db"), nil)
	e := create(t, db, newEvent())
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // writes go on
		for {
			select {
			case <-stop:
				return
			default:
				create(t, db, newEvent())
			}
		}
	})
	path := filepath.Join(folder, "it's a backup.db")
	require.NoError(t, db.Backup(t.Context(), path))
	close(stop)
	wg.Wait()
	later := create(t, db, newEvent())

	names, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, name := range names {
		require.NotContains(t, name.Name(), ".partial")
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}
	restored := openAt(t, path, nil)
	got, err := restored.Trigger().Store.Event(t.Context(), "acme", e.ID)
	require.NoError(t, err)
	require.Equal(t, e, got)
	_, err = restored.Trigger().Store.Event(t.Context(), "acme", later.ID)
	require.ErrorIs(t, err, mortise.ErrNotFound)

	require.ErrorIs(t, db.Backup(t.Context(), path), fs.ErrExist)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, db.Backup(ended, filepath.Join(folder, "other.db")), context.Canceled)
	require.NoFileExists(t, filepath.Join(folder, "other.db.partial"))
}

// TestRemovedFile: SQLite would go on writing to a file that nobody can find any more.
func TestRemovedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	db := openAt(t, path, nil)
	before := create(t, db, newEvent())

	require.NoError(t, os.Rename(path, path+".away"))
	_, _, err := db.Trigger().Store.CreateEvent(t.Context(), newEvent(), time.Time{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoFileExists(t, path)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, _, err = db.Trigger().Store.CreateEvent(t.Context(), newEvent(), time.Time{})
	require.ErrorContains(t, err, "replaced")

	require.Eventually(t, func() bool { // reads notice within a second
		_, err := db.Trigger().Store.Event(t.Context(), "acme", before.ID)
		return err != nil
	}, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, os.Rename(path+".away", path))
	after := create(t, db, newEvent())
	for _, e := range []trigger.Event{before, after} {
		_, err := db.Trigger().Store.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
	}
}

// TestMovedFolder: everything goes on when the whole folder is back.
func TestMovedFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a folder with open files cannot be moved")
	}
	folder := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(folder, 0o700))
	db := openAt(t, filepath.Join(folder, "test.db"), nil)
	before := create(t, db, newEvent())
	require.NoError(t, os.Rename(folder, folder+".away"))
	time.Sleep(2500 * time.Millisecond) // the checkpointer looks once a second, and must not take this for a log that was removed
	_, _, err := db.Trigger().Store.CreateEvent(t.Context(), newEvent(), time.Time{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.Rename(folder+".away", folder))
	after := create(t, db, newEvent())
	for _, e := range []trigger.Event{before, after} {
		require.Eventually(t, func() bool {
			got, err := db.Trigger().Store.Event(t.Context(), "acme", e.ID)
			return err == nil && got.ID == e.ID
		}, 30*time.Second, 10*time.Millisecond)
	}
}
