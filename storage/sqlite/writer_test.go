package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// holdGroup keeps the writer busy with an operation of its own until release is called,
// so that what is begun meanwhile becomes one group.
func holdGroup(t *testing.T, db *sqlite.DB) (release func()) {
	t.Helper()
	e := create(t, db, newEvent())
	entered, leave := make(chan struct{}), make(chan struct{})
	enter := sync.OnceFunc(func() { close(entered) })
	var held sync.WaitGroup
	held.Go(func() {
		assert.NoError(t, db.Trigger().Store.UpdateEvent(context.Background(), "acme", e.ID, func(*trigger.Event) error {
			enter() // perhaps twice: others join the transaction, and one of them may break it
			<-leave
			return nil
		}))
	})
	<-entered
	return func() {
		close(leave)
		held.Wait()
	}
}

// catch calls f and returns what it panicked with.
func catch(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// TestGroupIsolation: of many operations that share a transaction, those that fail do so
// for their callers only.
func TestGroupIsolation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	tables := db.Trigger().Store.(*triggerdb.Store)
	keyed := newEvent()
	keyed.IdempotencyKey = "taken"
	create(t, db, keyed)
	// Those whose updates fail, in several ways, and what is left of them.
	var failing [5]trigger.Event
	for i := range failing {
		failing[i] = create(t, db, newEvent())
	}
	var updated, created [40]trigger.Event
	for i := range updated {
		updated[i] = create(t, db, newEvent())
	}
	boom, refused := errors.New("boom"), errors.New("refused")
	change := func(e *trigger.Event) {
		e.Status, e.Attempts, e.LastError = trigger.StatusFailed, 7, "changed"
		e.Context = []byte(`{"changed": true}`)
	}

	release := holdGroup(t, db)
	var wg sync.WaitGroup
	for i := range created {
		created[i] = newEvent()
		created[i].IdempotencyKey = fmt.Sprint("key ", i)
		wg.Go(func() {
			e := created[i]
			_, ok, err := tables.CreateEventAndAdd(t.Context(), e, time.Time{}, e.Job())
			assert.NoError(t, err)
			assert.True(t, ok)
		})
		wg.Go(func() {
			assert.NoError(t, tables.UpdateEvent(t.Context(), "acme", updated[i].ID, func(e *trigger.Event) error {
				change(e)
				return nil
			}))
		})
	}
	var calls [5]atomic.Int32
	failingUpdate := func(i int, update func(e *trigger.Event) error) error {
		return tables.UpdateEvent(t.Context(), "acme", failing[i].ID, func(e *trigger.Event) error {
			calls[i].Add(1)
			change(e)
			return update(e)
		})
	}
	wg.Go(func() {
		value := catch(func() { _ = failingUpdate(0, func(*trigger.Event) error { panic(boom) }) })
		assert.Same(t, boom, value)
	})
	wg.Go(func() {
		err := failingUpdate(1, func(*trigger.Event) error {
			runtime.Goexit()
			return nil
		})
		requireUnavailable(t, err)
	})
	wg.Go(func() {
		err := failingUpdate(2, func(*trigger.Event) error { return fmt.Errorf("wrapped: %w", refused) })
		assert.ErrorIs(t, err, refused)
	})
	wg.Go(func() {
		// This one has written when it fails: its content is stored before its progress,
		// and one of both breaks the constraint.
		err := failingUpdate(3, func(e *trigger.Event) error {
			e.IdempotencyKey = "taken"
			return nil
		})
		requireUnavailable(t, err)
	})
	wg.Go(func() {
		err := failingUpdate(4, func(e *trigger.Event) error {
			e.Status = "no such status"
			return nil
		})
		requireUnavailable(t, err)
	})
	for range 10 { // what is not there fails nobody else either
		wg.Go(func() {
			err := tables.UpdateEvent(t.Context(), "acme", uuid.New(), func(*trigger.Event) error { panic("called for nothing") })
			assert.ErrorIs(t, err, mortise.ErrNotFound)
			assert.ErrorIs(t, db.Jobs().Extend(t.Context(), mortise.Lease{Job: newJob(), Token: uuid.New()}, time.Hour), mortise.ErrLeaseLost)
		})
	}
	time.Sleep(50 * time.Millisecond) // they wait now
	release()
	wg.Wait()
	assert.Equal(t, int32(1), calls[0].Load(), "an update function ran again after its panic")
	assert.Equal(t, int32(1), calls[1].Load(), "an update function ran again after it ended its goroutine")
	create(t, db, newEvent()) // the writer goes on

	check := func(tables *triggerdb.Store) {
		t.Helper()
		for i, e := range failing {
			got, err := tables.Event(t.Context(), "acme", e.ID)
			require.NoError(t, err)
			require.Equal(t, e, got, "failing update %d changed its event", i)
		}
		for i := range created {
			got, err := tables.Event(t.Context(), "acme", created[i].ID)
			require.NoError(t, err)
			require.Equal(t, created[i], got)
			want := updated[i]
			change(&want)
			got, err = tables.Event(t.Context(), "acme", want.ID)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	check(tables)
	require.NoError(t, db.Close())
	db = openAt(t, path, nil)
	check(db.Trigger().Store.(*triggerdb.Store))
	leases, err := db.Jobs().Claim(t.Context(), triggerClaim(1000))
	require.NoError(t, err)
	require.Len(t, leases, len(created))
}

func newJob() mortise.Job {
	return mortise.Job{Kind: trigger.JobKind, Organization: "acme", ID: uuid.NewString() + "-0"}
}

// triggerClaim claims jobs of events for an hour.
func triggerClaim(limit int) mortise.Claim {
	return mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: limit, TTL: time.Hour}
}

// TestPanicAlone: a panic, an exit and a broken constraint as the only operations of
// their groups, and one after another.
func TestPanicAlone(t *testing.T) {
	db := openAt(t, filetest.EmptyFile(t), nil)
	keyed := newEvent()
	keyed.IdempotencyKey = "taken"
	create(t, db, keyed)
	e := create(t, db, newEvent())
	organizations := db.Trigger().Store.(*triggerdb.Store)
	for range 20 {
		require.Equal(t, "boom", catch(func() {
			_ = db.Trigger().Store.UpdateEvent(t.Context(), "acme", e.ID, func(*trigger.Event) error { panic("boom") })
		}))
		require.Equal(t, "boom", catch(func() {
			_ = organizations.UpdateOrganization(t.Context(), "acme", func(*trigger.Organization) error { panic("boom") })
		}))
		requireUnavailable(t, db.Trigger().Store.UpdateEvent(t.Context(), "acme", e.ID, func(*trigger.Event) error {
			runtime.Goexit()
			return nil
		}))
		requireUnavailable(t, db.Trigger().Store.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error {
			e.IdempotencyKey = "taken"
			return nil
		}))
		got, err := db.Trigger().Store.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got)
		create(t, db, newEvent())
	}
	_, err := organizations.Setup(t.Context(), "acme")
	require.ErrorIs(t, err, mortise.ErrNotFound)
}

// eventOf returns the event of a job.
func eventOf(l mortise.Lease) uuid.UUID { return uuid.MustParse(l.Job.ID[:36]) }
