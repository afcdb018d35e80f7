package file

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

// connectAll connects as often as there are places. Queries then take the connections in
// turn.
func connectAll(t testing.TB, r *reader) {
	t.Helper()
	for len(r.conns) < cap(r.conns) {
		c, err := r.source.connect()
		require.NoError(t, err)
		r.conns <- c
	}
}

// TestConnectsWhenNeeded: a query takes a connection that is free, and does not make another.
func TestConnectsWhenNeeded(t *testing.T) {
	db, err := Open(t.Context(), EmptyFile(t), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const domains = "SELECT domain FROM mortise_scripts"
	nothing := func(*Row) error { return nil }
	for range 2 * cap(db.lister.conns) {
		require.NoError(t, db.List(t.Context(), NoOrg, domains, nil, nothing))
	}
	require.Len(t, db.lister.conns, 1)
	require.NoError(t, db.List(t.Context(), NoOrg, domains, nil, func(*Row) error {
		return db.List(t.Context(), "acme", domains, nil, nothing)
	}))
	require.Len(t, db.lister.conns, 2)
}

// TestListEndsWithContext: also in the middle of a query.
func TestListEndsWithContext(t *testing.T) {
	db, err := Open(t.Context(), EmptyFile(t), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
	connectAll(t, db.lister)
	for range cap(db.lister.conns) + 1 { // a connection is given up by it, not the pool
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		err = db.List(ctx, NoOrg, endless, nil, func(*Row) error { return nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
	}
	found, err := listItems(t.Context(), db, "acme", 10)
	require.NoError(t, err)
	require.Empty(t, found)
}

// TestListEndsAtAnyMoment: also when the driver has looked at the context for the last time
// and SQLite has not begun. There SQLite forgets that it was interrupted.
func TestListEndsAtAnyMoment(t *testing.T) {
	db, err := Open(t.Context(), EmptyFile(t), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n WHERE ?1 IS NOT NULL"
	args := []any{make([]byte, 32<<20)} // the driver copies it before SQLite begins
	for looks := int32(0); ; looks++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		looked := &lookedAt{Context: ctx, cancel: cancel}
		looked.left.Store(looks)
		err := db.List(looked, NoOrg, endless, args, func(*Row) error { return nil })
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			require.Greater(t, looks, int32(1), "nobody looked")
			return
		}
		require.ErrorIs(t, err, context.Canceled)
	}
}

// lookedAt ends when somebody has asked for its end more than left times.
type lookedAt struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int32
}

func (l *lookedAt) Done() <-chan struct{} {
	if l.left.Add(-1) < 0 {
		l.cancel()
	}
	return l.Context.Done()
}

// TestListsHoldUpNobody: however many lists run, what an index answers is answered; and
// however many of one organization do, so are the lists of another.
func TestListsHoldUpNobody(t *testing.T) {
	db, err := Open(t.Context(), EmptyFile(t), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	list := func(org string) error { // of somebody who does not wait
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := listItems(ctx, db, org, 1)
		return err
	}
	endless, end := context.WithCancel(t.Context())
	defer end()
	var running sync.WaitGroup
	start := func(org string) {
		begun := make(chan struct{})
		running.Go(func() {
			assert.ErrorIs(t, db.lister.use(endless, time.Second, org, func(*Conn) error {
				close(begun)
				<-endless.Done()
				return endless.Err()
			}), context.Canceled)
		})
		<-begun
	}
	for range cap(db.lister.conns) - 1 {
		start("acme")
	}
	require.ErrorIs(t, list("acme"), context.DeadlineExceeded, "it has as many as it can")
	_, err = listItems(t.Context(), db, "other", 1)
	require.NoError(t, err)
	_, err = listItems(t.Context(), db, NoOrg, 1)
	require.NoError(t, err)

	start("other")
	require.ErrorIs(t, list("a third one"), context.DeadlineExceeded)
	_, err = findItem(t.Context(), db, "none")
	require.ErrorIs(t, err, mortise.ErrNotFound)
	end()
	running.Wait()
	_, err = listItems(t.Context(), db, "acme", 1)
	require.NoError(t, err)
}

// TestPanicInARead: the connection sees what is stored afterwards. A statement that was
// left open would hold it to what was there then.
func TestPanicInARead(t *testing.T) {
	db, err := Open(t.Context(), EmptyFile(t), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const domains = "SELECT domain FROM mortise_scripts"
	count := func() (n int) {
		require.NoError(t, db.Find(t.Context(), NoOrg, domains, nil, func(*Row) error {
			n++
			return nil
		}))
		return n
	}
	before := count()
	require.Greater(t, before, 1)
	connectAll(t, db.finder)
	for range cap(db.finder.conns) {
		require.PanicsWithValue(t, "no", func() {
			_ = db.Find(t.Context(), NoOrg, domains, nil, func(*Row) error { panic("no") })
		})
	}
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO mortise_scripts VALUES ('chat', '', '', '')")
		return err
	}))
	connectAll(t, db.finder)
	for range 2 * cap(db.finder.conns) {
		require.Equal(t, before+1, count())
	}
}

// TestEnoughOfADamagedRow: a query whose function has had enough ends without an error, unless
// the row in which it ended is damaged.
func TestEnoughOfADamagedRow(t *testing.T) {
	f, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	rows := 0
	enough := func(r *Row) error { rows++; _ = r.Number(0); return ErrEnough }
	require.NoError(t, f.Find(t.Context(), NoOrg, "VALUES (1), (2)", nil, enough))
	require.Equal(t, 1, rows)
	require.ErrorContains(t, f.Find(t.Context(), NoOrg, "VALUES ('text'), (2)", nil, enough), "damaged")
}
