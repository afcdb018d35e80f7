package sqlite

import (
	"context"
	"path/filepath"
	"testing"

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

// TestHostAfterLeave: code of a caller's who has left between the begin of his operation and his code does not run.
func TestHostAfterLeave(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
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
