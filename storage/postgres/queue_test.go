package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

// TestQueue is the conformance suite of queues.
func TestQueue(t *testing.T) {
	t.Parallel()
	opened := make(map[any]*database)
	open := func(t *testing.T, d *database) queuetest.Backend {
		db := d.open(t, &postgres.Options{Timeout: breakTimeout})
		jobs := db.Jobs()
		opened[jobs] = d
		return queuetest.Backend{Leases: jobs, Queue: db.Queue(nil), SetNow: db.SetNow}
	}
	queuetest.Run(t, queuetest.Harness{
		Open:   func(t *testing.T) queuetest.Backend { return open(t, newDatabase(t)) },
		Reopen: func(t *testing.T, b queuetest.Backend) queuetest.Backend { return open(t, opened[b.Leases]) },
		Break:  func(t *testing.T, b queuetest.Backend) (heal func()) { return opened[b.Leases].refuse(t) },
	})
}

// breakTimeout is how long the calls of a suite take whose database is locked. On a busy
// machine, others take long, too.
const breakTimeout = 2 * time.Second

// wrapped is a store of the host's, whose own CreateEvent a service must call.
type wrapped struct{ *triggerdb.Store }

// TestSharesNoWrapper: jobs share the transactions of the store itself, and of no type that
// embeds it.
func TestSharesNoWrapper(t *testing.T) {
	t.Parallel()
	db := newDatabase(t).open(t, nil)
	store := db.Trigger().Store
	require.True(t, db.Jobs().(mortise.Sharer).Shares(store))
	require.True(t, db.Jobs().(mortise.Sharer).Shares(db.AudioSearch().Store))
	require.False(t, db.Jobs().(mortise.Sharer).Shares(wrapped{store.(*triggerdb.Store)}))
}
