package trigger_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// lossyQueue is a queue that knows no database but its own, and loses jobs.
type lossyQueue struct {
	mortise.StepQueue
	loses func(n int) bool // whether the nth call of Enqueue, from 1 on, adds nothing
	since time.Time        // of the loss that it reports
	err   error

	mu sync.Mutex
	n  int
}

func (q *lossyQueue) Enqueue(ctx context.Context, j mortise.Job) error {
	q.mu.Lock()
	q.n++
	loses := q.loses != nil && q.loses(q.n)
	q.mu.Unlock()
	if loses {
		return nil
	}
	return q.StepQueue.Enqueue(ctx, j)
}

func (q *lossyQueue) LostJobs(context.Context) (time.Time, error) { return q.since, q.err }

// lossyRig is a service whose jobs stand elsewhere than its events.
type lossyRig struct {
	t       *testing.T
	db      *memory.DB
	queue   *lossyQueue
	service *trigger.Service
	worker  *trigger.Worker
	sweeper *trigger.Sweeper
}

// lossy is a test of such a service in a bubble of its own.
func lossy(t *testing.T, loses func(n int) bool, p trigger.Processor, test func(t *testing.T, r *lossyRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &lossyRig{t: t, db: openMemory(t)}
		r.queue = &lossyQueue{StepQueue: r.db.Queue(nil), loses: loses}
		var err error
		r.service, err = trigger.New(trigger.Backend{Store: r.db.Trigger().Store, Queue: r.queue}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		r.worker, err = trigger.NewWorker(r.service, p, nil)
		require.NoError(t, err)
		r.sweeper, err = trigger.NewSweeper(r.service, nil)
		require.NoError(t, err)
		test(t, r)
	})
}

// drain processes what is due.
func (r *lossyRig) drain() {
	r.t.Helper()
	for {
		found, err := r.worker.RunOnce(r.t.Context())
		require.NoError(r.t, err)
		if !found {
			return
		}
	}
}

// sweep sweeps, and requires that so many events are queued again.
func (r *lossyRig) sweep(want int) {
	r.t.Helper()
	n, err := r.sweeper.RunOnce(r.t.Context())
	require.NoError(r.t, err)
	require.Equal(r.t, want, n, "events queued by a sweep")
}

// completed counts the events that are completed, and requires that the others wait.
func (r *lossyRig) completed() (n int) {
	r.t.Helper()
	for e, err := range r.service.Events(r.t.Context(), "acme", trigger.EventQuery{}) {
		require.NoError(r.t, err)
		if e.Status == trigger.StatusCompleted {
			n++
		} else {
			require.Equal(r.t, trigger.StatusReceived, e.Status)
		}
	}
	return n
}

// A queue that forgets jobs loses no event: each is queued again when it was due, and its
// job last known to be there, LostAfter ago.
func TestForgetfulQueue(t *testing.T) {
	lossy(t, func(n int) bool { return n%10 == 0 }, returning(nil), func(t *testing.T, r *lossyRig) {
		for range 100 {
			submit(t, r.service, "a")
		}
		r.drain()
		require.Equal(t, 90, r.completed())
		time.Sleep(time.Hour)
		r.sweep(0) // they may still come
		for _, left := range []int{10, 1, 0} {
			time.Sleep(time.Hour + time.Second)
			r.sweep(left)
			r.drain()
			require.Equal(t, 100-left/10, r.completed())
		}
	})
}

// Events that wait for a worker for long hide none whose job is lost, however many they
// are, and cost one look a LostAfter.
func TestWaitingEventsHideNoLostOne(t *testing.T) {
	const waiting = 1200 // more than two batches
	lossy(t, func(n int) bool { return n == waiting }, returning(nil), func(t *testing.T, r *lossyRig) {
		for range waiting {
			submit(t, r.service, "a")
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Hour + time.Second)
		r.sweep(waiting)
		r.sweep(0)
		time.Sleep(time.Hour)
		r.sweep(0)
		r.drain()
		require.Equal(t, waiting, r.completed())
	})
}

// What a queue says that it has lost is queued again at once, and once: also what waits
// for its retry, which comes no sooner for that.
func TestReportedLoss(t *testing.T) {
	later := trigger.RetryAfter(errWork, 10*time.Minute)
	lossy(t, func(n int) bool { return n == 2 }, returning(later, nil), func(t *testing.T, r *lossyRig) {
		retried := submit(t, r.service, "a")
		r.drain()
		require.NoError(t, r.db.Queue(nil).Cancel(t.Context(), retried.Job())) // lost, too
		submit(t, r.service, "b")
		time.Sleep(time.Second)
		r.sweep(0)
		r.queue.since = time.Now()
		time.Sleep(time.Second)
		r.sweep(2)
		r.sweep(0)
		r.drain()
		require.Equal(t, 1, r.completed(), "the one that was due")
		time.Sleep(10*time.Minute - 3*time.Second)
		r.drain()
		require.Equal(t, 1, r.completed(), "the retry was not due yet")
		time.Sleep(2 * time.Second)
		r.drain()
		require.Equal(t, 2, r.completed())

		r.queue.err = errors.New("nobody knows")
		_, err := r.sweeper.RunOnce(t.Context())
		require.ErrorIs(t, err, r.queue.err)
	})
}

// An attempt is not run beside itself: a job that was added again while it runs waits
// until it must be over. One that comes again because its worker died does not wait.
func TestNoAttemptBesideItself(t *testing.T) {
	var running, end chan struct{}
	attempts := 0
	work := func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
		if attempts++; attempts == 1 {
			close(running)
			<-end
		}
		return trigger.Outcome{}, nil
	}
	lossy(t, nil, work, func(t *testing.T, r *lossyRig) {
		running, end = make(chan struct{}), make(chan struct{}) // of this bubble
		e := submit(t, r.service, "a")
		first := make(chan mortise.Verdict, 1)
		go func() { first <- r.worker.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1}) }()
		<-running
		began := time.Now()
		time.Sleep(time.Minute)
		due := get(t, r.service, e.ID).DueAt
		require.Greater(t, due.Sub(began), 10*time.Minute, "the longest attempt")
		v := r.worker.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1})
		require.Equal(t, mortise.Verdict{After: time.Until(due)}, v)
		require.Equal(t, 1, attempts)

		v = r.worker.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 2})
		require.Equal(t, mortise.VerdictDone, v.Kind, "the holder of the first lease has died")
		require.Equal(t, 2, attempts)
		close(end)
		require.Equal(t, mortise.VerdictDone, (<-first).Kind)

		e = submit(t, r.service, "b")
		require.NoError(t, r.db.Trigger().Store.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error {
			e.Status, e.Attempts, e.StartedAt, e.DueAt = trigger.StatusProcessing, 1, time.Now().UTC(), time.Now().UTC()
			return nil
		}))
		v = r.worker.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1})
		require.Equal(t, mortise.VerdictDone, v.Kind, "the earlier attempt must be over")
		require.Equal(t, 3, attempts)
	})
}

// An event that runs for longer than LostAfter is not queued again while it may run.
func TestLongAttemptsAreNotQueuedAgain(t *testing.T) {
	attempts := 0
	work := func(context.Context, trigger.Event) (trigger.Outcome, error) {
		attempts++
		time.Sleep(5 * time.Hour)
		return trigger.Outcome{}, nil
	}
	lossy(t, nil, work, func(t *testing.T, r *lossyRig) {
		worker, err := trigger.NewWorker(r.service, work, &trigger.WorkerOptions{Timeout: 6 * time.Hour})
		require.NoError(t, err)
		e := submit(t, r.service, "a")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- worker.Run(ctx) }()
		time.Sleep(5*time.Hour + 14*time.Minute)
		assert.Equal(t, trigger.StatusCompleted, get(t, r.service, e.ID).Status)
		assert.Equal(t, 1, attempts)
		assert.Equal(t, 1, r.queue.n, "calls of Enqueue")
		stop()
		require.NoError(t, <-ended)
	})
}

// A job that came to a worker was in the queue then: LostAfter counts from there.
func TestDeliveredJobIsNotLost(t *testing.T) {
	lossy(t, nil, returning(trigger.RetryAfter(errWork, 2*time.Hour), nil), func(t *testing.T, r *lossyRig) {
		e := submit(t, r.service, "a")
		time.Sleep(50 * time.Minute)
		r.drain()
		assert.Equal(t, time.Now().Add(time.Hour).UTC(), get(t, r.service, e.ID).WakeAt)
	})
}

// LostAfter is never less than a quarter of an hour.
func TestLostAfterHasAMinimum(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: &lossyQueue{StepQueue: db.Queue(nil)}}, &trigger.Options{LostAfter: time.Second})
	require.NoError(t, err)
	e := submit(t, s, "a")
	assert.WithinDuration(t, time.Now().Add(15*time.Minute), get(t, s, e.ID).WakeAt, time.Minute)
}

// uncommitted is a store that makes changes within a transaction of the host's: nobody
// else sees them before the commit.
type uncommitted struct {
	trigger.Store
	committed atomic.Bool
}

type inTx struct{}

func (s *uncommitted) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	if !s.committed.Load() && ctx.Value(inTx{}) == nil {
		return mortise.ErrNotFound
	}
	return s.Store.UpdateEvent(ctx, org, id, update)
}

// A queue that is another system than the store hands out a job before the host's
// transaction, in which the event was submitted, is committed. The event is not lost.
func TestSubmitInTheHostsTransaction(t *testing.T) {
	lossy(t, nil, returning(nil), func(t *testing.T, r *lossyRig) {
		store := &uncommitted{Store: r.db.Trigger().Store}
		s, err := trigger.New(trigger.Backend{Store: store, Queue: r.queue}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		w, err := trigger.NewWorker(s, returning(nil), nil)
		require.NoError(t, err)
		e, err := s.Submit(context.WithValue(t.Context(), inTx{}, true), "acme", "", trigger.Submission{Instructions: "a"})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(40 * time.Second)
		store.committed.Store(true)
		time.Sleep(30 * time.Second)
		stop()
		require.NoError(t, <-ended)
		got, err := r.db.Trigger().Store.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		assert.Equal(t, trigger.StatusCompleted, got.Status)
		assert.Equal(t, 1, got.Attempts)
	})
}

// The end of the context that a host gives to Handle ends the attempt. It counts, unless
// the host says that it is a shutdown.
func TestHandleEndsWithItsContext(t *testing.T) {
	work := func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
		<-ctx.Done()
		return trigger.Outcome{}, ctx.Err()
	}
	for cause, attempts := range map[error]int{trigger.ErrShutdown: 0, errors.New("the connection is gone"): 1} {
		lossy(t, nil, work, func(t *testing.T, r *lossyRig) {
			e := submit(t, r.service, "a")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(cause) })
			v := r.worker.Handle(ctx, mortise.Delivery{Job: e.Job(), Deliveries: 1})
			require.Equal(t, mortise.VerdictRetry, v.Kind)
			require.Equal(t, attempts, get(t, r.service, e.ID).Attempts, "with the cause: %v", cause)
		})
	}
}
