package file

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	db, err := Open(t.Context(), EmptyFile(t), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	ctx, cancel := context.WithCancel(t.Context())
	begun, left, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		<-begun
		cancel()
	}()
	err = db.Write(ctx, func(tx *Tx) error {
		close(begun)
		<-left
		err := tx.Host(func() error {
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
	db, err := Open(t.Context(), EmptyFile(t), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	before, after := newItem(), newItem()
	boom := errors.New("boom")

	entered, leave := make(chan struct{}), make(chan struct{})
	enter := sync.OnceFunc(func() { close(entered) })
	var wg sync.WaitGroup
	wg.Go(func() {
		assert.NoError(t, db.Write(t.Context(), func(*Tx) error {
			enter() // perhaps twice: others join the transaction, and one of them may break it
			<-leave
			return nil
		}))
	})
	<-entered
	stored := func(i item) func() {
		return func() {
			assert.NoError(t, storeItem(t.Context(), db, i), "stored by itself, before its transaction")
		}
	}
	for i, do := range []func(){stored(before), func() {
		err := db.Write(t.Context(), func(tx *Tx) error {
			if _, err := tx.Exec("INSERT INTO trigger_organizations (id, setup_complete) VALUES ('half', 1)"); err != nil {
				return err
			}
			// It rolls the transaction back, as SQLITE_FULL does.
			_, err := tx.Exec("INSERT OR ROLLBACK INTO mortise_jobs (seq, id, kind, organization, claimable_at, ready, deliveries, dead)" +
				" VALUES (1000, 'a', '', '', 0, 0, 0, 0), (1000, 'b', '', '', 0, 0, 0, 0)")
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
	for _, i := range []item{before, after} {
		got, err := findItem(t.Context(), db, i.id)
		require.NoError(t, err)
		require.Equal(t, i, got)
	}
	require.Empty(t, numbers(t, db, "SELECT 1 FROM trigger_organizations WHERE id = 'half'"))
}
