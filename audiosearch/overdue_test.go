package audiosearch_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// A run that is due later than in a minute is not queued before: its sweep comes when it is
// due, and finds a job that was lost meanwhile.
func TestLongWait(t *testing.T) {
	lossy(t, nil, func(t *testing.T, r *rig, q *lossyQueue) {
		id := r.failOnce(5 * time.Hour)
		due := r.results(id).DueAt
		time.Sleep(time.Hour + time.Second)
		r.sweep(1)
		require.Equal(t, due, r.results(id).WakeAt)
		require.Equal(t, 1, q.n, "calls of Enqueue")
		r.sweep(0)

		require.NoError(t, q.Cancel(t.Context(), r.runJob(id)))
		q.since = time.Now() // which concerns no run whose job is to come later than LostAfter
		r.sweep(0)
		time.Sleep(time.Until(due))
		r.sweep(0)
		time.Sleep(time.Second)
		r.sweep(1)
		require.Equal(t, 2, q.n)
		require.Len(t, r.jobs(), 1)
	})
}

// Where the queue reports a loss, a run that is due within LostAfter is queued at once, to
// be delivered when it is due.
func TestReportedLossOfAWait(t *testing.T) {
	lossy(t, nil, func(t *testing.T, r *rig, q *lossyQueue) {
		id := r.failOnce(10 * time.Minute)
		require.NoError(t, q.Cancel(t.Context(), r.runJob(id)))
		time.Sleep(time.Second)
		q.since = time.Now()
		time.Sleep(time.Second)
		r.sweep(1)
		r.sweep(0)
		time.Sleep(10*time.Minute - 3*time.Second)
		require.Empty(t, r.jobs())
		time.Sleep(time.Second)
		require.Len(t, r.jobs(), 1)
	})
}

// failOnce starts a run whose first attempt fails, and which waits for the next one.
func (r *rig) failOnce(wait time.Duration) (id int64) {
	r.t.Helper()
	r.video("a", 1000, nil, nil)
	w, err := audiosearch.NewWorker(r.Service, &audiosearch.WorkerOptions{Backoff: func(int) time.Duration { return wait }})
	require.NoError(r.t, err)
	fail := func(context.Context) error { return errBroken }
	r.scorer.hook.Store(&fail)
	id = r.start(audiosearch.Query{Class: loud})
	_, err = w.RunOnce(r.t.Context())
	require.NoError(r.t, err)
	return id
}

func (r *rig) runJob(id int64) mortise.Job {
	r.t.Helper()
	run := r.results(id)
	return run.Job()
}

// An attempt that takes longer than LostAfter is queued again, beside the job that its
// worker holds: nothing changes.
func TestLongAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newMemory(t)
		q := &lossyQueue{StepQueue: db.Queue(nil)}
		r := newRigOver(t, db, db.AudioSearch().Store, q,
			func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Stall = 5 * time.Hour })
		r.video("a", 1000, nil, nil)
		hook := func(context.Context) error {
			for range 2 {
				time.Sleep(time.Hour + time.Second)
				for _, want := range []int{1, 0} {
					n, err := r.sweeper.RunOnce(t.Context())
					assert.NoError(t, err)
					assert.Equal(t, want, n)
				}
			}
			return nil
		}
		r.scorer.hook.Store(&hook)
		id := r.start(audiosearch.Query{Class: loud})
		r.drain(1)
		run := r.results(id)
		require.Equal(t, []any{audiosearch.Success, 1}, []any{run.Termination, run.Attempts})
		require.Equal(t, 3, q.n)
		time.Sleep(time.Hour)
		require.Empty(t, r.jobs())
		r.sweep(0)
	})
}

// A run that has ended with a WakeAt left over is passed by from the next sweep on.
func TestEndedRunsAreNotQueued(t *testing.T) {
	lossy(t, nil, func(t *testing.T, r *rig, q *lossyQueue) {
		id := r.start(audiosearch.Query{Class: loud})
		r.drain(1)
		require.NoError(t, r.db.AudioSearch().Store.UpdateRun(t.Context(), org, id, func(run *audiosearch.Run) error {
			require.Equal(t, audiosearch.StateTerminated, run.State)
			run.WakeAt = time.Now().UTC()
			return nil
		}))
		time.Sleep(time.Second)
		r.sweep(1)
		r.sweep(0)
		require.Zero(t, r.results(id).WakeAt)
		require.Equal(t, 1, q.n)
	})
}

// refusingQueue takes the jobs of some runs only.
type refusingQueue struct {
	mortise.StepQueue
	takes func(id string) bool
	n     int       // jobs that it took
	since time.Time // of the loss that it reports
}

func (q *refusingQueue) Enqueue(ctx context.Context, j mortise.Job) error {
	if !q.takes(j.ID) {
		return errBroken
	}
	q.n++
	return q.StepQueue.Enqueue(ctx, j)
}

func (q *refusingQueue) LostJobs(context.Context) (time.Time, error) { return q.since, nil }

// Runs that the queue refuses for ever do not keep waiting one that it takes, whether they
// are overdue or the queue reports their jobs as lost. They are tried again.
func TestRefusedRunsHideNoOther(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			db := newMemory(t)
			q := &refusingQueue{StepQueue: db.Queue(nil), takes: func(string) bool { return lost }}
			r := newRigOver(t, db, db.AudioSearch().Store, q, nil)
			var last string
			for range 25 {
				last = strconv.FormatInt(r.start(audiosearch.Query{Class: loud}), 10)
				time.Sleep(time.Second)
			}
			again := 31 * time.Second
			if q.n = 0; lost {
				again = time.Hour - 10*time.Second // to when a job lost at since is overdue
				q.since = time.Now()
			}
			q.takes = func(id string) bool { return id == last }
			time.Sleep(31 * time.Second)
			for range 3 {
				_, err := r.sweeper.RunOnce(t.Context())
				require.ErrorIs(t, err, errBroken)
			}
			require.Equal(t, 1, q.n)
			r.sweep(0)
			q.takes = func(string) bool { return true }
			time.Sleep(again)
			r.sweep(24)
			require.Equal(t, 25, q.n)
		})
	}
}
