package audiosearch_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// lossyQueue is a queue that knows no database but its own, and loses jobs.
type lossyQueue struct {
	mortise.StepQueue
	mu    sync.Mutex
	loses func(n int) bool // whether the nth call of Enqueue, from 1 on, adds nothing
	n     int
	since time.Time // of the loss that it reports
	err   error
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

// newLossyRig returns a rig whose jobs stand elsewhere than its runs.
func newLossyRig(t *testing.T, loses func(n int) bool) (*rig, *lossyQueue) {
	t.Helper()
	db := newMemory(t)
	queue := &lossyQueue{StepQueue: db.Queue(nil), loses: loses}
	return newRigOver(t, db, db.AudioSearch().Store, queue, nil), queue
}

// lossy is a test of such a rig in a bubble of its own.
func lossy(t *testing.T, loses func(n int) bool, test func(t *testing.T, r *rig, q *lossyQueue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, q := newLossyRig(t, loses)
		test(t, r, q)
	})
}

// sweep sweeps, and requires that so many runs are queued again.
func (r *rig) sweep(want int) {
	r.t.Helper()
	n, err := r.sweeper.RunOnce(r.t.Context())
	require.NoError(r.t, err)
	require.Equal(r.t, want, n)
}

// ended returns how many of the runs ended with Success, and requires that the others
// wait.
func (r *rig) ended(ids []int64) (n int) {
	r.t.Helper()
	for _, id := range ids {
		switch run := r.results(id); run.State {
		case audiosearch.StateTerminated:
			require.Equal(r.t, audiosearch.Success, run.Termination)
			n++
		default:
			require.Equal(r.t, audiosearch.StateQueued, run.State)
		}
	}
	return n
}

// jobs returns the jobs that can be claimed, and holds them.
func (r *rig) jobs() []mortise.Lease {
	r.t.Helper()
	leases, err := r.db.Jobs().Claim(r.t.Context(), mortise.Claim{
		Token: uuid.New(), Kinds: []string{audiosearch.JobKind}, Limit: 1000, TTL: time.Hour,
	})
	require.NoError(r.t, err)
	return leases
}

// A queue that forgets jobs loses no run: each is queued again by the first sweep that comes
// LostAfter later.
func TestForgetfulQueue(t *testing.T) {
	lossy(t, func(n int) bool { return n%10 == 0 }, func(t *testing.T, r *rig, _ *lossyQueue) {
		var ids []int64
		for range 100 {
			ids = append(ids, r.start(audiosearch.Query{Class: loud}))
		}
		r.drain(1000)
		require.Equal(t, 90, r.ended(ids))
		time.Sleep(time.Hour)
		r.sweep(0) // they may still come
		for _, left := range []int{10, 1, 0} {
			time.Sleep(time.Hour + time.Second)
			r.sweep(left)
			r.drain(1000)
			require.Equal(t, 100-left/10, r.ended(ids))
		}
	})
}

// Runs that wait for a worker for long do not hide one whose job is lost, however many
// they are, and are queued again once a LostAfter, which adds no job.
func TestWaitingRunsHideNoLostOne(t *testing.T) {
	const waiting = 600
	lossy(t, func(n int) bool { return n == waiting+1 }, func(t *testing.T, r *rig, q *lossyQueue) {
		for range waiting + 1 {
			r.start(audiosearch.Query{Class: loud})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Hour + time.Second)
		r.sweep(waiting + 1)
		r.sweep(0)
		time.Sleep(time.Hour)
		r.sweep(0)
		require.Equal(t, 2*(waiting+1), q.n)
		require.Len(t, r.jobs(), waiting+1)
	})
}

// A run that could not be queued is queued when it is found, and then known to be.
func TestRunsThatWereNotQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newMemory(t)
		store := &brittle{Store: db.AudioSearch().Store}
		queue := &lossyQueue{StepQueue: db.Queue(nil), loses: func(n int) bool { return n == 1 }}
		r := newRigOver(t, db, store, queue, nil)
		store.failures.Store(1)
		id := r.start(audiosearch.Query{Class: loud})
		run := r.results(id)
		require.Equal(t, audiosearch.StatePending, run.State)
		require.Equal(t, run.CreatedAt.Add(30*time.Second), run.WakeAt)
		require.Equal(t, run.CreatedAt, run.DueAt)
		time.Sleep(30 * time.Second)
		r.sweep(0) // Start may still be about to queue it
		time.Sleep(time.Second)
		r.sweep(1)
		run = r.results(id)
		require.Equal(t, audiosearch.StateQueued, run.State)
		require.Equal(t, time.Now().UTC().Add(time.Hour), run.WakeAt)
		r.sweep(0)
		r.drain(10)
		run = r.results(id)
		require.Equal(t, audiosearch.Success, run.Termination)
		require.Zero(t, run.DueAt)
		require.Zero(t, run.WakeAt)
	})
}

// What a queue says that it has lost is queued again at once, and once.
func TestReportedLoss(t *testing.T) {
	lossy(t, func(n int) bool { return n <= 2 }, func(t *testing.T, r *rig, q *lossyQueue) {
		ids := []int64{r.start(audiosearch.Query{Class: loud}), r.start(audiosearch.Query{Class: loud})}
		time.Sleep(time.Second)
		r.sweep(0)
		q.since = time.Now()
		time.Sleep(time.Second)
		r.sweep(2)
		r.sweep(0)
		r.drain(10)
		require.Equal(t, 2, r.ended(ids))
		r.sweep(0)

		id := r.start(audiosearch.Query{Class: loud})
		require.Len(t, r.jobs(), 1)           // which nobody works at, for an hour
		q.since = time.Now().Add(time.Minute) // by a clock that is ahead
		time.Sleep(time.Second)
		for range 3 {
			r.sweep(1)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		r.sweep(1)
		r.sweep(0)
		require.Equal(t, audiosearch.StateQueued, r.results(id).State)

		q.err = errBroken
		_, err := r.sweeper.RunOnce(t.Context())
		require.ErrorIs(t, err, errBroken)
	})
}

// A job of a run that the store does not know is tried again for a minute: the
// transaction that makes the run may not be committed yet.
func TestUnknownRuns(t *testing.T) {
	for after, want := range map[time.Duration]bool{30 * time.Second: true, 2 * time.Minute: false} {
		lossy(t, nil, func(t *testing.T, r *rig, q *lossyQueue) {
			run := audiosearch.Run{Organization: org, ID: 7, State: audiosearch.StateQueued,
				CreatedAt: time.Now().UTC()}
			run.Query = audiosearch.Query{Dataset: "d", Class: loud, Limit: 1}
			require.NoError(t, q.Enqueue(t.Context(), run.Job()))
			for start := time.Now(); time.Since(start) < after; time.Sleep(time.Second) {
				r.drain(1)
			}
			require.NoError(t, r.db.AudioSearch().Store.CreateRun(t.Context(), run, 1))
			for range 60 {
				time.Sleep(time.Second)
				r.drain(1)
			}
			require.Equal(t, want, r.results(7).State == audiosearch.StateTerminated)
		})
	}
}

// While an attempt runs, the run's times say so, and a job that was added anew waits
// until that is over.
func TestNoRunBesideItself(t *testing.T) {
	lossy(t, nil, func(t *testing.T, r *rig, _ *lossyQueue) {
		r.video("a", 1000, nil, nil)
		var id int64
		again := func(deliveries int) mortise.Verdict {
			run := r.results(id)
			return r.worker.Handle(t.Context(), mortise.Delivery{Job: run.Job(), Deliveries: deliveries})
		}
		hook := func(context.Context) error {
			for range 10 {
				run, now := r.results(id), time.Now().UTC()
				for _, at := range []time.Time{run.UpdatedAt, run.DueAt.Add(-time.Minute)} {
					ago := now.Sub(at)
					assert.True(t, 0 <= ago && ago <= 11*time.Second, "%v ago", ago)
				}
				assert.Equal(t, run.StartedAt.Add(time.Hour), run.WakeAt)
				assert.Equal(t, mortise.Verdict{After: run.DueAt.Sub(now)}, again(1))
				time.Sleep(9 * time.Second)
			}
			return nil
		}
		r.scorer.hook.Store(&hook)
		id = r.start(audiosearch.Query{Class: loud})
		r.drain(1)
		run := r.results(id)
		require.Equal(t, []any{audiosearch.Success, 1}, []any{run.Termination, run.Attempts})
		require.Equal(t, mortise.VerdictDone, again(1).Kind)

		// The worker of this one is dead.
		id = r.start(audiosearch.Query{Class: quiet})
		require.Len(t, r.jobs(), 1)
		r.scorer.hook.Store(nil)
		require.NoError(t, r.db.AudioSearch().Store.UpdateRun(t.Context(), org, id,
			func(run *audiosearch.Run) error {
				run.State, run.Attempts, run.DueAt = audiosearch.StateRunning, 1,
					time.Now().UTC().Add(time.Minute)
				return nil
			}))
		require.Equal(t, mortise.Verdict{After: time.Minute}, again(1))
		time.Sleep(time.Minute)
		require.Equal(t, mortise.VerdictDone, again(1).Kind)
		require.Equal(t, 2, r.results(id).Attempts)
	})
}

// The end of a wait is when a run is due, and its job, if that is added again.
func TestDueAfterAFailure(t *testing.T) {
	lossy(t, nil, func(t *testing.T, r *rig, q *lossyQueue) {
		w, err := audiosearch.NewWorker(r.Service,
			&audiosearch.WorkerOptions{Backoff: func(int) time.Duration { return 7 * time.Second }})
		require.NoError(t, err)
		r.video("a", 1000, nil, nil)
		fail := func(context.Context) error { return errBroken }
		r.scorer.hook.Store(&fail)
		id := r.start(audiosearch.Query{Class: loud})
		time.Sleep(time.Second)
		_, err = w.RunOnce(t.Context())
		require.NoError(t, err)
		run, now := r.results(id), time.Now().UTC()
		require.Equal(t, now.Add(7*time.Second), run.DueAt)
		require.Equal(t, now.Add(time.Hour), run.WakeAt, "as it was while the attempt ran")
		require.Equal(t, now.Add(7*time.Second), run.Job().At)
	})
}

// A shutdown that is written, and reported as failed, leaves the job: nobody else has it.
func TestShutdownWrittenTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newMemory(t)
		store := &brittle{Store: db.AudioSearch().Store}
		r := newRigOver(t, db, store, db.Queue(nil),
			func(_ *audiosearch.Options, w *audiosearch.WorkerOptions) { w.Watch = time.Hour })
		r.video("a", 1000, nil, nil)
		id := r.start(audiosearch.Query{Class: loud})
		ctx, shutdown := context.WithCancelCause(t.Context())
		hook := func(ctx context.Context) error {
			store.late.Store(1)
			shutdown(audiosearch.ErrShutdown)
			<-ctx.Done()
			return ctx.Err()
		}
		r.scorer.hook.Store(&hook)
		d := mortise.Delivery(r.jobs()[0])
		require.Equal(t, mortise.Verdict{}, r.worker.Handle(ctx, d))
		run := r.results(id)
		require.Equal(t, []any{audiosearch.StateQueued, 0}, []any{run.State, run.Attempts})
	})
}

// A run whose job no queue takes is not stored.
func TestOrganizationWithoutJobs(t *testing.T) {
	for _, org := range []string{"", strings.Repeat("o", 256)} {
		r := newRig(t, nil)
		_, err := r.CreateDataset(t.Context(), org, "", "d")
		require.NoError(t, err)
		_, err = r.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
		require.ErrorContains(t, err, "organization")
		require.NotErrorIs(t, err, mortise.ErrUnavailable)
		backlog, err := r.db.AudioSearch().Store.Backlog(t.Context(), 10)
		require.NoError(t, err)
		require.Zero(t, backlog)
	}
}

// sharedStore counts the calls of a service to a store that the service's queue shares.
type sharedStore struct {
	audiosearch.Store
	audiosearch.TxStore
	updates, ends atomic.Int64
}

func (s *sharedStore) UpdateRun(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) error,
) error {
	s.updates.Add(1)
	return s.Store.UpdateRun(ctx, org, id, update)
}

func (s *sharedStore) UpdateRunAndJobs(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) ([]mortise.Job, error), l mortise.Lease,
) error {
	s.ends.Add(1)
	return s.TxStore.UpdateRunAndJobs(ctx, org, id, update, l)
}

// Where the queue shares the store, a run begins and ends with its job in one step, and no
// sweep finds an overdue run.
func TestSharedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newMemory(t)
		store := &sharedStore{Store: db.AudioSearch().Store, TxStore: db.AudioSearch().Store.(*memory.AudioSearch)}
		r := newRigOver(t, db, store, sharingQueue{db.Queue(nil), store}, nil)
		id := r.start(audiosearch.Query{Class: loud})
		run := r.results(id)
		require.Equal(t, audiosearch.StateQueued, run.State)
		require.Zero(t, run.WakeAt)
		require.Zero(t, store.updates.Load())
		r.drain(1)
		run = r.results(id)
		require.Equal(t, audiosearch.Success, run.Termination)
		require.EqualValues(t, 1, store.ends.Load())
		require.EqualValues(t, 1, store.updates.Load(), "the begin of the attempt")

		// Those that end without another attempt, one after the other.
		for ends, change := range []func(*audiosearch.Run){
			func(run *audiosearch.Run) { run.State = audiosearch.StateTerminating },
			func(run *audiosearch.Run) { run.State, run.Attempts = audiosearch.StateRunning, 8 },
		} {
			id := r.start(audiosearch.Query{Class: loud})
			require.NoError(t, db.AudioSearch().Store.UpdateRun(t.Context(), org, id,
				func(run *audiosearch.Run) error {
					change(run)
					return nil
				}))
			r.drain(1)
			require.Equal(t, audiosearch.StateTerminated, r.results(id).State)
			require.EqualValues(t, 2+ends, store.ends.Load())
		}
		time.Sleep(2 * time.Hour)
		require.Empty(t, r.jobs())
		r.sweep(0)

		// Attempts that fail leave the job, and note nothing that nobody asks for.
		r.video("a", 1000, nil, nil)
		fail := func(context.Context) error { return errBroken }
		r.scorer.hook.Store(&fail)
		id = r.start(audiosearch.Query{Class: loud})
		r.drain(1)
		run = r.results(id)
		require.Equal(t, audiosearch.StateQueued, run.State)
		require.Zero(t, run.WakeAt)
		require.Equal(t, strconv.FormatInt(id, 10), r.jobs()[0].Job.ID)
	})
}

// Hosts that are pushed jobs call Handle. The end of its context is a shutdown, or that
// of the lease.
func TestHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.video("a", 1000, nil, nil)
		id := r.start(audiosearch.Query{Class: loud})
		d := mortise.Delivery(r.jobs()[0])
		state := func() []any { return []any{r.results(id).State, r.results(id).Attempts} }

		ended, end := context.WithCancel(t.Context())
		end()
		require.Equal(t, mortise.Verdict{}, r.worker.Handle(ended, d))
		require.Equal(t, []any{audiosearch.StateQueued, 0}, state())

		for cause, want := range map[error][]any{
			audiosearch.ErrShutdown:  {audiosearch.StateQueued, 0},
			mortise.ErrLeaseLost:     {audiosearch.StateRunning, 1},
			context.DeadlineExceeded: {audiosearch.StateRunning, 1},
		} {
			require.NoError(t, r.db.AudioSearch().Store.UpdateRun(t.Context(), org, id,
				func(run *audiosearch.Run) error {
					run.State, run.Attempts, run.DueAt = audiosearch.StateQueued, 0, time.Now().UTC()
					return nil
				}))
			ctx, cancel := context.WithCancelCause(t.Context())
			hook := func(ctx context.Context) error {
				cancel(cause)
				<-ctx.Done()
				return ctx.Err()
			}
			r.scorer.hook.Store(&hook)
			require.Equal(t, mortise.Verdict{}, r.worker.Handle(ctx, d), cause)
			require.Equal(t, want, state(), cause)
		}

		r.scorer.hook.Store(nil)
		d.Deliveries = 2
		require.Equal(t, mortise.Verdict{Kind: mortise.VerdictEnded}, r.worker.Handle(t.Context(), d))
		require.Equal(t, audiosearch.Success, r.results(id).Termination)
		require.ErrorIs(t, r.db.Jobs().Remove(t.Context(), d.Lease(), false), mortise.ErrLeaseLost,
			"the job is gone")

		// A broker's delivery has no token.
		id = r.start(audiosearch.Query{Class: quiet})
		d = mortise.Delivery{Job: r.jobs()[0].Job, Deliveries: 1}
		require.Equal(t, mortise.Verdict{Kind: mortise.VerdictDone}, r.worker.Handle(t.Context(), d))
		require.Equal(t, audiosearch.Success, r.results(id).Termination)
	})
}
