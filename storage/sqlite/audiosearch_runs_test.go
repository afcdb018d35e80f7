package sqlite

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestTooManyRunsCostNothing: a refused run costs no connection, neither one of the
// readers nor the writer's.
func TestTooManyRunsCostNothing(t *testing.T) {
	file, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	db := file.audiosearch
	create := func(id int64) error {
		return db.CreateRun(t.Context(), audiosearch.Run{Organization: "acme", ID: id, State: audiosearch.StateQueued}, 1)
	}
	connections := func() (all []*conn) {
		for range cap(file.finder.conns) {
			c := <-file.finder.conns
			all = append(all, c)
			file.finder.conns <- c
		}
		require.NoError(t, file.writer.write(t.Context(), func(tx *tx) error {
			all = append(all, tx.conn)
			return nil
		}))
		return all
	}

	// Two calls that both found room come to the writer.
	busy := make(chan struct{})
	held := make(chan error, 1)
	var writers *conn
	go func() {
		held <- file.writer.write(context.Background(), func(tx *tx) error {
			if writers != nil {
				return errors.New("the group was rolled back")
			}
			writers = tx.conn
			close(busy)
			for len(file.writer.ops) < 2 {
				runtime.Gosched()
			}
			return nil
		})
	}()
	<-busy
	connectAll(t, file.finder)
	for range cap(file.finder.conns) {
		_, err := db.Run(t.Context(), "acme", 1)
		require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
	}
	created := make(chan error, 2)
	for id := range int64(2) {
		go func() { created <- create(id + 1) }()
	}
	first, second := <-created, <-created
	require.NoError(t, <-held)
	require.ErrorIs(t, errors.Join(first, second), audiosearch.ErrTooManyRuns)
	require.True(t, first == nil || second == nil)

	before := connections()
	require.Same(t, writers, before[len(before)-1])
	for id := range int64(2 * cap(file.finder.conns)) {
		require.ErrorIs(t, create(id+3), audiosearch.ErrTooManyRuns)
	}
	require.ElementsMatch(t, before, connections())
}
