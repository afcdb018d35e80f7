package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestGather: what waits becomes one group, up to its limit.
func TestGather(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &writer{ops: make(chan *op, 2*maxGroup), ctx: ctx}
	for range maxGroup + 100 {
		w.ops <- new(op)
	}
	require.True(t, w.gather())
	require.Len(t, w.group, maxGroup)
	w.group = nil
	cancel()
	require.True(t, w.gather(), "what waits when the writer is closed is done")
	require.Len(t, w.group, 100)
	w.group = nil
	require.False(t, w.gather())
}

// TestHostAfterLeave: the code of a caller does not run if the caller has left after the
// operation began and before that code.
func TestHostAfterLeave(t *testing.T) {
	db, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	ctx, cancel := context.WithCancel(t.Context())
	begun, left, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		<-begun
		cancel()
	}()
	err = db.writer.write(ctx, func(tx *tx) error {
		close(begun)
		<-left
		err := tx.host(func() error {
			t.Error("it ran")
			return nil
		})
		ended <- err
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	close(left)
	require.ErrorIs(t, <-ended, errGone)
}

// TestFailedTransaction: SQLite ends a transaction by itself on some errors, and what
// comes then would be committed statement by statement. Nothing of a group must be stored
// by that.
func TestFailedTransaction(t *testing.T) {
	db, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tables := db.trigger
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
			_, created, err := tables.CreateEvent(t.Context(), e, time.Time{})
			assert.NoError(t, err)
			assert.True(t, created, "stored by itself, before its transaction")
		}
	}
	for i, do := range []func(){stored(before), func() {
		err := db.writer.write(t.Context(), func(tx *tx) error {
			if _, err := tx.exec("INSERT INTO trigger_organizations (id, setup_complete) VALUES ('half', 1)"); err != nil {
				return err
			}
			// It rolls the transaction back, as SQLITE_FULL does.
			_, err := tx.exec("INSERT OR ROLLBACK INTO mortise_jobs (seq, id, kind, organization, claimable_at, ready, deliveries, dead)" +
				" VALUES (1, 'a', '', '', 0, 0, 0, 0), (1, 'b', '', '', 0, 0, 0, 0)")
			return errors.Join(err, boom)
		})
		assert.ErrorIs(t, err, boom)
		assert.ErrorContains(t, err, "UNIQUE")
	}, stored(after)} {
		wg.Go(do)
		// In this order.
		require.Eventually(t, func() bool { return len(db.writer.ops) == i+1 }, time.Minute, time.Millisecond)
	}
	close(leave)
	wg.Wait()
	for _, e := range []trigger.Event{before, after} {
		got, err := tables.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got)
	}
	_, err = tables.Setup(t.Context(), "half")
	require.ErrorIs(t, err, mortise.ErrNotFound)
}
