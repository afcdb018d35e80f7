package sqlite_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
)

// TestQueue is the conformance suite of queues.
func TestQueue(t *testing.T) {
	t.Parallel()
	files := make(map[any]*opened)
	open := func(t *testing.T, path string) queuetest.Backend {
		var now atomic.Pointer[func() time.Time]
		setNow := func(f func() time.Time) {
			if f == nil {
				f = time.Now
			}
			now.Store(&f)
		}
		setNow(nil)
		db := openAt(t, path, &sqlite.Options{
			BusyTimeout: 50 * time.Millisecond, Now: func() time.Time { return (*now.Load())() },
		})
		jobs := db.Jobs()
		files[jobs] = &opened{db, path}
		return queuetest.Backend{Leases: jobs, Queue: db.Queue(nil), SetNow: setNow}
	}
	queuetest.Run(t, queuetest.Harness{
		Open: func(t *testing.T) queuetest.Backend { return open(t, filetest.EmptyFile(t)) },
		Reopen: func(t *testing.T, b queuetest.Backend) queuetest.Backend {
			require.NoError(t, files[b.Leases].db.Close())
			return open(t, files[b.Leases].path)
		},
		Break: func(t *testing.T, b queuetest.Backend) (heal func()) {
			return lockFile(t, files[b.Leases].path)
		},
	})
}

// wrapped is a store of the host's, whose own CreateEvent a service must call.
type wrapped struct{ *triggerdb.Store }

// TestSharesNoWrapper: jobs share the transactions of the store itself, and of no type that
// embeds it.
func TestSharesNoWrapper(t *testing.T) {
	t.Parallel()
	db := openAt(t, filetest.EmptyFile(t), nil)
	store := db.Trigger().Store
	require.True(t, db.Jobs().(mortise.Sharer).Shares(store))
	require.True(t, db.Jobs().(mortise.Sharer).Shares(db.AudioSearch().Store))
	require.False(t, db.Jobs().(mortise.Sharer).Shares(wrapped{store.(*triggerdb.Store)}))
}
