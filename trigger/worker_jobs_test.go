package trigger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// TestLateWorker: an attempt outlives its lease, and another worker takes over in the
// meantime.
func TestLateWorker(t *testing.T) {
	for name, test := range map[string]struct {
		late, other error // what the attempts return
		status      trigger.Status
		attempts    int
		lastError   string
	}{
		"late success counts":           {nil, errWork, trigger.StatusCompleted, 2, "the work failed"},
		"success of both counts once":   {nil, nil, trigger.StatusCompleted, 2, ""},
		"late failure changes nothing":  {trigger.Permanent(errors.New("late")), errWork, trigger.StatusReceived, 2, "the work failed"},
		"late failure after completion": {trigger.Permanent(errors.New("late")), nil, trigger.StatusCompleted, 2, ""},
		"late success after failure":    {nil, trigger.Permanent(errWork), trigger.StatusFailed, 2, "the work failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var f *triggertest.Fake
			f = triggertest.New(t, &triggertest.Options{Processor: func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
				if e.Attempts == 2 {
					return trigger.Outcome{Summary: "other"}, test.other
				}
				f.Advance(16 * time.Second)
				found, err := f.Worker.RunOnce(ctx)
				assert.True(t, found && err == nil)
				return trigger.Outcome{Summary: "late"}, test.late
			}})
			e := submit(t, f.Service, "a")
			found, err := f.Worker.RunOnce(t.Context())
			require.NoError(t, err)
			require.True(t, found)
			now := get(t, f.Service, e.ID)
			assert.Equal(t, test.status, now.Status)
			assert.Equal(t, test.attempts, now.Attempts)
			assert.Equal(t, test.lastError, now.LastError)
			completed := 0
			for _, o := range f.Observations() {
				if o.Kind == mortise.KindCompleted {
					completed++
				}
			}
			assert.LessOrEqual(t, completed, 1)
			if !now.Status.Finished() {
				f.Advance(time.Hour)
				require.Equal(t, 1, f.Drain(t.Context()), "the job is still there")
			}
		})
	}
}

// TestLateFailureAfterAShutdown: an attempt that outlives its lease fails after the attempt that
// took over was cut off by a shutdown, which gave its number back. The failure changes nothing.
func TestLateFailureAfterAShutdown(t *testing.T) {
	s, _, clock := faulty(t, trigger.Options{})
	ctx, shutDown := context.WithCancelCause(t.Context())
	var w *trigger.Worker
	attempt := 0
	w, err := trigger.NewWorker(s, func(attempting context.Context, e trigger.Event) (trigger.Outcome, error) {
		if attempt++; attempt == 2 {
			shutDown(trigger.ErrShutdown)
			<-attempting.Done()
			return trigger.Outcome{}, attempting.Err()
		}
		clock.Advance(time.Minute)
		w.Handle(ctx, mortise.Delivery{Job: e.Job(), Deliveries: 2})
		return trigger.Outcome{}, trigger.Permanent(errors.New("late"))
	}, nil)
	require.NoError(t, err)
	e := submit(t, s, "a")
	assert.Equal(t, mortise.Verdict{After: time.Second}, w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1}))
	now := get(t, s, e.ID)
	assert.Equal(t, 2, attempt)
	assert.Equal(t, trigger.StatusReceived, now.Status)
	assert.Equal(t, 1, now.Attempts)
	assert.Len(t, now.AttemptsLog(), 2, "found running, and cut off")
}

func TestEventsTimesStayInOrder(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	var w *trigger.Worker
	var err error
	// The first attempt takes the time of its end, and then a second one begins before
	// that end is written.
	first := true
	w, err = trigger.NewWorker(s, func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
		if first {
			first = false
			faults.Before = triggertest.On(func(string) error {
				faults.Before = nil
				clock.Advance(time.Minute)
				found, err := w.RunOnce(ctx)
				assert.True(t, found && err == nil)
				return nil
			}, "Store.UpdateEvent")
			return trigger.Outcome{}, nil
		}
		return trigger.Outcome{}, errWork
	}, nil)
	require.NoError(t, err)
	e := submit(t, s, "a")
	_, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	done := get(t, s, e.ID)
	require.Equal(t, trigger.StatusCompleted, done.Status)
	assert.False(t, done.FinishedAt.Before(done.StartedAt), "finished %v, started %v", done.FinishedAt, done.StartedAt)
}

func TestJobsWithNothingToDo(t *testing.T) {
	db, ran := openMemory(t), 0
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	w, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		ran++
		return trigger.Outcome{}, nil
	}, nil)
	require.NoError(t, err)
	e := submit(t, s, "a")
	_, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, ran)
	job := func(org, id string) mortise.Job { return mortise.Job{Kind: trigger.JobKind, Organization: org, ID: id} }
	const minute = 63 * time.Second // 1 + 2 + 4 + 8 + 16 + 32 s
	for _, c := range []struct {
		name  string
		job   mortise.Job
		waits time.Duration
	}{
		{"finished", e.Job(), 0},
		{"no event's", job("acme", "nothing"), 0},
		{"no generation", job("acme", e.ID.String()+"-"), 0},
		{"a generation as nobody writes it", job("acme", e.ID.String()+"-00"), 0},
		{"a generation to come", job("acme", e.ID.String()+"-1"), minute},
		{"other organization", job("other", e.ID.String()+"-0"), minute},
		{"unknown", job("acme", uuid.NewString()+"-0"), minute},
	} {
		var waited time.Duration
		d := mortise.Delivery{Job: c.job, Deliveries: 1}
		v := w.Handle(t.Context(), d)
		for ; v.Kind == mortise.VerdictRetry && d.Deliveries < 100; v = w.Handle(t.Context(), d) {
			waited += v.After
			d.Deliveries++
		}
		assert.Equal(t, mortise.VerdictDone, v.Kind, c.name)
		assert.Equal(t, c.waits, waited, c.name)
	}
	assert.Equal(t, 1, ran)
}

func TestRetryLeavesTheOldJobBehind(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	var generations []int
	w, err := trigger.NewWorker(s, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		generations = append(generations, e.Generation)
		if len(generations) == 1 {
			faults.After = triggertest.On(func(string) error { panic("crash") }, "Store.UpdateEvent")
		}
		return trigger.Outcome{}, trigger.Permanent(errWork)
	}, nil)
	require.NoError(t, err)
	e := submit(t, s, "a")
	assert.Panics(t, func() { _, _ = w.RunOnce(t.Context()) }, "failed, and the job is not removed")
	faults.After = nil
	clock.Advance(16 * time.Second)
	_, err = s.Retry(t.Context(), "acme", "", e.ID)
	require.NoError(t, err)
	for range 2 {
		found, err := w.RunOnce(t.Context())
		require.NoError(t, err)
		require.True(t, found)
	}
	assert.Equal(t, []int{0, 1}, generations, "one job did nothing")
}

func TestRunOnceNeedsSteps(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: struct{ mortise.Queue }{db.Queue(nil)}}, nil)
	require.NoError(t, err)
	w, err := trigger.NewWorker(s, returning(nil), nil)
	require.NoError(t, err)
	_, err = w.RunOnce(t.Context())
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
