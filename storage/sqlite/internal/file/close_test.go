package file

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCloseDuringReads: Close waits for reads and writes, so that the one file is whole
// when it returns.
func TestCloseDuringReads(t *testing.T) {
	folder := t.TempDir()
	db, err := Open(t.Context(), filepath.Join(folder, "test.db"), defaults)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 300 {
		wg.Go(func() {
			assert.NoError(t, storeItem(t.Context(), db, longItem(10000)))
		})
	}
	wg.Wait()
	for range 8 {
		wg.Go(func() {
			for {
				found, err := listItems(t.Context(), db, "acme", 1000)
				if err != nil {
					assert.ErrorIs(t, err, ErrClosed)
					return
				}
				assert.Len(t, found, 300)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, db.Close())
	requireFiles(t, folder, "test.db")
	wg.Wait()
	_, err = findItem(t.Context(), db, uuid.NewString())
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, db.Write(t.Context(), nothing), ErrClosed)
}

// TestCloseTogether: closing from several goroutines at once, beside reads and writes,
// neither hangs nor fails.
func TestCloseTogether(t *testing.T) {
	for range 5 {
		db, err := Open(t.Context(), EmptyFile(t), defaults)
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					if err := storeItem(t.Context(), db, newItem()); err != nil {
						assert.ErrorIs(t, err, ErrClosed)
						return
					}
					if _, err := listItems(t.Context(), db, "acme", 1); err != nil {
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
		db, err := Open(t.Context(), filepath.Join(folder, name), defaults)
		require.NoError(t, err)
		boom := errors.New("boom")
		for range 10 {
			require.ErrorIs(t, db.Write(t.Context(), func(tx *Tx) error {
				if _, err := tx.Exec("DELETE FROM no_such_table"); err == nil {
					t.Error("no error")
				}
				return boom
			}), boom)
			require.ErrorIs(t, db.List(t.Context(), NoOrg, "SELECT 1 UNION SELECT 2", nil, func(*Row) error { return boom }), boom)
			require.Error(t, db.List(t.Context(), NoOrg, "SELECT * FROM no_such_table", nil, nil))
		}
		require.NoError(t, db.Close())
		_, err = Open(t.Context(), folder, defaults)
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
