package trigger_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// rows are the host's, in the database of the events.
type rows struct{ *memory.Trigger }

// add writes a row for an event.
func (r rows) add(ctx context.Context, e *trigger.Event) error {
	row := trigger.Collection{ID: uuid.New()}
	return r.UpdateOrganization(ctx, "rows of "+e.ID.String(), func(o *trigger.Organization) error {
		o.Collections = append(o.Collections, row)
		return nil
	})
}

// of returns how many rows there are for an event.
func (r rows) of(t *testing.T, e *trigger.Event) int {
	t.Helper()
	o, err := r.Setup(t.Context(), "rows of "+e.ID.String())
	if !errors.Is(err, mortise.ErrNotFound) {
		require.NoError(t, err)
	}
	return len(o.Collections)
}

// applying returns a Processor whose Apply adds a row, and then does what is given for the call.
func (r rows) applying(then ...func(ctx context.Context) error) trigger.Processor {
	n := 0
	return func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{Summary: "done", Apply: func(ctx context.Context) error {
			if err := r.add(ctx, &e); err != nil {
				return err
			}
			n++
			if n > len(then) {
				return nil
			}
			return then[n-1](ctx)
		}}, nil
	}
}

// applyFake is a fake whose database has rows of the host's.
func applyFake(t *testing.T, opts triggertest.Options, processor func(rows) trigger.Processor) (*triggertest.Fake, rows) {
	t.Helper()
	opts.Clock = new(triggertest.Clock)
	opts.DB = openMemoryAt(t, opts.Clock.Now)
	r := rows{opts.DB.Trigger().Store.(*memory.Trigger)}
	opts.Processor, opts.Worker.Apply = processor(r), true
	return triggertest.New(t, &opts), r
}

// TestApply: the row of Apply is there if and only if the event has ended as completed, once. An
// error and a panic of Apply are the attempt's.
func TestApply(t *testing.T) {
	fails := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	for name, c := range map[string]struct {
		first  func(context.Context) error
		status trigger.Status
		text   string
	}{
		"an error":               {fails(errWork), trigger.StatusReceived, "the work failed"},
		"a permanent error":      {fails(trigger.Permanent(errWork)), trigger.StatusFailed, "the work failed"},
		"an error of a time":     {fails(trigger.RetryAfter(errWork, time.Hour)), trigger.StatusReceived, "the work failed"},
		"a panic":                {func(context.Context) error { panic("ouch") }, trigger.StatusReceived, "Outcome.Apply panicked: ouch"},
		"a failure of the store": {fails(mortise.ErrUnavailable), trigger.StatusReceived, mortise.ErrUnavailable.Error()},
		"a word of ours":         {fails(mortise.ErrNotFound), trigger.StatusReceived, mortise.ErrNotFound.Error()},
		"a list":                 {fails(listError{"bad title", "bad body"}), trigger.StatusReceived, "bad title, bad body"},
	} {
		for _, separate := range []bool{false, true} {
			f, r := applyFake(t, triggertest.Options{SeparateQueue: separate}, func(r rows) trigger.Processor { return r.applying(c.first) })
			e := submit(t, f.Service, "a")
			require.Equal(t, 1, f.Drain(t.Context()), name)
			now := get(t, f.Service, e.ID)
			assert.Equal(t, c.status, now.Status, name)
			assert.Equal(t, c.text, now.LastError, name)
			assert.Equal(t, 1, now.Attempts, name)
			assert.Zero(t, r.of(t, &e), name)
			if c.status == trigger.StatusFailed {
				_, err := f.Retry(t.Context(), "acme", "", e.ID)
				require.NoError(t, err)
			}
			f.Advance(time.Hour)
			require.Equal(t, 1, f.Drain(t.Context()), name)
			now = get(t, f.Service, e.ID)
			assert.Equal(t, trigger.StatusCompleted, now.Status, name)
			assert.Equal(t, &trigger.Outcome{Summary: "done"}, now.Outcome, name)
			assert.Equal(t, 1, r.of(t, &e), name)
		}
	}
}

// listError cannot be compared.
type listError []string

func (l listError) Error() string { return strings.Join(l, ", ") }

// refusingStore refuses each COMMIT of Transact, as a deferred constraint of the host's does.
type refusingStore struct{ *memory.Trigger }

func (r refusingStore) Transact(ctx context.Context, org string, do func(ctx context.Context) error) error {
	return r.Trigger.Transact(ctx, org, func(ctx context.Context) error { return errors.Join(do(ctx), errors.New("a constraint")) })
}

// TestRefusedCommit: a transaction that is refused again and again fails the attempt.
func TestRefusedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openMemory(t)
		r := rows{db.Trigger().Store.(*memory.Trigger)}
		s, err := trigger.New(trigger.Backend{Store: refusingStore(r), Queue: struct{ mortise.Queue }{db.Queue(nil)}}, &trigger.Options{
			Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)},
		})
		require.NoError(t, err)
		w, err := trigger.NewWorker(s, r.applying(), &trigger.WorkerOptions{Apply: true, Backoff: func(int) time.Duration { return time.Hour }})
		require.NoError(t, err)
		e := submit(t, s, "a")
		assert.Equal(t, mortise.Verdict{After: time.Hour}, w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1}))
		now := get(t, s, e.ID)
		assert.Equal(t, trigger.StatusReceived, now.Status)
		assert.Contains(t, now.LastError, "a constraint")
		assert.Zero(t, r.of(t, &e))
	})
}

// TestLostAnswerToApply: a transaction whose COMMIT took effect, and was not answered, is not made
// again; one that never began is.
func TestLostAnswerToApply(t *testing.T) {
	for _, separate := range []bool{false, true} {
		for _, after := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { // in which the pause between two tries takes no time
				clock := new(triggertest.Clock)
				db := openMemoryAt(t, clock.Now)
				r := rows{db.Trigger().Store.(*memory.Trigger)}
				lost := triggertest.On(triggertest.Nth(1), "Store.Transact")
				faults := &triggertest.Faults{Before: lost}
				if after {
					faults = &triggertest.Faults{After: lost}
				}
				queue := faults.Queue(db.Queue(nil))
				if separate {
					queue = struct{ mortise.Queue }{queue}
				}
				s, err := trigger.New(trigger.Backend{Store: faults.Store(r.Trigger), Queue: queue}, &trigger.Options{
					Env: mortise.Env{Now: clock.Now, Logger: slog.New(slog.DiscardHandler)},
				})
				require.NoError(t, err)
				w, err := trigger.NewWorker(s, r.applying(), &trigger.WorkerOptions{Apply: true})
				require.NoError(t, err)
				e := submit(t, s, "a")
				assert.Equal(t, mortise.Verdict{Kind: mortise.VerdictDone}, w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1}))
				now := get(t, s, e.ID)
				assert.Equal(t, trigger.StatusCompleted, now.Status)
				assert.Equal(t, 1, now.Attempts)
				assert.Equal(t, 1, r.of(t, &e))
			})
		}
	}
}

// TestApplyOfTheNewestAttempt: an attempt that outlived its lease may complete the event, but not
// by Apply once another attempt has begun.
func TestApplyOfTheNewestAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		second error // of the attempt that takes over
		status trigger.Status
	}{
		"the other one completes": {nil, trigger.StatusCompleted},
		"the other one fails":     {errWork, trigger.StatusReceived},
	} {
		var w *trigger.Worker
		n := 0
		f, r := applyFake(t, triggertest.Options{SeparateQueue: true}, func(r rows) trigger.Processor {
			apply := r.applying()
			return func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
				if n++; n > 1 {
					o, _ := apply(ctx, e)
					return o, c.second
				}
				w.Handle(ctx, mortise.Delivery{Job: e.Job(), Deliveries: 2})
				return apply(ctx, e)
			}
		})
		w = f.Worker
		e := submit(t, f.Service, "a")
		late := w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1})
		if c.second != nil {
			assert.GreaterOrEqual(t, late.After, time.Second, "a job that comes at once would begin a third attempt")
		}
		now := get(t, f.Service, e.ID)
		assert.Equal(t, 2, n, name)
		assert.Equal(t, c.status, now.Status, name)
		assert.Equal(t, 2, now.Attempts, name)
		assert.Equal(t, now.Status == trigger.StatusCompleted, r.of(t, &e) == 1, name)
	}
}

// TestApplyOfACancelledEvent: of an event that was cancelled meanwhile nothing is applied.
func TestApplyOfACancelledEvent(t *testing.T) {
	var f *triggertest.Fake
	f, r := applyFake(t, triggertest.Options{}, func(r rows) trigger.Processor {
		apply := r.applying()
		return func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
			_, err := f.Cancel(t.Context(), "acme", "", e.ID)
			require.NoError(t, err)
			return apply(ctx, e)
		}
	})
	e := submit(t, f.Service, "a")
	require.Equal(t, 1, f.Drain(t.Context()))
	assert.Equal(t, trigger.StatusCancelled, get(t, f.Service, e.ID).Status)
	assert.Zero(t, r.of(t, &e))
}

// TestApplyTakesTooLong: the time of Apply is bounded, and its end fails the attempt.
func TestApplyTakesTooLong(t *testing.T) {
	for name, err := range map[string]error{"no error": nil, "its context's": context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			f, r := applyFake(t, triggertest.Options{}, func(r rows) trigger.Processor {
				return r.applying(func(ctx context.Context) error {
					<-ctx.Done()
					return err
				})
			})
			e := submit(t, f.Service, "a")
			require.Equal(t, 1, f.Drain(t.Context()))
			now := get(t, f.Service, e.ID)
			assert.Equal(t, trigger.StatusReceived, now.Status, name)
			assert.Contains(t, now.LastError, "deadline exceeded", name)
			assert.Zero(t, r.of(t, &e), name)
		})
	}
}

// TestLeaseLostDuringApply: the transaction of a worker that has lost its lease is rolled back,
// and its error is not written to the event.
func TestLeaseLostDuringApply(t *testing.T) {
	ctx, lose := context.WithCancelCause(t.Context())
	f, r := applyFake(t, triggertest.Options{SeparateQueue: true}, func(r rows) trigger.Processor {
		return r.applying(func(ctx context.Context) error {
			lose(mortise.ErrLeaseLost)
			<-ctx.Done()
			return ctx.Err()
		})
	})
	e := submit(t, f.Service, "a")
	f.Worker.Handle(ctx, mortise.Delivery{Job: e.Job(), Deliveries: 1})
	now := get(t, f.Service, e.ID)
	assert.Equal(t, trigger.StatusProcessing, now.Status)
	assert.Empty(t, now.LastError)
	assert.Zero(t, r.of(t, &e))
	f.Advance(time.Hour)
	f.Worker.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 2})
	assert.Equal(t, trigger.StatusCompleted, get(t, f.Service, e.ID).Status)
	assert.Equal(t, 1, r.of(t, &e))
}

// TestApplyIsAskedFor: without the option an outcome with Apply fails for good, and a store
// without transactions is refused at once.
func TestApplyIsAskedFor(t *testing.T) {
	applied := false
	f := triggertest.New(t, &triggertest.Options{Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{Apply: func(context.Context) error { applied = true; return nil }}, nil
	}})
	e := submit(t, f.Service, "a")
	require.Equal(t, 1, f.Drain(t.Context()))
	now := get(t, f.Service, e.ID)
	assert.Equal(t, trigger.StatusFailed, now.Status)
	assert.Contains(t, now.LastError, "WorkerOptions.Apply")
	assert.False(t, applied)

	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: struct{ trigger.Store }{db.Trigger().Store}, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	_, err = trigger.NewWorker(s, returning(nil), &trigger.WorkerOptions{Apply: true})
	require.ErrorContains(t, err, "mortise.Transactor")
	require.False(t, errors.Is(err, mortise.ErrUnavailable))
}
