package trigger_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// What a hostile review found, each as a test that failed then.

// TestMarkedNilIsNoError: Permanent and RetryAfter of nil are no errors.
func TestMarkedNilIsNoError(t *testing.T) {
	for _, err := range []error{trigger.Permanent(nil), trigger.RetryAfter(nil, time.Second)} {
		f := triggertest.New(t, &triggertest.Options{Processor: returning(err)})
		submit(t, f.Service, "a")
		assert.NotPanics(t, func() { f.Drain(t.Context()) })
	}
}

// hangStore is a Store whose updates can hang.
type hangStore struct {
	trigger.Store
	hang atomic.Bool
}

func (h *hangStore) UpdateEvent(ctx context.Context, org string, id uuid.UUID, u func(*trigger.Event) error) error {
	if h.hang.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.Store.UpdateEvent(ctx, org, id, u)
}

// TestRunEndsThoughTheStoreHangs: a store that does not answer cannot hold up the end of
// a worker.
func TestRunEndsThoughTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openMemory(t)
		hs := &hangStore{Store: db.Trigger().Store}
		logger := slog.New(slog.DiscardHandler)
		s, err := trigger.New(trigger.Backend{Store: hs, Queue: db.Queue(&leases.Options{Logger: logger})}, &trigger.Options{Env: mortise.Env{Logger: logger}})
		require.NoError(t, err)
		w, err := trigger.NewWorker(s, func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
			hs.hang.Store(true)
			return trigger.Outcome{}, nil
		}, nil)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		submit(t, s, "a")
		time.Sleep(time.Second)
		cancel()
		select {
		case <-ended:
		case <-time.After(24 * time.Hour):
			panic("Run does not return") // nothing else can end the bubble
		}
	})
}

// TestSuccessSurvivesAFailedWrite: finished work is not lost, nor done twice, because its
// end could not be written at once.
func TestSuccessSurvivesAFailedWrite(t *testing.T) {
	var n atomic.Int64
	var calls int
	faults := &triggertest.Faults{Before: func(op string) error {
		if op == "Store.UpdateEvent" && n.Add(1) == 2 { // 1: begin, 2: end
			return triggertest.ErrInjected
		}
		return nil
	}}
	clock := new(triggertest.Clock)
	db := openMemoryAt(t, clock.Now)
	logger := slog.New(slog.DiscardHandler)
	s, err := trigger.New(trigger.Backend{Store: faults.Store(db.Trigger().Store), Queue: leases.New(faults.Leases(db.Jobs()), nil)}, &trigger.Options{Env: mortise.Env{Now: clock.Now, Logger: logger}})
	require.NoError(t, err)
	w, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		calls++
		return trigger.Outcome{Summary: "ok"}, nil
	}, &trigger.WorkerOptions{MaxAttempts: 1})
	require.NoError(t, err)
	e := submit(t, s, "a")
	for range 3 {
		_, err := w.RunOnce(t.Context())
		require.NoError(t, err)
		clock.Advance(time.Minute)
	}
	got := get(t, s, e.ID)
	assert.Equal(t, 1, calls)
	assert.Equal(t, trigger.StatusCompleted, got.Status, got.LastError)
}

// TestShutdownIsWrittenAtTheSecondTry: an attempt that a shutdown cut off does not count,
// though writing that down fails once.
func TestShutdownIsWrittenAtTheSecondTry(t *testing.T) {
	// the write of a shut-down attempt fails: does the attempt count?
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		r := run(t, trigger.WorkerOptions{Drain: time.Second, MaxAttempts: 1}, func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
			<-ctx.Done()
			return trigger.Outcome{}, ctx.Err()
		})
		hook := func(op string) error {
			if op == "Store.UpdateEvent" && n.Add(1) == 2 {
				return triggertest.ErrInjected
			}
			return nil
		}
		r.hook.Store(&hook)
		e := submit(t, r.service, "a")
		time.Sleep(time.Second)
		r.end(t)
		got := get(t, r.service, e.ID)
		assert.Zero(t, got.Attempts, "%s", got.Status)
	})
}

// TestRunOnceOfAnEndedContext: a loop over RunOnce comes to an end.
func TestRunOnceOfAnEndedContext(t *testing.T) {
	f := triggertest.New(t, nil)
	submit(t, f.Service, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := 0
	for ; n < 1000; n++ {
		more, err := f.Worker.RunOnce(ctx)
		if !more || err != nil {
			break
		}
	}
	assert.Less(t, n, 1000, "RunOnce on a cancelled ctx says (true, nil) for ever")
}

// TestJobsAreDueByTheQueuesClock: the clock of the service may be ahead of that of the
// queue.
func TestJobsAreDueByTheQueuesClock(t *testing.T) {
	clock := new(triggertest.Clock) // queue
	db := openMemoryAt(t, clock.Now)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, &trigger.Options{Env: mortise.Env{Now: func() time.Time { return clock.Now().Add(time.Minute) }}})
	require.NoError(t, err)
	w, _ := trigger.NewWorker(s, returning(nil), nil)
	submit(t, s, "a")
	found, err := w.RunOnce(t.Context())
	require.NoError(t, err)
	assert.True(t, found)
}

// TestHandleOfAnEndedContext: no attempt is begun, and so none counted, if the delivery
// has ended already.
func TestHandleOfAnEndedContext(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: &pickyQueue{Queue: db.Queue(nil)}}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	w, err := trigger.NewWorker(s, returning(nil), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 100 {
		e := submit(t, s, fmt.Sprint(i))
		v := w.Handle(ctx, mortise.Delivery{Job: e.Job(), Deliveries: 1})
		assert.Equal(t, mortise.Verdict{}, v)
		e = get(t, s, e.ID)
		require.Zero(t, e.Attempts)
		require.Equal(t, trigger.StatusReceived, e.Status)
	}
}

// TestGivenUpWithItsJob: an event whose last attempt died is given up, and its job
// buried, in one transaction where they share a database. A crash then leaves no job of
// an event that has ended.
func TestGivenUpWithItsJob(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	w, err := trigger.NewWorker(s, returning(nil), &trigger.WorkerOptions{MaxAttempts: 1})
	require.NoError(t, err)
	e := submit(t, s, "a")
	require.NoError(t, db.Trigger().Store.UpdateEvent(t.Context(), e.Organization, e.ID, func(e *trigger.Event) error {
		e.Attempts = 1
		return nil
	}))
	leases, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 1, TTL: time.Hour})
	require.NoError(t, err)
	require.Len(t, leases, 1)
	v := w.Handle(t.Context(), mortise.Delivery(leases[0]))
	require.Equal(t, trigger.StatusFailed, get(t, s, e.ID).Status)
	assert.Equal(t, mortise.VerdictEnded, v.Kind)
	require.ErrorIs(t, db.Jobs().Extend(t.Context(), leases[0], time.Hour), mortise.ErrLeaseLost, "the verdict was not carried out, and the job is held still")
}
