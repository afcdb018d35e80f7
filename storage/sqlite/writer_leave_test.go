package sqlite_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestWriteLeave: a caller whose context ends while their operation waits is answered at
// once, and nothing of theirs is touched any more. The race detector sees to the latter:
// the caller changes all of it.
func TestWriteLeave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db := openAt(t, path, &sqlite.Options{BusyTimeout: 5 * time.Minute})
	tables := db.Trigger().Store.(*triggerdb.Store)
	kept := create(t, db, newEvent())
	release := holdWrite(t, path)

	var wg sync.WaitGroup
	var worst atomic.Int64
	leave := func(call func(ctx context.Context) error) {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var ended time.Time
			timer := time.AfterFunc(50*time.Millisecond, func() {
				ended = time.Now()
				cancel()
			})
			defer timer.Stop()
			err := call(ctx)
			assert.ErrorIs(t, err, context.Canceled)
			for waited := int64(time.Since(ended)); ; {
				if seen := worst.Load(); waited <= seen || worst.CompareAndSwap(seen, waited) {
					break
				}
			}
		})
	}
	events := make([]trigger.Event, 20)
	for i := range events {
		captured := make(map[string]int) // by the update functions
		leave(func(ctx context.Context) error {
			err := tables.UpdateEvent(ctx, "acme", kept.ID, func(e *trigger.Event) error {
				captured["calls"]++
				e.LastError = "changed"
				return nil
			})
			assert.Empty(t, captured)
			captured["calls"] = -1
			return err
		})
		leave(func(ctx context.Context) error {
			calls := 0
			err := tables.UpdateOrganization(ctx, "acme", func(o *trigger.Organization) error {
				calls++
				o.SetupComplete = true
				return nil
			})
			assert.Zero(t, calls)
			calls = -1
			return err
		})
		leave(func(ctx context.Context) error {
			e := newEvent()
			e.Trace = map[string]string{"traceparent": "00-1"}
			e.Outcome = &trigger.Outcome{Summary: "s", Data: []byte(`"data"`)}
			events[i] = e.Clone()
			var err error
			if i%2 == 0 {
				_, _, err = tables.CreateEvent(ctx, e, time.Time{})
			} else {
				_, _, err = tables.CreateEventAndAdd(ctx, e, time.Time{}, e.Job())
			}
			for j := range e.Context {
				e.Context[j] = 'x'
			}
			e.Outcome.Summary, e.Outcome.Data[0] = "x", 'x'
			e.Trace["traceparent"] = "x"
			delete(e.Trace, "traceparent")
			return err
		})
		leave(func(ctx context.Context) error {
			_, err := db.Jobs().Claim(ctx, triggerClaim(10))
			return err
		})
		leave(func(ctx context.Context) error {
			_, _, err := tables.Prune(ctx, trigger.StatusCompleted, time.Now(), time.Now(), 10)
			return err
		})
	}
	wg.Wait()
	t.Logf("worst time from the end of the context to the answer: %v", time.Duration(worst.Load()))
	require.Less(t, time.Duration(worst.Load()), time.Minute, "they waited for the lock")
	release()
	create(t, db, newEvent()) // all that stood before it has run
	got, err := tables.Event(t.Context(), "acme", kept.ID)
	require.NoError(t, err)
	require.Equal(t, kept, got, "an update function ran after its caller had left")
	_, err = tables.Setup(t.Context(), "acme")
	require.ErrorIs(t, err, mortise.ErrNotFound)
	for _, want := range events {
		got, err := tables.Event(t.Context(), "acme", want.ID)
		if errors.Is(err, mortise.ErrNotFound) {
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, got, "stored with changes that were made after the call")
	}
}

// TestWriteLeaveRunning: a caller whose update function runs when the context ends is
// answered when the function has ended.
func TestWriteLeaveRunning(t *testing.T) {
	db := openAt(t, filetest.EmptyFile(t), nil)
	e := create(t, db, newEvent())
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		running := 0
		err := db.Trigger().Store.UpdateEvent(ctx, "acme", e.ID, func(*trigger.Event) error {
			cancel()
			time.Sleep(5 * time.Millisecond)
			running++
			return nil
		})
		running++
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		require.Equal(t, 2, running)
	}
}

// TestWriteCancelHalf: contexts end at any moment; what was cancelled is there as a whole
// or not at all.
func TestWriteCancelHalf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	var mu sync.Mutex
	acknowledged := make(map[uuid.UUID]trigger.Event)
	var wg sync.WaitGroup
	cancelled := 0
	for range 16 {
		wg.Go(func() {
			for range 40 {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(4*time.Millisecond))
				e := newEvent()
				e.Trace = map[string]string{"a": "b"}
				sent := e.Clone()
				_, created, err := db.Trigger().Store.(*triggerdb.Store).CreateEventAndAdd(ctx, e, time.Time{}, e.Job())
				clear(e.Context)
				clear(e.Trace)
				cancel()
				mu.Lock()
				if err == nil {
					assert.True(t, created)
					acknowledged[e.ID] = sent
				} else {
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					cancelled++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.NoError(t, db.Close())
	db = openAt(t, path, nil)
	leases, err := db.Jobs().Claim(t.Context(), triggerClaim(10000))
	require.NoError(t, err)
	jobs := make(map[uuid.UUID]bool)
	for _, l := range leases {
		jobs[eventOf(l)] = true
	}
	page, err := db.Trigger().Store.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: mortise.MaxPageSize})
	require.NoError(t, err)
	require.Len(t, page.Items, len(jobs), "events without a job, or jobs without an event")
	for _, e := range page.Items {
		require.True(t, jobs[e.ID], "an event without its job")
		require.JSONEq(t, `{"n": 1.10}`, string(e.Context))
		if want, ok := acknowledged[e.ID]; ok {
			require.Equal(t, want, e)
			delete(acknowledged, e.ID)
		}
	}
	require.Empty(t, acknowledged, "acknowledged and lost")
	t.Logf("%d stored, %d cancelled", len(page.Items), cancelled)
}

// TestNotifyCancelled: a job wakes the consumers also if the one who added it has left
// before it was stored.
func TestNotifyCancelled(t *testing.T) {
	db := openAt(t, filetest.EmptyFile(t), nil)
	woken := make(chan struct{}, 1)
	defer db.Jobs().(leases.JobNotifier).NotifyJobs(func(string) {
		select {
		case woken <- struct{}{}:
		default:
		}
	})()
	stored := 0
	for i := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%40)*100*time.Microsecond)
		err := db.Jobs().Add(ctx, newJob())
		cancel()
		create(t, db, newEvent()) // all that stood before it has run
		leases, claimErr := db.Jobs().Claim(t.Context(), triggerClaim(10))
		require.NoError(t, claimErr)
		require.LessOrEqual(t, len(leases), 1)
		for _, l := range leases {
			require.NoError(t, db.Jobs().Remove(t.Context(), l, false))
			select {
			case <-woken:
			case <-time.After(time.Second):
				require.Fail(t, "a job was added and nobody was told", "error of Add: %v", err)
			}
			if err != nil {
				stored++
			}
		}
	}
	t.Logf("%d jobs were stored although their callers had left", stored)
}
