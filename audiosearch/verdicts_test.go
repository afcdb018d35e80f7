package audiosearch_test

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// handQueue is a StepQueue whose deliveries are seen, and can be lost.
type handQueue struct {
	jobs       []mortise.Job
	deliveries int                     // of the next delivery
	lose       context.CancelCauseFunc // the delivery at hand
	verdict    mortise.Verdict         // the latest one
}

func (q *handQueue) Enqueue(_ context.Context, j mortise.Job) error {
	q.jobs = append(q.jobs, j)
	return nil
}

func (q *handQueue) Cancel(context.Context, mortise.Job) error { return errors.ErrUnsupported }

func (q *handQueue) Consume(context.Context, mortise.ConsumeOptions, mortise.Handler) error {
	return nil
}

func (q *handQueue) ConsumeOne(
	_ context.Context, _ []string, handle mortise.Handler,
) (bool, error) {
	held, lose := context.WithCancelCause(context.Background())
	defer lose(nil)
	q.lose = lose
	q.verdict = handle(held, mortise.Delivery{Job: q.jobs[0], Deliveries: max(q.deliveries, 1)})
	return true, nil
}

// brittle is a Store whose UpdateRun fails while it is told to, before it has done
// anything, or afterwards.
type brittle struct {
	audiosearch.Store
	failures, late atomic.Int64
	unsure         atomic.Bool // each change that was made is made once more, as if that were not known
}

func (b *brittle) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	if b.failures.Add(-1) >= 0 {
		return errBroken
	}
	err := b.Store.UpdateRun(ctx, org, id, update)
	if err == nil && b.unsure.Load() {
		err = b.Store.UpdateRun(ctx, org, id, update)
	}
	if err != nil || b.late.Add(-1) < 0 {
		return err
	}
	return errBroken
}

// TestVerdicts: what a worker answers, and what becomes of the run.
func TestVerdicts(t *testing.T) {
	t.Parallel()                // it waits most of the time
	const aMinute = time.Minute // for which an attempt is taken to run after a sign of life
	type bench struct {
		*rig
		queue *handQueue
		store *brittle
		id    int64
	}
	change := func(b *bench, f func(*audiosearch.Run)) {
		require.NoError(b.t, b.db.AudioSearch().Store.UpdateRun(context.Background(), org, b.id, func(run *audiosearch.Run) error { f(run); return nil }))
	}
	untilCut := func(b *bench, ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
			b.t.Error("the attempt goes on")
		}
		return ctx.Err()
	}
	for name, test := range map[string]struct {
		watch    time.Duration // 10 ms
		backoff  time.Duration // 0: 7 s
		before   func(b *bench)
		during   func(b *bench, ctx context.Context) error // in the scorer
		verdict  mortise.Verdict
		state    audiosearch.State
		how      audiosearch.Termination
		attempts int
		told     bool // the end is observed, once
	}{
		"done": {verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "TERMINATED",
			how: "SUCCESS", attempts: 1},
		"no such run": {before: func(b *bench) { b.queue.jobs[0].ID = "9007199254740991" },
			verdict: mortise.Verdict{After: time.Second}, state: "QUEUED"},
		"no such run for a minute": {before: func(b *bench) {
			b.queue.jobs[0].ID, b.queue.deliveries = "9007199254740991", 7
		},
			verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "QUEUED"},
		"no ID of a run": {before: func(b *bench) { b.queue.jobs[0].ID = "0" + b.queue.jobs[0].ID },
			verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "QUEUED"},
		"cannot begin": {before: func(b *bench) { b.store.failures.Store(1) },
			verdict: mortise.Verdict{After: time.Second}, state: "QUEUED"},
		"begins, and does not hear of it": {before: func(b *bench) { b.store.late.Store(1) },
			verdict: mortise.Verdict{After: time.Second}, state: "RUNNING", attempts: 1},
		"comes again, after it had begun": {before: func(b *bench) {
			b.queue.deliveries = 2
			change(b, func(run *audiosearch.Run) {
				run.State, run.Attempts, run.DueAt = "RUNNING", 1, time.Now().Add(aMinute)
			})
		}, verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "TERMINATED", how: "SUCCESS", attempts: 2},
		"changes are made twice": {watch: time.Hour, before: func(b *bench) { b.store.unsure.Store(true) },
			verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "TERMINATED", how: "SUCCESS", attempts: 1, told: true},
		"a run is given up twice": {before: func(b *bench) {
			b.store.unsure.Store(true)
			change(b, func(run *audiosearch.Run) { run.Attempts = 8 })
		}, verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "TERMINATED", how: "INTERNAL_ERROR", attempts: 8, told: true},
		"ends, and does not hear of it": {watch: time.Hour, during: func(b *bench, _ context.Context) error { b.store.late.Store(1); return nil },
			verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "TERMINATED", how: "SUCCESS", attempts: 1, told: true},
		"cannot end for a moment": {watch: time.Hour, during: func(b *bench, _ context.Context) error { b.store.failures.Store(1); return nil },
			verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "TERMINATED", how: "SUCCESS",
			attempts: 1},
		"cannot end": {watch: time.Hour, during: func(b *bench, _ context.Context) error { b.store.failures.Store(100); return nil },
			verdict: mortise.Verdict{After: time.Second}, state: "RUNNING", attempts: 1},
		"failed": {during: func(*bench, context.Context) error { return errBroken },
			verdict: mortise.Verdict{After: 7 * time.Second}, state: "QUEUED", attempts: 1},
		"failed, and is to wait for years": {backoff: 1000 * 24 * time.Hour, during: func(*bench, context.Context) error { return errBroken },
			verdict: mortise.Verdict{After: 24 * time.Hour}, state: "QUEUED", attempts: 1},
		"lost": {during: func(b *bench, ctx context.Context) error {
			b.queue.lose(mortise.ErrLeaseLost)
			return untilCut(b, ctx)
		},
			state: "RUNNING", attempts: 1},
		"another attempt began": {during: func(b *bench, ctx context.Context) error {
			change(b, func(run *audiosearch.Run) { run.Attempts = 2 })
			return untilCut(b, ctx)
		}, verdict: mortise.Verdict{After: aMinute}, state: "RUNNING", attempts: 2},
		"ended by others": {during: func(b *bench, ctx context.Context) error {
			change(b, func(run *audiosearch.Run) { run.State, run.Termination = "TERMINATED", "INTERNAL_ERROR" })
			return untilCut(b, ctx)
		}, verdict: mortise.Verdict{After: aMinute}, state: "TERMINATED", how: "INTERNAL_ERROR",
			attempts: 1},
		"another attempt began in the last moment": {watch: time.Hour, during: func(b *bench, _ context.Context) error {
			change(b, func(run *audiosearch.Run) { run.Attempts = 2 })
			return nil
		}, verdict: mortise.Verdict{After: aMinute}, state: "RUNNING", attempts: 2},
		"ended by others in the last moment": {watch: time.Hour, during: func(b *bench, _ context.Context) error {
			change(b, func(run *audiosearch.Run) { run.State, run.Termination = "TERMINATED", "INTERNAL_ERROR" })
			return nil
		}, verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "TERMINATED",
			how: "INTERNAL_ERROR", attempts: 1},
		"cancelled elsewhere, and failed": {watch: time.Hour, during: func(b *bench, _ context.Context) error {
			change(b, func(run *audiosearch.Run) { run.State = "TERMINATING" })
			return errBroken
		}, verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "TERMINATED",
			how: "CLIENT_ERROR", attempts: 1},
		"cancelled here": {watch: time.Hour, during: func(b *bench, ctx context.Context) error {
			_, err := b.Cancel(context.Background(), org, "", "d", b.id)
			require.NoError(b.t, err)
			return untilCut(b, ctx)
		}, verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "TERMINATED",
			how: "CLIENT_ERROR", attempts: 1},
		"another model": {before: func(b *bench) {
			id := "volume/deaf"
			b.scorer.id.Store(&id)
		}, verdict: mortise.Verdict{Kind: mortise.VerdictDone}, state: "TERMINATED",
			how: "CLIENT_ERROR", attempts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{queue: new(handQueue), store: &brittle{Store: newMemory(t).AudioSearch().Store}}
			b.rig = newRig(t, nil)
			b.store.Store = b.db.AudioSearch().Store
			s, err := audiosearch.New(audiosearch.Backend{Store: b.store, Queue: b.queue}, &audiosearch.Options{Scorers: []sound.Scorer{classLoser{b.scorer}}, Media: b.media, Files: mustFolder(t, b.dir), Env: mortise.Env{Observer: b.observe}})
			require.NoError(t, err)
			b.Service = s
			if test.watch == 0 {
				test.watch = 10 * time.Millisecond
			}
			w, err := audiosearch.NewWorker(s, &audiosearch.WorkerOptions{Watch: test.watch,
				Backoff: func(int) time.Duration { return cmp.Or(test.backoff, 7*time.Second) }})
			require.NoError(t, err)
			b.video("a", 1000, nil, nil)
			b.id = b.start(audiosearch.Query{Class: loud})
			if test.before != nil {
				test.before(b)
			}
			if test.during != nil {
				hook := func(ctx context.Context) error { return test.during(b, ctx) }
				b.scorer.hook.Store(&hook)
			}
			_, err = w.RunOnce(t.Context())
			require.NoError(t, err)
			b.store.failures.Store(0)
			run := b.results(b.id)
			assert.Equal(t, []any{test.state, test.how, test.attempts}, []any{run.State, run.Termination, run.Attempts}, run.Message)
			assert.Equal(t, test.verdict, b.queue.verdict)
			if test.told {
				assert.Equal(t, 1, b.ends())
			}
		})
	}
}

// ends returns how many ends of runs were observed.
func (r *rig) ends() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.events {
		if o.Kind == mortise.KindTerminated {
			n++
		}
	}
	return n
}

// classLoser knows no class but one when its ID says so.
type classLoser struct{ *volume }

func (c classLoser) Model(ctx context.Context) (sound.Model, error) {
	m, err := c.volume.Model(ctx)
	if m.ID == "volume/deaf" {
		m.Classes = []sound.Class{quiet}
	}
	return m, err
}

// TestShutdownBeforeAnAttempt: it is not begun.
func TestShutdownBeforeAnAttempt(t *testing.T) {
	r := newRig(t, nil)
	queue := new(handQueue)
	s, err := audiosearch.New(audiosearch.Backend{Store: r.db.AudioSearch().Store, Queue: queue}, &audiosearch.Options{Scorers: []sound.Scorer{r.scorer}})
	require.NoError(t, err)
	w, err := audiosearch.NewWorker(s, nil)
	require.NoError(t, err)
	run, err := s.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.RunOnce(ctx)
	require.NoError(t, err)
	assert.Equal(t, mortise.Verdict{}, queue.verdict)
	assert.Equal(t, []any{audiosearch.StateQueued, 0}, []any{r.results(run.ID).State, r.results(run.ID).Attempts})
}

// TestDrain: a running attempt may finish.
func TestDrain(t *testing.T) {
	r := newRig(t, func(_ *audiosearch.Options, w *audiosearch.WorkerOptions) { w.Drain = time.Hour })
	r.video("a", 1000, nil, nil)
	ctx, shutdown := context.WithCancel(t.Context())
	hook := func(ctx context.Context) error {
		shutdown()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
			return nil
		}
	}
	r.scorer.hook.Store(&hook)
	id := r.start(audiosearch.Query{Class: loud})
	require.NoError(t, r.worker.Run(ctx))
	assert.Equal(t, audiosearch.Success, r.results(id).Termination)
}

// TestSignsOfLife: a run that makes no progress is touched now and then, not each time
// that it is looked at.
func TestSignsOfLife(t *testing.T) {
	db := newMemory(t)
	store := &countingUpdates{Store: db.AudioSearch().Store}
	r := newRigOn(t, db, store, func(_ *audiosearch.Options, w *audiosearch.WorkerOptions) { w.Watch = time.Millisecond })
	r.video("a", 1000, nil, nil)
	var id int64
	hook := func(context.Context) error {
		assert.Eventually(t, func() bool { // all that a run says of itself while a scorer is at work
			run := r.results(id)
			return run.Total == 1 && run.Sound.Total > 0 && run.UpdatedAt.After(run.StartedAt)
		}, time.Minute, time.Millisecond)
		n := store.n.Load()
		time.Sleep(50 * time.Millisecond)
		assert.Equal(t, n, store.n.Load())
		return nil
	}
	r.scorer.hook.Store(&hook)
	id = r.start(audiosearch.Query{Class: loud})
	r.drain(1)
}

type countingUpdates struct {
	audiosearch.Store
	n atomic.Int64
}

func (c *countingUpdates) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	c.n.Add(1)
	return c.Store.UpdateRun(ctx, org, id, update)
}

// TestClassGone: the run says what happened, in a sentence for people.
func TestClassGone(t *testing.T) {
	r := newRig(t, nil)
	s, err := audiosearch.New(r.db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{classLoser{r.scorer}}})
	require.NoError(t, err)
	w, err := audiosearch.NewWorker(s, nil)
	require.NoError(t, err)
	run, err := s.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	deaf := "volume/deaf"
	r.scorer.id.Store(&deaf)
	_, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	run = r.results(run.ID)
	assert.Equal(t, audiosearch.ClientError, run.Termination)
	assert.Contains(t, run.Message, "another scorer")
	assert.NotContains(t, run.Message, "audiosearch:", "names of packages")
}
