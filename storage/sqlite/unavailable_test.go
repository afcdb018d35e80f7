package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// holdWrite takes the write lock of the file with a connection of its own, as another
// process would.
func holdWrite(t *testing.T, path string) (release func()) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=10000")
	require.NoError(t, err)
	conn, err := pool.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	release = sync.OnceFunc(func() {
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		assert.NoError(t, errors.Join(err, conn.Close(), pool.Close()))
	})
	t.Cleanup(release)
	return release
}

// requireUnavailable fails if err is nil or says anything about an event.
func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	for _, sentinel := range []error{
		mortise.ErrNotFound, mortise.ErrExists, mortise.ErrLeaseLost, trigger.ErrNotRetryable, trigger.ErrInvalidKey,
		trigger.ErrIdempotencyKeyReused, trigger.ErrEnqueueFailed, trigger.ErrNotConfigured, trigger.ErrNoEligibleCollection,
		trigger.ErrTimeout, trigger.ErrShutdown,
	} {
		require.NotErrorIs(t, err, sentinel)
	}
}

// TestCloseLocked: Close does not wait for what another process holds.
func TestCloseLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := sqlite.Open(t.Context(), path, &sqlite.Options{BusyTimeout: 5 * time.Minute})
	require.NoError(t, err)
	e := create(t, db, newEvent())
	openAt(t, path, nil) // see TestHeal
	defer lockFile(t, path)()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			_, err := db.Trigger().Store.Event(context.Background(), "acme", e.ID)
			requireUnavailable(t, err)
		})
		wg.Go(func() {
			_, _, err := db.Trigger().Store.CreateEvent(context.Background(), newEvent(), time.Time{})
			requireUnavailable(t, err)
		})
	}
	time.Sleep(50 * time.Millisecond) // they wait now
	begun := time.Now()
	require.NoError(t, db.Close())
	require.Less(t, time.Since(begun), time.Minute, "Close waited for the busy timeout of reads")
	wg.Wait()
}

// TestBusyTimeout: while another process holds the lock, reads go on, and each write
// waits no longer than it should, however many wait beside it and whenever it came.
// Afterwards all works.
func TestBusyTimeout(t *testing.T) {
	const busy = time.Second
	path := filepath.Join(t.TempDir(), "test.db")
	db := openAt(t, path, &sqlite.Options{BusyTimeout: busy})
	e := create(t, db, newEvent())
	release := holdWrite(t, path)
	var wg sync.WaitGroup
	waits := make([]time.Duration, 12)
	for i := range waits {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 50 * time.Millisecond)
			begun := time.Now()
			_, _, err := db.Trigger().Store.CreateEvent(t.Context(), newEvent(), time.Time{})
			waits[i] = time.Since(begun)
			requireUnavailable(t, err)
		})
	}
	reading := time.Now()
	for range 100 {
		got, err := db.Trigger().Store.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got)
		_, err = db.Trigger().Store.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: 10})
		require.NoError(t, err)
	}
	t.Logf("200 reads beside the lock: %v", time.Since(reading))
	wg.Wait()
	release()
	create(t, db, newEvent())
	t.Logf("waits with a busy timeout of %v: %v", busy, waits)
	require.Less(t, slices.Max(waits), 6*busy, "writes waited for their turns one after the other, which takes twelve times as long")
}

// TestHeal: after the file could not be read or written, everything works again without a
// restart.
func TestHeal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	db := openAt(t, path, &sqlite.Options{BusyTimeout: 50 * time.Millisecond})
	tables := db.Trigger().Store.(*triggerdb.Store)
	e := create(t, db, newEvent())
	// The process that rebuilds the -shm file has the database open. Without it, ours
	// would close the last connection when it fails, and open the file afresh, with
	// another -shm than the one that lockFile holds.
	openAt(t, path, nil)
	for range 3 {
		heal := lockFile(t, path)
		_, _, err := tables.CreateEvent(t.Context(), newEvent(), time.Time{})
		requireUnavailable(t, err)
		_, err = tables.Event(t.Context(), "acme", e.ID)
		requireUnavailable(t, err)
		_, err = tables.Event(t.Context(), "acme", uuid.New())
		requireUnavailable(t, err)
		_, err = tables.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: 1})
		requireUnavailable(t, err)
		_, err = tables.KeyByDigest(t.Context(), [32]byte{})
		requireUnavailable(t, err)
		requireUnavailable(t, tables.UpdateEvent(t.Context(), "acme", e.ID, func(*trigger.Event) error { panic("called for what cannot be read") }))
		_, err = db.Jobs().Claim(t.Context(), triggerClaim(1))
		requireUnavailable(t, err)
		requireUnavailable(t, db.Jobs().Extend(t.Context(), mortise.Lease{Job: e.Job(), Token: uuid.New()}, time.Hour))
		heal()

		got, err := tables.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got)
		later := newEvent()
		_, created, err := tables.CreateEventAndAdd(t.Context(), later, time.Time{}, later.Job())
		require.NoError(t, err)
		require.True(t, created)
		leases, err := db.Jobs().Claim(t.Context(), triggerClaim(10))
		require.NoError(t, err)
		require.Len(t, leases, 1)
		require.NoError(t, db.Jobs().Remove(t.Context(), leases[0], false))
	}
}
