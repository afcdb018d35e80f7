package trigger_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
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

// kindsOf runs a worker over one event whose attempts fail, for an hour.
func kindsOf(t *testing.T, failure error, o trigger.Options, w trigger.WorkerOptions) (kinds []mortise.Kind, started []time.Time, left trigger.Event) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		db := openMemory(t)
		o.Logger = slog.New(slog.DiscardHandler)
		o.Observer = func(_ context.Context, o mortise.Observation) {
			mu.Lock()
			defer mu.Unlock()
			if kinds = append(kinds, o.Kind); o.Kind == mortise.KindStarted {
				started = append(started, time.Now())
			}
		}
		s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(&leases.Options{Logger: o.Logger})}, &o)
		require.NoError(t, err)
		work, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) { return trigger.Outcome{}, failure }, &w)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- work.Run(ctx) }()
		e := submit(t, s, "a")
		time.Sleep(time.Hour)
		cancel()
		require.NoError(t, <-ended)
		left, err = s.Event(context.Background(), e.Organization, e.ID)
		require.NoError(t, err)
	})
	return kinds, started, left
}

// TestLogErrorThatPanicsHidesNoDeadLetter: the Observer hears of the event that was given up.
func TestLogErrorThatPanicsHidesNoDeadLetter(t *testing.T) {
	kinds, _, left := kindsOf(t, trigger.Permanent(errors.New("no")), trigger.Options{LogError: func(error) string { panic("x") }}, trigger.WorkerOptions{})
	require.Equal(t, trigger.StatusFailed, left.Status)
	assert.True(t, slices.Contains(kinds, mortise.KindFailed), "%v", kinds)
}

// TestLogErrorThatPanicsKeepsTheWait: the wait that the Processor asked for is kept.
func TestLogErrorThatPanicsKeepsTheWait(t *testing.T) {
	kinds, started, _ := kindsOf(t, trigger.RetryAfter(errors.New("no"), 10*time.Minute), trigger.Options{LogError: func(error) string { panic("x") }}, trigger.WorkerOptions{})
	assert.True(t, slices.Contains(kinds, mortise.KindRetrying), "%v", kinds)
	require.Greater(t, len(started), 1)
	assert.GreaterOrEqual(t, started[1].Sub(started[0]), 10*time.Minute)
}

// dues is a tracer that keeps the works it is told of.
type dues struct {
	at    func() time.Time
	late  []time.Duration // of the begin of each attempt behind its Due
	works []mortise.Work
}

func (d *dues) Inject(context.Context, map[string]string) {}
func (d *dues) Start(ctx context.Context, w mortise.Work, _ map[string]string) (context.Context, func(error)) {
	d.late, d.works = append(d.late, d.at().Sub(w.Due)), append(d.works, w)
	return ctx, func(error) {}
}

// TestDueAfterADeath: after an attempt whose worker died, the next one is due when it begins.
func TestDueAfterADeath(t *testing.T) {
	clock := new(triggertest.Clock)
	d := &dues{at: clock.Now}
	f := triggertest.New(t, &triggertest.Options{Clock: clock, Service: trigger.Options{Env: mortise.Env{Tracer: d}}})
	e := submit(t, f.Service, "a")
	job := e.Job()
	ctx, die := context.WithCancel(t.Context())
	stuck := make(chan struct{})
	defer close(stuck)
	dying, err := trigger.NewWorker(f.Service, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		die()
		<-stuck
		return trigger.Outcome{}, nil
	}, &trigger.WorkerOptions{Grace: time.Millisecond})
	require.NoError(t, err)
	dying.Handle(ctx, mortise.Delivery{Job: job, Deliveries: 1})
	clock.Advance(15 * time.Second) // the lease ends
	f.Worker.Handle(t.Context(), mortise.Delivery{Job: job, Deliveries: 2})
	require.Len(t, d.late, 2)
	assert.GreaterOrEqual(t, d.late[1], time.Duration(0), "the attempt began before it might have begun")
}

// TestReasonOfFailedAttempts: a time limit of the Processor's own calls is not the timeout of
// the attempt, and the failure of a service that it calls is not a failure of the store.
func TestReasonOfFailedAttempts(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, mortise.ErrUnavailable, mortise.ErrDeleted} {
		f := triggertest.New(t, &triggertest.Options{Processor: returning(trigger.Permanent(err))})
		submit(t, f.Service, "a")
		f.Drain(t.Context())
		for _, o := range f.Observations() {
			if o.Kind == mortise.KindFailed {
				assert.Equal(t, mortise.ReasonFailed, o.Reason, "%v", err)
			}
		}
	}
}
