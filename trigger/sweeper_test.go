package trigger_test

import (
	"context"
	"log/slog"
	"strings"
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
	assert.Equal(t, time.Microsecond, swept[0].Wait, "since a worker should have had it")
	queued, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	require.Zero(t, queued, "once is enough")

	_, err = worker.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, trigger.StatusCompleted, only(t, s).Status)
}

func TestSweeperGoesOnAtItsNextTurn(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	w, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	for range 1001 {
		crash(t, s, faults, "a")
	}
	clock.Advance(time.Minute)
	for _, op := range []string{"Queue.Enqueue", "Store.UpdateEvent", "Store.Overdue"} {
		hook, _ := triggertest.Outage()
		faults.Before = triggertest.On(hook, op)
		queued, err := w.RunOnce(t.Context())
		require.ErrorIs(t, err, mortise.ErrUnavailable, op)
		assert.Zero(t, queued)
	}
	faults.Before = nil
	clock.Advance(time.Minute) // what could not be queued was put off
	for _, want := range []int{1001, 0} {
		queued, err := w.RunOnce(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, queued)
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

// An event that could neither be queued nor marked failed runs: its caller was told that this
// is open.
func TestAnEventThatCouldNotBeMarkedRuns(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	worker, err := trigger.NewWorker(s, returning(nil), nil)
	require.NoError(t, err)
	w, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	outage, heal := triggertest.Outage()
	faults.Before = triggertest.On(outage, "Store.UpdateEvent", "Queue.Enqueue")
	_, err = s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	heal()
	clock.Advance(time.Minute)
	_, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	_, err = worker.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, trigger.StatusCompleted, only(t, s).Status)
}

// An event whose job the queue refused at first and took then is not marked failed: WakeAt
// says that the sweeper was faster.
func TestTheSweeperIsFasterThanTheMark(t *testing.T) {
	s, faults, clock := faulty(t, trigger.Options{})
	w, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	first := true
	faults.Before = triggertest.On(func(string) error {
		if !first {
			return nil
		}
		first = false
		clock.Advance(time.Minute)
		_, err := w.RunOnce(t.Context())
		require.NoError(t, err)
		return context.DeadlineExceeded
	}, "Queue.Enqueue")
	e, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.NoError(t, err)
	assert.Equal(t, trigger.StatusReceived, get(t, s, e.ID).Status)
}

func TestRetention(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{
		Processor: returning(nil, trigger.Permanent(errWork)),
		Worker: trigger.WorkerOptions{Sweep: trigger.SweeperOptions{
			Retention: trigger.Retention{Completed: time.Hour, Failed: 3 * time.Hour, Cancelled: 2 * time.Hour},
		}},
	})
	submit(t, f.Service, "a")
	f.Drain(t.Context())
	submit(t, f.Service, "b")
	f.Drain(t.Context())
	_, err := f.Cancel(t.Context(), "acme", "", submit(t, f.Service, "c").ID)
	require.NoError(t, err)
	for _, left := range []int{2, 1, 0} {
		f.Advance(time.Hour)
		f.Drain(t.Context())
		assert.Len(t, f.History(), left+1)
		f.Advance(time.Microsecond)
		f.Drain(t.Context())
		assert.Len(t, f.History(), left)
		f.Advance(-time.Microsecond)
	}
}

func TestSweeperRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openMemory(t)
		var faults triggertest.Faults
		queue := leases.New(struct{ mortise.Leases }{db.Jobs()}, nil)
		s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: faults.Queue(queue)}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		crash(t, s, &faults, "a")
		w, err := trigger.NewSweeper(s, &trigger.SweeperOptions{Every: time.Minute})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(59 * time.Second)
		before := only(t, s).WakeAt
		time.Sleep(2 * time.Second)
		assert.True(t, only(t, s).WakeAt.After(before))
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

// weighingStore notes the longest answer of Overdue, in bytes.
type weighingStore struct {
	trigger.Store
	most int
}

func (w *weighingStore) Overdue(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	events, err := w.Store.Overdue(ctx, before, limit)
	n := 0
	for i := range events {
		n += events[i].Size()
	}
	w.most = max(w.most, n)
	return events, err
}

// TestSweepHoldsFewLongEvents: one organization whose long events are due together does not have a
// sweeper hold more of them than a page of a list.
func TestSweepHoldsFewLongEvents(t *testing.T) {
	db, clock := openMemory(t), new(triggertest.Clock)
	store := &weighingStore{Store: db.Trigger().Store}
	s, err := trigger.New(trigger.Backend{Store: store, Queue: struct{ mortise.Queue }{db.Queue(nil)}},
		&trigger.Options{Env: mortise.Env{Now: clock.Now, Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	sub := later(clock.Now().Add(time.Hour))
	sub.Instructions = strings.Repeat("a", 1<<20)
	for range 100 {
		_, err := s.Submit(t.Context(), "acme", "", sub)
		require.NoError(t, err)
	}
	clock.Advance(2 * time.Hour)
	w, err := trigger.NewSweeper(s, nil)
	require.NoError(t, err)
	_, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	assert.LessOrEqual(t, store.most, 16<<20, "bytes of events in one answer")
}
