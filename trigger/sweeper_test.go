package trigger_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// crash submits a request with a process that dies between storing the event and queueing
// its job.
func crash(t *testing.T, s *trigger.Service, faults *triggertest.Faults, instructions string) {
	t.Helper()
	faults.Before = triggertest.On(func(string) error { panic("crash") }, "Queue.Enqueue")
	assert.Panics(t, func() { _, _ = s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: instructions}) })
	faults.Before = nil
}

func TestSweeperQueuesWhatACrashLeft(t *testing.T) {
	var swept []mortise.Observation
	s, faults, clock := faulty(t, trigger.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		if o.Kind == mortise.KindSwept {
			swept = append(swept, o)
		}
	}}})
	w, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	worker, err := trigger.NewWorker(s, returning(nil), nil)
	require.NoError(t, err)

	crash(t, s, faults, "a")
	clock.Advance(30 * time.Second)
	queued, err := w.RunOnce(t.Context())
	require.NoError(t, err)
	require.Zero(t, queued, "a Submit may still be at it")
	found, err := worker.RunOnce(t.Context())
	require.NoError(t, err)
	require.False(t, found)

	clock.Advance(time.Microsecond)
	queued, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, queued)
	require.Len(t, swept, 1)
	assert.Equal(t, only(t, s).ID.String(), swept[0].Object)
	assert.Equal(t, 30*time.Second+time.Microsecond, swept[0].Wait)
	queued, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	require.Zero(t, queued, "once is enough")

	_, err = worker.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, trigger.StatusCompleted, only(t, s).Status)
}

func TestSweeperGoesOnAtItsNextTurn(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	w, err := trigger.NewSweeper(s, &trigger.SweeperOptions{After: time.Second})
	require.NoError(t, err)
	for range 1001 {
		crash(t, s, faults, "a")
	}
	clock.Advance(time.Minute)
	for _, op := range []string{"Queue.Enqueue", "Store.UpdateEvent", "Store.Unqueued"} {
		hook, _ := triggertest.Outage()
		faults.Before = triggertest.On(hook, op)
		queued, err := w.RunOnce(t.Context())
		require.ErrorIs(t, err, mortise.ErrUnavailable, op)
		assert.Zero(t, queued)
	}
	faults.Before = nil
	clock.Advance(time.Minute) // what could not be queued was put off
	for _, want := range []int{500, 500, 1, 0} {
		queued, err := w.RunOnce(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, queued, "a batch a turn")
	}
}

func TestSweeperWhoseAnswersAreLost(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	w, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	worker, err := trigger.NewWorker(s, returning(nil), nil)
	require.NoError(t, err)
	crash(t, s, faults, "a")
	clock.Advance(time.Hour)
	faults.After = triggertest.On(triggertest.Nth(1), "Queue.Enqueue")
	_, err = w.RunOnce(t.Context())
	require.Error(t, err)
	_, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	attempts := 0
	for {
		found, err := worker.RunOnce(t.Context())
		require.NoError(t, err)
		if !found {
			break
		}
		attempts++
	}
	assert.Equal(t, 1, attempts, "queued twice, and one job")
}

func TestSweeperMarksOldestFirst(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	outage, _ := triggertest.Outage()
	faults.Before = triggertest.On(outage, "Queue.Enqueue", "Store.UpdateEvent")
	for range 10 {
		_, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		clock.Advance(time.Millisecond)
	}
	w, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	_, err = w.RunOnce(t.Context())
	require.ErrorIs(t, err, mortise.ErrUnavailable, "the marks still fail")
	clock.Advance(time.Hour) // it is time to queue what has no job
	faults.Before = triggertest.On(triggertest.Nth(4), "Store.UpdateEvent")
	queued, err := w.RunOnce(t.Context())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Zero(t, queued, "their callers may have submitted them again")
	n := 0
	for e, err := range s.Events(t.Context(), "acme", trigger.EventQuery{}) {
		require.NoError(t, err)
		if n++; n == 7 {
			assert.Equal(t, trigger.StatusReceived, e.Status, "event %d from the newest: the fourth mark failed", n)
			assert.False(t, e.UnqueuedSince.IsZero(), "it has no job")
		} else {
			assert.Equal(t, trigger.StatusFailed, e.Status, "event %d from the newest", n)
		}
	}
}

func TestAnEventThatCouldNotBeMarkedDoesNotRunHere(t *testing.T) {
	s, faults, _ := faulty(t, trigger.Options{})
	ran := false
	worker, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		ran = true
		return trigger.Outcome{}, nil
	}, nil)
	require.NoError(t, err)
	outage, heal := triggertest.Outage()
	faults.Before = triggertest.On(outage, "Store.UpdateEvent")
	faults.After = triggertest.On(outage, "Queue.Enqueue") // the job is there
	_, err = s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	heal()
	found, err := worker.RunOnce(t.Context())
	require.NoError(t, err)
	assert.True(t, found)
	assert.False(t, ran, "its caller may have submitted it again")
	assert.Equal(t, trigger.StatusFailed, only(t, s).Status)
}

func TestRetention(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Worker: trigger.WorkerOptions{Sweep: trigger.SweeperOptions{Retention: time.Hour}}})
	submit(t, f.Service, "a")
	f.Drain(t.Context())
	f.Advance(time.Hour)
	f.Drain(t.Context())
	assert.Len(t, f.History(), 1)
	f.Advance(time.Microsecond)
	f.Drain(t.Context())
	assert.Empty(t, f.History())
}

func TestSweeperRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openMemory(t)
		var faults triggertest.Faults
		queue := leases.New(struct{ mortise.Leases }{db.Jobs()}, nil)
		s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: faults.Queue(queue)}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		crash(t, s, &faults, "a")
		w, err := trigger.NewSweeper(s, &trigger.SweeperOptions{Every: time.Minute, After: time.Second})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(59 * time.Second)
		assert.False(t, only(t, s).UnqueuedSince.IsZero())
		time.Sleep(2 * time.Second)
		assert.True(t, only(t, s).UnqueuedSince.IsZero())
		stop()
		require.NoError(t, <-ended)
	})
}

// TestSweeperIsNotHeldUpByOneEvent: an event that the queue refuses for ever must not
// keep the younger ones waiting.
func TestSweeperIsNotHeldUpByOneEvent(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	w, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	for range 3 {
		crash(t, s, faults, "a")
	}
	clock.Advance(time.Minute)
	faults.Before = triggertest.On(triggertest.Nth(1), "Queue.Enqueue")
	queued, err := w.RunOnce(t.Context())
	require.ErrorIs(t, err, mortise.ErrUnavailable, "it is reported")
	assert.Equal(t, 2, queued)

	calls := 0
	faults.Before = triggertest.On(func(string) error { calls++; return context.DeadlineExceeded }, "Queue.Enqueue")
	for range 30 {
		crashed := faults.Before
		crash(t, s, faults, "a")
		faults.Before = crashed
	}
	clock.Advance(time.Minute)
	_, err = w.RunOnce(t.Context())
	require.Error(t, err)
	assert.Equal(t, 10, calls, "a queue that is down is left alone")
}
