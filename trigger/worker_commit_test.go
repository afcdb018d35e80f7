package trigger_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// unsureStore loses the answer to each COMMIT, and then makes the change once more, as far as
// it is still to be made.
type unsureStore struct{ trigger.Store }

func (u unsureStore) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	if err := u.Store.UpdateEvent(ctx, org, id, update); err != nil {
		return err
	}
	return u.Store.UpdateEvent(ctx, org, id, update)
}

// lateStore loses the answer to each COMMIT that it is told to, and says so.
type lateStore struct {
	trigger.Store
	lost map[int]bool // by the number of the call, from 1 on
	n    int
}

func (l *lateStore) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	l.n++
	if err := l.Store.UpdateEvent(ctx, org, id, update); err != nil || !l.lost[l.n] {
		return err
	}
	return triggertest.ErrInjected
}

// TestLostAnswersToCommits: a worker whose attempt is stored, and who does not hear of it, or
// hears of it by another call of the update, makes the attempt shortly, and not when it would
// be over if somebody else had begun it. What came of it is told once.
func TestLostAnswersToCommits(t *testing.T) {
	unsure := func(s trigger.Store) trigger.Store { return unsureStore{s} }
	late := func(calls ...int) func(trigger.Store) trigger.Store {
		lost := make(map[int]bool)
		for _, n := range calls {
			lost[n] = true
		}
		return func(s trigger.Store) trigger.Store { return &lateStore{Store: s, lost: lost} }
	}
	// The calls of a submission and of an attempt: 1 notes that the job is queued, 2 begins
	// the attempt, or gives the event up, 3 ends it.
	for name, c := range map[string]struct {
		store    func(trigger.Store) trigger.Store
		work     error
		tried    int // attempts before
		verdicts []mortise.Verdict
		attempts int
		status   trigger.Status
		told     mortise.Kind
	}{
		"unsure": {unsure, nil, 0, []mortise.Verdict{{Kind: mortise.VerdictDone}}, 1, trigger.StatusCompleted, mortise.KindCompleted},
		"unsure of a failure": {unsure, trigger.RetryAfter(errWork, time.Hour), 0, []mortise.Verdict{{After: time.Hour}}, 1,
			trigger.StatusReceived, mortise.KindRetrying},
		"unsure of the last failure": {unsure, trigger.Permanent(errWork), 0, []mortise.Verdict{{Kind: mortise.VerdictDead}}, 1,
			trigger.StatusFailed, mortise.KindFailed},
		"unsure whether it was given up": {unsure, nil, 3, []mortise.Verdict{{Kind: mortise.VerdictDead}}, 3,
			trigger.StatusFailed, mortise.KindFailed},
		"late begin": {late(2), nil, 0, []mortise.Verdict{{After: time.Second}, {Kind: mortise.VerdictDone}}, 2,
			trigger.StatusCompleted, mortise.KindCompleted},
		"late end": {late(3), nil, 0, []mortise.Verdict{{Kind: mortise.VerdictDone}}, 1,
			trigger.StatusCompleted, mortise.KindCompleted},
		"late end of the last failure": {late(3, 4), trigger.Permanent(errWork), 0, []mortise.Verdict{{Kind: mortise.VerdictDead}}, 1,
			trigger.StatusFailed, mortise.KindFailed},
	} {
		synctest.Test(t, func(t *testing.T) { // in which the pause between two tries takes no time
			db, clock := openMemory(t), new(triggertest.Clock)
			var told []mortise.Observation
			s, err := trigger.New(trigger.Backend{Store: c.store(db.Trigger().Store), Queue: struct{ mortise.Queue }{db.Queue(nil)}}, &trigger.Options{
				Env: mortise.Env{Now: clock.Now, Logger: slog.New(slog.DiscardHandler), Observer: func(_ context.Context, o mortise.Observation) { told = append(told, o) }},
			})
			require.NoError(t, err)
			ran := 0
			w, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
				ran++
				return trigger.Outcome{}, c.work
			}, &trigger.WorkerOptions{MaxAttempts: 3})
			require.NoError(t, err)
			e := submit(t, s, "a")
			require.NoError(t, db.Trigger().Store.UpdateEvent(t.Context(), e.Organization, e.ID, func(e *trigger.Event) error {
				e.Attempts = c.tried
				return nil
			}))
			told = nil
			for i, want := range c.verdicts {
				require.Equal(t, want, w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: i + 1}), "%s: verdict %d", name, i)
				clock.Advance(want.After)
			}
			got := get(t, s, e.ID)
			assert.Equal(t, c.status, got.Status, name)
			assert.Equal(t, c.attempts, got.Attempts, name)
			assert.Equal(t, min(1, c.attempts-c.tried), ran, "%s: calls of the Processor", name)
			times := 0
			for _, o := range told {
				if o.Kind == c.told {
					times++
				}
			}
			assert.Equal(t, 1, times, "%s: %v is told, of %v", name, c.told, told)
		})
	}
}

// TestSecondJob: a job that is added anew while an attempt runs waits until that must be over,
// also at a store that calls an update again.
func TestSecondJob(t *testing.T) {
	db, clock := openMemory(t), new(triggertest.Clock)
	s, err := trigger.New(trigger.Backend{Store: unsureStore{db.Trigger().Store}, Queue: struct{ mortise.Queue }{db.Queue(nil)}}, &trigger.Options{
		Env: mortise.Env{Now: clock.Now, Logger: slog.New(slog.DiscardHandler)},
	})
	require.NoError(t, err)
	var w *trigger.Worker
	ran := 0
	w, err = trigger.NewWorker(s, func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
		ran++
		clock.Advance(time.Minute)
		v := w.Handle(ctx, mortise.Delivery{Job: e.Job(), Deliveries: 1})
		assert.Equal(t, mortise.Verdict{After: e.DueAt.Sub(clock.Now())}, v)
		assert.Greater(t, v.After, 5*time.Minute)
		return trigger.Outcome{}, nil
	}, &trigger.WorkerOptions{Timeout: 10 * time.Minute})
	require.NoError(t, err)
	e := submit(t, s, "a")
	require.Equal(t, mortise.Verdict{Kind: mortise.VerdictDone}, w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1}))
	assert.Equal(t, 1, ran)
}

// TestLostAnswersToActions: an action whose change is stored, and is made once more because the
// answer to its COMMIT was lost, is done once, and is told once.
func TestLostAnswersToActions(t *testing.T) {
	clock, db := new(triggertest.Clock), openMemory(t)
	var told []mortise.Kind
	s, err := trigger.New(trigger.Backend{Store: unsureStore{db.Trigger().Store}, Queue: struct{ mortise.Queue }{db.Queue(nil)}}, &trigger.Options{
		Env: mortise.Env{Now: clock.Now, Logger: slog.New(slog.DiscardHandler), Observer: func(_ context.Context, o mortise.Observation) { told = append(told, o.Kind) }},
	})
	require.NoError(t, err)
	w, err := trigger.NewWorker(s, returning(trigger.RetryAfter(errWork, time.Hour)), nil)
	require.NoError(t, err)
	e := submit(t, s, "a")
	require.Equal(t, mortise.Verdict{After: time.Hour}, w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1}))
	got := get(t, s, e.ID)
	assert.Len(t, got.AttemptsLog(), 1)
	told = nil
	for generation, action := range []func(context.Context, string, mortise.Actor, uuid.UUID) (trigger.Event, error){s.RunNow, s.Cancel, s.Retry} {
		clock.Advance(time.Second)
		e, err := action(t.Context(), "acme", "", e.ID)
		require.NoError(t, err)
		assert.Equal(t, get(t, s, e.ID), e)
		assert.Equal(t, []int{1, 1, 2}[generation], e.Generation)
	}
	assert.Equal(t, []mortise.Kind{mortise.KindRetried, mortise.KindCancelled, mortise.KindRetried}, told)
}
