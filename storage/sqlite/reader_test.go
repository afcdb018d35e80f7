package sqlite_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestListsHoldUpNoKey: while as many lists run as there can be, of an organization or of all,
// others wait, and a key is found.
func TestListsHoldUpNoKey(t *testing.T) {
	db := openAt(t, filetest.EmptyFile(t), nil)
	events := db.Trigger().Store.(*triggerdb.Store)
	list := func(org string) error { // of somebody who does not wait
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := events.ListEvents(ctx, org, trigger.EventQuery{Limit: 1})
		return err
	}
	endless, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	start := func(org string) {
		begun := make(chan struct{})
		running.Go(func() {
			assert.ErrorIs(t, db.File().ReadLong(endless, org, func(*file.Conn) error {
				close(begun)
				<-endless.Done()
				return endless.Err()
			}), context.Canceled)
		})
		<-begun
	}
	for range max(4, runtime.NumCPU()) / 2 {
		start("acme")
	}
	require.ErrorIs(t, list("acme"), context.DeadlineExceeded, "it has as many as it can")
	_, err := events.ListEvents(t.Context(), "other", trigger.EventQuery{Limit: 1})
	require.NoError(t, err)
	_, err = events.Overdue(t.Context(), time.Now(), 1)
	require.NoError(t, err)

	start("other")
	require.ErrorIs(t, list("a third one"), context.DeadlineExceeded)
	_, err = events.KeyByDigest(t.Context(), [32]byte{})
	require.ErrorIs(t, err, mortise.ErrNotFound)
	end()
	running.Wait()
	_, err = events.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: 1})
	require.NoError(t, err)
}
