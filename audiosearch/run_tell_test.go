package audiosearch_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
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

// mail is a kind of the host's.
const mail = "mail"

// mailOf is an OnEnd: the ID of the job says how the run has ended.
func mailOf(r audiosearch.Run) []mortise.Job {
	return []mortise.Job{{Kind: mail, Organization: r.Organization, ID: mailID(r.ID, r.Termination)}}
}

func mailID(run int64, how audiosearch.Termination) string { return fmt.Sprintf("%d-%s", run, how) }

// mailed removes all jobs of the kind.
func mailed(t *testing.T, db *memory.DB) (ids []string) {
	t.Helper()
	leases, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{mail}, Limit: 1000, TTL: time.Hour})
	require.NoError(t, err)
	for _, l := range leases {
		ids = append(ids, l.Job.ID)
		require.NoError(t, db.Jobs().Remove(t.Context(), l, false))
	}
	return ids
}

// telling is a test of rigs with an OnEnd: one whose queue shares the store, and one whose
// queue does not.
func telling(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	for _, separate := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			db := newMemory(t)
			var queue mortise.Queue = db.Queue(nil)
			if separate {
				queue = &lossyQueue{StepQueue: db.Queue(nil)}
			}
			test(t, newRigOver(t, db, db.AudioSearch().Store, queue, func(o *audiosearch.Options, w *audiosearch.WorkerOptions) {
				o.OnEnd, w.MaxAttempts = mailOf, 2
			}))
		})
	}
}

// TestOnEnd: a job of the host's tells of each end, and of nothing else.
func TestOnEnd(t *testing.T) {
	telling(t, func(t *testing.T, r *rig) {
		start := func() int64 { return r.start(audiosearch.Query{Class: loud}) }
		left := func(state audiosearch.State) int64 { // by a worker that has died
			id := start()
			require.NoError(t, r.db.AudioSearch().Store.UpdateRun(t.Context(), org, id, func(run *audiosearch.Run) error {
				run.State, run.Attempts = state, 2
				return nil
			}))
			return id
		}
		succeeds, pushed, cancelled := start(), start(), start()
		killed, stopped := left(audiosearch.StateRunning), left(audiosearch.StateTerminating)
		_, err := r.Cancel(t.Context(), org, "", "d", cancelled)
		require.NoError(t, err)
		assert.Equal(t, []string{mailID(cancelled, audiosearch.ClientError)}, mailed(t, r.db))
		r.worker.Handle(t.Context(), mortise.Delivery{Job: r.runJob(pushed), Deliveries: 1})
		assert.Equal(t, []string{mailID(pushed, audiosearch.Success)}, mailed(t, r.db))
		r.drain(10)
		r.video("a", 1000, nil, nil)
		fail := func(context.Context) error { return errBroken }
		r.scorer.hook.Store(&fail)
		fails := start()
		r.drain(10)
		assert.ElementsMatch(t, []string{
			mailID(succeeds, audiosearch.Success), mailID(stopped, audiosearch.ClientError),
			mailID(killed, audiosearch.InternalError), mailID(fails, audiosearch.InternalError),
		}, mailed(t, r.db))
		for _, id := range []int64{succeeds, pushed, cancelled, killed, stopped, fails} {
			assert.Zero(t, r.results(id).WakeAt)
		}
		time.Sleep(2 * time.Hour)
		r.sweep(0)
		assert.Empty(t, mailed(t, r.db))
	})
}

// TestOnEndInTx: the end of a run that a host cancels in a transaction of its own is told
// after the commit, and not after a rollback.
func TestOnEndInTx(t *testing.T) {
	telling(t, func(t *testing.T, r *rig) {
		id := r.start(audiosearch.Query{Class: loud})
		cancel := func(ctx context.Context) error {
			_, err := r.Cancel(ctx, org, "", "d", id)
			return err
		}
		require.ErrorIs(t, r.db.InTx(t.Context(), func(ctx context.Context) error {
			require.NoError(t, cancel(ctx))
			return errBroken
		}), errBroken)
		assert.Empty(t, mailed(t, r.db))
		require.NoError(t, r.db.InTx(t.Context(), cancel))
		assert.Equal(t, []string{mailID(id, audiosearch.ClientError)}, mailed(t, r.db))
		assert.Zero(t, r.results(id).WakeAt)
	})
}

// TestOnEndWhileTheQueueIsAway: a sweeper tells of the end later, and the run is kept until
// then.
func TestOnEndWhileTheQueueIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newMemory(t)
		away := false
		q := &refusingQueue{StepQueue: db.Queue(nil), takes: func(string) bool { return !away }}
		r := newRigOver(t, db, db.AudioSearch().Store, q, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
			o.OnEnd, o.KeepRuns = mailOf, 1
		})
		id, newest := r.start(audiosearch.Query{Class: loud}), r.start(audiosearch.Query{Class: loud})
		away = true
		for _, id := range []int64{id, newest} {
			run, err := r.Cancel(t.Context(), org, "", "d", id)
			require.NoError(t, err)
			require.Equal(t, run.FinishedAt.Add(30*time.Second), run.WakeAt)
			time.Sleep(time.Second)
		}
		time.Sleep(30 * time.Second)
		_, err := r.sweeper.RunOnce(t.Context())
		require.ErrorIs(t, err, errBroken)
		r.sweep(0) // not before another 30 s
		n, err := r.Prune(t.Context(), time.Now().Add(time.Hour))
		require.NoError(t, err)
		assert.Zero(t, n, "runs that are not told are not pruned")
		assert.Empty(t, mailed(t, db))

		away = false
		time.Sleep(40 * time.Second) // each wait is as long as the time since the end
		r.sweep(2)
		assert.ElementsMatch(t, []string{mailID(id, audiosearch.ClientError), mailID(newest, audiosearch.ClientError)}, mailed(t, db))
		assert.Zero(t, r.results(newest).WakeAt)
		_, err = r.Run(t.Context(), org, "d", id)
		require.ErrorIs(t, err, audiosearch.ErrRunNotFound, "KeepRuns")
		time.Sleep(time.Hour)
		r.sweep(0)
		assert.Empty(t, mailed(t, db))
	})
}

// TestOnEndAfterAMove: an end that a queue apart was to be told is told where the queue is in the
// database since, too.
func TestOnEndAfterAMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newMemory(t)
		r := newRigOver(t, db, db.AudioSearch().Store, db.Queue(nil), func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
			o.OnEnd = mailOf
		})
		id := r.start(audiosearch.Query{Class: loud})
		r.drain(1)
		require.Len(t, mailed(t, db), 1)
		require.NoError(t, db.AudioSearch().Store.UpdateRun(t.Context(), org, id, func(run *audiosearch.Run) error {
			run.WakeAt = run.FinishedAt.Add(30 * time.Second)
			return nil
		}))
		time.Sleep(time.Minute)
		r.sweep(1)
		assert.Len(t, mailed(t, db), 1)
		assert.Zero(t, r.results(id).WakeAt)
	})
}

// TestOnEndThatIsWrong: a panic and a job that is not valid hold up no end, and other
// jobs come.
func TestOnEndThatIsWrong(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.OnEnd = func(run audiosearch.Run) []mortise.Job {
			if run.Query.Class == quiet {
				panic("ouch")
			}
			return append(mailOf(run), mortise.Job{Kind: mail}, run.Job())
		}
	})
	for _, q := range []audiosearch.Query{{Class: quiet}, {Class: loud}} {
		require.Equal(t, audiosearch.Success, r.search(q).Termination)
	}
	assert.Len(t, mailed(t, r.db), 1)
	assert.Equal(t, 1, strings.Count(log.String(), "hook=OnEnd"))
	assert.Equal(t, 2, strings.Count(log.String(), "a job of OnEnd is left out"))
}
