package audiosearchdb

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// TestTooManyRunsCostNothing: a refused run costs no connection, neither one of the
// readers nor the writer's.
func TestTooManyRunsCostNothing(t *testing.T) {
	f, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	db := f.audiosearch
	create := func(id int64) error {
		return db.CreateRun(t.Context(), audiosearch.Run{Organization: "acme", ID: id, State: audiosearch.StateQueued}, 1)
	}
	readers := func() (all []*file.Conn) { // they take turns
		again := false
		for !again {
			require.NoError(t, f.Read(t.Context(), "acme", func(c *file.Conn) error {
				if again = len(all) > 0 && c == all[0]; !again {
					all = append(all, c)
				}
				return nil
			}))
		}
		return all
	}
	connections := func() []*file.Conn {
		all := readers()
		require.NoError(t, f.Write(t.Context(), func(tx *file.Tx) error {
			all = append(all, tx.Conn())
			return nil
		}))
		return all
	}

	// Two calls that both found room come to the writer.
	busy := make(chan struct{})
	held := make(chan error, 1)
	var writers *file.Conn
	go func() {
		held <- f.Write(context.Background(), func(tx *file.Tx) error {
			if writers != nil {
				return errors.New("the group was rolled back")
			}
			writers = tx.Conn()
			close(busy)
			for f.Probe().Waiting() < 2 {
				runtime.Gosched()
			}
			return nil
		})
	}()
	<-busy
	require.NoError(t, f.Probe().ConnectAll())
	reading := readers()
	require.Greater(t, len(reading), 1)
	for range reading {
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
	for id := range 2 * int64(len(reading)) {
		require.ErrorIs(t, create(id+3), audiosearch.ErrTooManyRuns)
	}
	require.ElementsMatch(t, before, connections())
}
