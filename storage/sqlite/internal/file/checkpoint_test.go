package file

import (
	"context"
	"database/sql"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLogStaysShort: the log begins anew although there is always somebody who reads.
func TestLogStaysShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const limit, each = 1 << 20, 20_000
	limitLog := func(limit int64) {
		db.checkpointer.close()
		db.checkpointer = startCheckpointer(db, limit)
	}
	limitLog(math.MaxInt64) // until the log is long, to which readers alone may not bring it
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		require.NoError(t, err)
		return info.Size()
	}
	create := func() { require.NoError(t, storeItem(t.Context(), db, longItem(each))) }
	create()
	other, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	reading, err := other.Begin() // the log cannot begin anew while it reads
	require.NoError(t, err)
	require.NoError(t, reading.QueryRow("SELECT count(*) FROM mortise_jobs").Scan(new(int)))
	for size() < 3*limit {
		create()
	}

	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				_, err := listItems(ctx, db, "acme", 200)
				assert.True(t, err == nil || ctx.Err() != nil, "%v", err)
			}
		})
	}
	defer readers.Wait()
	defer stop()
	limitLog(limit)
	require.NoError(t, reading.Rollback())
	require.Eventually(t, func() bool { return size() < limit }, 30*time.Second, 50*time.Millisecond)
}

// TestLogRemoved: what cannot be found again is not acknowledged, and a clean end saves
// what was.
func TestLogRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	stored := newItem()
	require.NoError(t, storeItem(t.Context(), db, stored))
	require.NoError(t, os.Remove(path+"-wal"))
	require.Eventually(t, func() bool {
		err = storeItem(t.Context(), db, newItem())
		return err != nil
	}, 30*time.Second, 10*time.Millisecond)
	require.ErrorIs(t, err, errLogGone)
	err = storeItem(t.Context(), db, newItem())
	require.ErrorIs(t, err, errLogGone)
	require.NoError(t, db.Close())

	db, err = Open(t.Context(), path, defaults)
	require.NoError(t, err)
	got, err := findItem(t.Context(), db, stored.id)
	require.NoError(t, err)
	require.Equal(t, stored, got)
	require.NoError(t, db.Close())
}
