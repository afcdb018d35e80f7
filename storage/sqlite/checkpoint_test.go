package sqlite

import (
	"context"
	"database/sql"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
)

// TestLogStaysShort: the log begins anew although there is always somebody who reads.
func TestLogStaysShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const limit, each = 1 << 20, 20_000
	limitLog := func(limit int64) {
		db.checkpointer.close()
		db.checkpointer = startCheckpointer(db.file, limit)
	}
	limitLog(math.MaxInt64) // until the log is long, to which readers alone may not bring it
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		require.NoError(t, err)
		return info.Size()
	}
	create := func() {
		e := someEvent()
		e.Instructions = strings.Repeat("x", each)
		_, _, err := db.Trigger().Store.CreateEvent(t.Context(), e, time.Time{})
		require.NoError(t, err)
	}
	create()
	other, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	reading, err := other.Begin() // the log cannot begin anew while it reads
	require.NoError(t, err)
	require.NoError(t, reading.QueryRow("SELECT count(*) FROM trigger_events").Scan(new(int)))
	for size() < 3*limit {
		create()
	}

	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				_, err := db.Trigger().Store.ListEvents(ctx, "acme", trigger.EventQuery{Limit: 200})
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
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	e := someEvent()
	_, _, err = db.Trigger().Store.CreateEvent(t.Context(), e, time.Time{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(path+"-wal"))
	require.Eventually(t, func() bool {
		_, _, err = db.Trigger().Store.CreateEvent(t.Context(), someEvent(), time.Time{})
		return err != nil
	}, 30*time.Second, 10*time.Millisecond)
	require.ErrorIs(t, err, errLogGone)
	_, _, err = db.Trigger().Store.CreateEvent(t.Context(), someEvent(), time.Time{})
	require.ErrorIs(t, err, errLogGone)
	require.NoError(t, db.Close())

	db, err = Open(t.Context(), path, nil)
	require.NoError(t, err)
	got, err := db.Trigger().Store.Event(t.Context(), "acme", e.ID)
	require.NoError(t, err)
	require.Equal(t, e, got)
	require.NoError(t, db.Close())
}
