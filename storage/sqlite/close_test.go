package sqlite

import (
	"errors"
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

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestCloseDuringReads: Close waits for reads and writes, so that the one file is whole
// when it returns.
func TestCloseDuringReads(t *testing.T) {
	folder := t.TempDir()
	db, err := Open(t.Context(), filepath.Join(folder, "test.db"), nil)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 300 {
		wg.Go(func() {
			e := someEvent()
			e.Instructions = strings.Repeat("x", 10000)
			_, _, err := db.Trigger().Store.CreateEvent(t.Context(), e, time.Time{})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	for range 8 {
		wg.Go(func() {
			for {
				page, err := db.Trigger().Store.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: mortise.MaxPageSize})
				if err != nil {
					assert.ErrorIs(t, err, ErrClosed)
					return
				}
				assert.Len(t, page.Items, 300)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, db.Close())
	requireFiles(t, folder, "test.db")
	wg.Wait()
	_, err = db.Trigger().Store.Event(t.Context(), "acme", uuid.New())
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, db.Trigger().Store.UpdateEvent(t.Context(), "acme", uuid.New(), func(*trigger.Event) error { return nil }), ErrClosed)
}

// TestCloseTogether: closing from several goroutines at once, beside reads and writes,
// neither hangs nor fails.
func TestCloseTogether(t *testing.T) {
	for range 5 {
		db, err := Open(t.Context(), EmptyFile(t), nil)
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					_, _, err := db.Trigger().Store.CreateEvent(t.Context(), someEvent(), time.Time{})
					if err != nil {
						assert.ErrorIs(t, err, ErrClosed)
						return
					}
					if _, err := db.Trigger().Store.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: 1}); err != nil {
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

// TestNothingLeaks: neither goroutines nor open files are left by what failed, nor by
// Close.
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
			require.ErrorIs(t, db.list(t.Context(), noOrg, "SELECT 1 UNION SELECT 2", nil, func(*row) error { return boom }), boom)
			require.Error(t, db.list(t.Context(), noOrg, "SELECT * FROM no_such_table", nil, nil))
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
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines || files() > before; {
		require.False(t, time.Now().After(deadline), "goroutines: %d before, %d now; files: %d before, %d now",
			goroutines, runtime.NumGoroutine(), before, files())
		time.Sleep(10 * time.Millisecond)
	}
}
