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
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// later returns a submission for a time.
func later(at time.Time) trigger.Submission {
	return trigger.Submission{Instructions: "a", NotBefore: at}
}

func TestNotBefore(t *testing.T) {
	bothQueues(t, func(t *testing.T, o triggertest.Options) {
		f := triggertest.New(t, &o)
		for _, wait := range []time.Duration{20 * time.Second, time.Hour, trigger.MaxNotBefore} {
			at := f.Now().Add(wait)
			e, err := f.Submit(t.Context(), "acme", "", later(at))
			require.NoError(t, err)
			assert.Equal(t, at, e.DueAt)
			assert.Equal(t, e, get(t, f.Service, e.ID))
			for range 5 {
				f.Advance((wait - time.Second) / 5)
				require.Zero(t, f.Drain(t.Context()))
			}
			f.Advance(time.Second + time.Microsecond)
			require.Equal(t, 1, f.Drain(t.Context()), "after %v", wait)
		}

		past, err := f.Submit(t.Context(), "acme", "", later(f.Now().Add(-time.Hour)))
		require.NoError(t, err)
		assert.Equal(t, f.Now(), past.DueAt, "a time that has passed is now")
		_, err = f.Submit(t.Context(), "acme", "", later(f.Now().Add(trigger.MaxNotBefore+time.Microsecond)))
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, "not_before", invalid.Problems[0].Path.String())
	})
}

// TestNotBeforeIsPartOfTheRequest: the same key for another time is another request.
func TestNotBeforeIsPartOfTheRequest(t *testing.T) {
	f := triggertest.New(t, nil)
	sub := later(f.Now().Add(time.Hour))
	sub.IdempotencyKey = "k"
	first, err := f.Submit(t.Context(), "acme", "", sub)
	require.NoError(t, err)
	f.Advance(2 * time.Hour)
	again, err := f.Submit(t.Context(), "acme", "", sub)
	require.NoError(t, err, "also once the time has passed")
	assert.Equal(t, first.ID, again.ID)
	for _, at := range []time.Time{{}, sub.NotBefore.Add(time.Microsecond)} {
		sub.NotBefore = at
		_, err = f.Submit(t.Context(), "acme", "", sub)
		require.ErrorIs(t, err, trigger.ErrIdempotencyKeyReused)
	}
}

// TestLaterWaitsInTheStore: a queue elsewhere has no job of an event that is due in more than
// a minute, whatever happens to it meanwhile.
func TestLaterWaitsInTheStore(t *testing.T) {
	lossy(t, nil, returning(nil), func(t *testing.T, r *lossyRig) {
		sub := later(time.Now().Add(24 * time.Hour))
		sub.IdempotencyKey = "k"
		for range 3 {
			_, err := r.service.Submit(t.Context(), "acme", "", sub)
			require.NoError(t, err)
		}
		r.queue.since = time.Now()
		time.Sleep(24 * time.Hour)
		r.sweep(0)
		assert.Zero(t, r.queue.n, "calls of Enqueue")
		time.Sleep(time.Second)
		r.sweep(1)
		r.drain()
		assert.Equal(t, 1, r.completed())
	})
}

func TestCancel(t *testing.T) {
	bothQueues(t, func(t *testing.T, o triggertest.Options) {
		o.Processor = returning(nil)
		f := triggertest.New(t, &o)
		waits := submit(t, f.Service, "a")
		later, err := f.Submit(t.Context(), "acme", "", later(f.Now().Add(time.Hour)))
		require.NoError(t, err)
		done := submit(t, f.Service, "c")
		for _, id := range []uuid.UUID{waits.ID, later.ID} {
			f.Advance(time.Second)
			e, err := f.Cancel(t.Context(), "acme", "ann", id)
			require.NoError(t, err)
			assert.Equal(t, e, get(t, f.Service, id))
			assert.Equal(t, trigger.StatusCancelled, e.Status)
			assert.Equal(t, f.Now(), e.FinishedAt)
			assert.Zero(t, e.DueAt)
			assert.Empty(t, e.AttemptsLog())
			f.Advance(time.Second)
			again, err := f.Cancel(t.Context(), "acme", "ann", id)
			require.NoError(t, err)
			assert.Equal(t, e, again)
		}
		f.Advance(2 * time.Hour)
		require.Equal(t, 1, f.Drain(t.Context()))
		_, err = f.Cancel(t.Context(), "acme", "", done.ID)
		require.ErrorIs(t, err, trigger.ErrNotCancellable)
		_, err = f.Cancel(t.Context(), "other", "", waits.ID)
		require.ErrorIs(t, err, mortise.ErrNotFound)
		counts, err := f.Counts(t.Context(), "acme")
		require.NoError(t, err)
		assert.Equal(t, mortise.Count{N: 2}, counts.Cancelled)
		assert.Equal(t, 2, strings.Count(join(kinds(f)), string(mortise.KindCancelled)), "observed once for each event")

		_, err = f.Retry(t.Context(), "acme", "", waits.ID)
		require.NoError(t, err)
		require.Equal(t, 1, f.Drain(t.Context()))
		assert.Equal(t, trigger.StatusCompleted, get(t, f.Service, waits.ID).Status)
	})
}

func join(kinds []mortise.Kind) (text string) {
	for _, k := range kinds {
		text += " " + string(k)
	}
	return text
}

// TestCancelRunning: a cancellation ends the context of a running attempt, at once in its own
// process and soon in another one, also where jobs are pushed. Its success is dropped.
func TestCancelRunning(t *testing.T) {
	for name, elsewhere := range map[string]bool{"here": false, "in another process": true} {
		for _, pushed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					db := openMemory(t)
					open := func() *trigger.Service {
						s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(&leases.Options{TTL: time.Hour})}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
						require.NoError(t, err)
						return s
					}
					running, causes := make(chan struct{}), make(chan error, 1)
					s := open()
					w, err := trigger.NewWorker(s, func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
						close(running)
						<-ctx.Done()
						causes <- context.Cause(ctx)
						return trigger.Outcome{Summary: "done"}, nil
					}, nil)
					require.NoError(t, err)
					e := submit(t, s, "a")
					ctx, stop := context.WithCancel(t.Context())
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						if pushed {
							v := w.Handle(ctx, mortise.Delivery{Job: e.Job(), Deliveries: 1})
							assert.Equal(t, mortise.VerdictDone, v.Kind)
						} else {
							assert.NoError(t, w.Run(ctx))
						}
					}()
					<-running
					time.Sleep(7 * time.Second)
					at := time.Now()
					by := s
					if elsewhere {
						by = open()
					}
					_, err = by.Cancel(t.Context(), "acme", "", e.ID)
					require.NoError(t, err)
					require.ErrorIs(t, <-causes, trigger.ErrCancelled)
					if elsewhere {
						assert.LessOrEqual(t, time.Since(at), 5*time.Second)
					} else {
						assert.Zero(t, time.Since(at))
					}
					time.Sleep(time.Second)
					stop()
					<-ended
					got := get(t, s, e.ID)
					assert.Equal(t, trigger.StatusCancelled, got.Status)
					assert.Nil(t, got.Outcome)
					require.Len(t, got.AttemptsLog(), 1)
					assert.Equal(t, "cancelled", got.AttemptsLog()[0].Error)
					assert.Equal(t, got.FinishedAt, got.AttemptsLog()[0].EndedAt)
					if !pushed {
						time.Sleep(2 * time.Hour) // beyond the lease
						left, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Minute})
						require.NoError(t, err)
						assert.Empty(t, left)
					}
				})
			})
		}
	}
}

// TestAskingForCancellationsGoesOn: a store that does not answer ends no attempt, and is asked
// again.
func TestAskingForCancellationsGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openMemory(t)
		var asked int
		faults := triggertest.Faults{Before: triggertest.On(func(string) error {
			if asked++; asked < 3 {
				return triggertest.ErrInjected
			}
			return nil
		}, "Store.Progress")}
		s, err := trigger.New(trigger.Backend{Store: faults.Store(db.Trigger().Store), Queue: db.Queue(nil)}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		w, err := trigger.NewWorker(s, func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
			<-ctx.Done()
			return trigger.Outcome{}, context.Cause(ctx)
		}, nil)
		require.NoError(t, err)
		e := submit(t, s, "a")
		ended := make(chan mortise.Verdict)
		go func() { ended <- w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1}) }()
		time.Sleep(time.Second)
		other, err := trigger.New(db.Trigger(), nil)
		require.NoError(t, err)
		_, err = other.Cancel(t.Context(), "acme", "", e.ID)
		require.NoError(t, err)
		assert.Equal(t, mortise.VerdictDone, (<-ended).Kind)
		assert.Equal(t, 3, asked)
		time.Sleep(time.Minute)
		assert.Equal(t, 3, asked, "nothing runs any more")
	})
}

func TestRunNow(t *testing.T) {
	bothQueues(t, func(t *testing.T, o triggertest.Options) {
		o.Processor = returning(trigger.RetryAfter(errWork, time.Hour), errWork, nil)
		o.Worker.MaxAttempts = 2
		f := triggertest.New(t, &o)
		e, err := f.Submit(t.Context(), "acme", "", later(f.Now().Add(time.Hour)))
		require.NoError(t, err)
		for range 2 { // it was submitted for later, and waits for its second attempt then
			f.Advance(time.Minute)
			require.Zero(t, f.Drain(t.Context()))
			ran, err := f.RunNow(t.Context(), "acme", "ann", e.ID)
			require.NoError(t, err)
			assert.Equal(t, f.Now(), ran.DueAt)
			again, err := f.RunNow(t.Context(), "acme", "ann", e.ID)
			require.NoError(t, err, "it is due")
			assert.Equal(t, ran, again)
			require.Equal(t, 1, f.Drain(t.Context()))
		}
		got := get(t, f.Service, e.ID)
		assert.Equal(t, trigger.StatusFailed, got.Status)
		assert.Equal(t, 2, got.Attempts, "those of both generations")
		assert.Equal(t, 2, got.Generation)
		_, err = f.RunNow(t.Context(), "acme", "", e.ID)
		require.ErrorIs(t, err, trigger.ErrNotRunnable)
		f.Advance(2 * time.Hour)
		require.Zero(t, f.Drain(t.Context()), "the jobs of the generations before are gone, or dropped")
	})
}

// TestActionsInTheHostsTransaction: an action that is rolled back changes nothing, and takes
// no job away.
func TestActionsInTheHostsTransaction(t *testing.T) {
	bothQueues(t, func(t *testing.T, o triggertest.Options) {
		o.Processor = returning(nil)
		f := triggertest.New(t, &o)
		later, err := f.Submit(t.Context(), "acme", "", later(f.Now().Add(30*time.Second)))
		require.NoError(t, err)
		back := errors.New("rolled back")
		for _, action := range []func(context.Context, string, mortise.Actor, uuid.UUID) (trigger.Event, error){f.Cancel, f.RunNow} {
			require.ErrorIs(t, f.InTx(t.Context(), func(ctx context.Context) error {
				_, err := action(ctx, "acme", "", later.ID)
				require.NoError(t, err)
				return back
			}), back)
		}
		f.Advance(time.Minute)
		require.Equal(t, 1, f.Drain(t.Context()))
		assert.Equal(t, trigger.StatusCompleted, get(t, f.Service, later.ID).Status)
	})
}

func TestAttemptsLog(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{
		Processor: returning(errWork, errWork, errWork, errWork, errWork, errWork, errWork, errWork, errWork, errWork, trigger.Permanent(errors.New("no")), nil),
		Worker:    trigger.WorkerOptions{MaxAttempts: 20, Backoff: func(int) time.Duration { return time.Second }},
		Service:   trigger.Options{PublicError: func(err error) string { return "public: " + err.Error() }},
	})
	e := submit(t, f.Service, "a")
	start := f.Now()
	for range 11 {
		f.Drain(t.Context())
		f.Advance(time.Second)
	}
	_, err := f.Retry(t.Context(), "acme", "", e.ID)
	require.NoError(t, err)
	f.Drain(t.Context())
	got := get(t, f.Service, e.ID)
	log := got.AttemptsLog()
	require.Len(t, log, trigger.MaxAttemptsLog)
	for i, a := range log[:8] {
		at := start.Add(time.Duration(i+2) * time.Second)
		assert.Equal(t, trigger.Attempt{Number: i + 3, StartedAt: at, EndedAt: at, Error: "public: " + errWork.Error()}, a)
	}
	assert.Equal(t, "public: no", log[8].Error)
	assert.Equal(t, trigger.Attempt{Number: 1, StartedAt: f.Now(), EndedAt: f.Now()}, log[9])
}

// TestActorIsStored: the caller of Submit is kept with the event, cut to the length of a name.
func TestActorIsStored(t *testing.T) {
	f := triggertest.New(t, nil)
	for by, want := range map[mortise.Actor]string{
		"client:ci": "client:ci", "": "", "not UTF-8 \xff": "not UTF-8 \ufffd", mortise.Actor(strings.Repeat("é", 200)): strings.Repeat("é", 127),
	} {
		e, err := f.Submit(t.Context(), "acme", by, trigger.Submission{Instructions: "a"})
		require.NoError(t, err)
		assert.EqualValues(t, want, get(t, f.Service, e.ID).Actor)
	}
}

func TestBulkActions(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Processor: returning(trigger.Permanent(errWork), nil)})
	failed := submit(t, f.Service, "failed")
	f.Drain(t.Context())
	submit(t, f.Service, "completed")
	f.Drain(t.Context())
	for range 5 {
		_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a", Source: "nightly"})
		require.NoError(t, err)
	}
	other, err := f.Submit(t.Context(), "other", "", trigger.Submission{Instructions: "a"})
	require.NoError(t, err)
	check := func(action func(context.Context, string, mortise.Actor, trigger.EventQuery) (int, bool, error), q trigger.EventQuery, want int, wantMore bool) {
		t.Helper()
		n, more, err := action(t.Context(), "acme", "ann", q)
		require.NoError(t, err)
		assert.Equal(t, want, n)
		assert.Equal(t, wantMore, more)
	}
	check(f.CancelEvents, trigger.EventQuery{Source: "api"}, 0, false)
	check(f.CancelEvents, trigger.EventQuery{Status: trigger.StatusFailed}, 0, false)
	check(f.CancelEvents, trigger.EventQuery{Source: "nightly", Limit: 2}, 2, true)
	check(f.CancelEvents, trigger.EventQuery{}, 3, false)
	check(f.RetryEvents, trigger.EventQuery{Status: trigger.StatusCancelled, Limit: 4}, 4, true)
	check(f.RetryEvents, trigger.EventQuery{From: failed.SubmittedAt.Add(time.Hour)}, 0, false)
	check(f.RetryEvents, trigger.EventQuery{}, 2, false)
	e, err := f.Event(t.Context(), "other", other.ID)
	require.NoError(t, err)
	assert.Equal(t, trigger.StatusReceived, e.Status)
	require.Equal(t, 7, f.Drain(t.Context()))
	var invalid *mortise.ValidationError
	_, _, err = f.CancelEvents(t.Context(), "acme", "", trigger.EventQuery{Status: "lost"})
	require.ErrorAs(t, err, &invalid)
	f.Break(triggertest.StorePart)
	_, _, err = f.RetryEvents(t.Context(), "acme", "", trigger.EventQuery{})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
}

// TestBulkActionsBesideOthers: an event that ends, or begins again, between the list and the
// action ends no bulk action, and is not counted.
func TestBulkActionsBesideOthers(t *testing.T) {
	db, faults := openMemory(t), new(triggertest.Faults)
	store := db.Trigger().Store
	s, err := trigger.New(trigger.Backend{Store: faults.Store(store), Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	for _, c := range []struct {
		found, meanwhile trigger.Status
		action           func(context.Context, string, mortise.Actor, trigger.EventQuery) (int, bool, error)
	}{
		{trigger.StatusReceived, trigger.StatusCompleted, s.CancelEvents},
		{trigger.StatusFailed, trigger.StatusReceived, s.RetryEvents},
	} {
		e := submit(t, s, "a")
		set := func(status trigger.Status) {
			require.NoError(t, store.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error {
				e.Status = status
				return nil
			}))
		}
		set(c.found)
		faults.Before = triggertest.On(func(string) error {
			faults.Before = nil
			set(c.meanwhile)
			return nil
		}, "Store.UpdateEventAndJobs", "Store.UpdateEvent")
		n, more, err := c.action(t.Context(), "acme", "", trigger.EventQuery{Status: c.found})
		require.NoError(t, err)
		assert.Zero(t, n)
		assert.False(t, more)
	}
}

func TestAllEvents(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Processor: returning(trigger.Permanent(errWork))})
	for _, org := range []string{"acme", "other", "acme"} {
		_, err := f.Submit(t.Context(), org, "", trigger.Submission{Instructions: "a"})
		require.NoError(t, err)
		f.Advance(time.Second)
		f.Drain(t.Context())
	}
	waits := submit(t, f.Service, "a")
	var orgs []string
	q := trigger.AllQuery{Status: trigger.StatusFailed, Limit: 2}
	for {
		page, err := f.AllEvents(t.Context(), q)
		require.NoError(t, err)
		for _, e := range page.Items {
			orgs = append(orgs, e.Organization)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	assert.Equal(t, []string{"acme", "other", "acme"}, orgs)
	page, err := f.AllEvents(t.Context(), trigger.AllQuery{Status: trigger.StatusReceived, DueBefore: f.Now()})
	require.NoError(t, err)
	assert.Empty(t, page.Items)
	page, err = f.AllEvents(t.Context(), trigger.AllQuery{Status: trigger.StatusReceived, DueBefore: f.Now().Add(time.Second)})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	assert.Equal(t, waits.ID, page.Items[0].ID)
	for _, q := range []trigger.AllQuery{{}, {Status: trigger.StatusCompleted}, {Status: trigger.StatusFailed, Limit: 1001}, {Status: trigger.StatusFailed, After: "x"}} {
		var invalid *mortise.ValidationError
		_, err = f.AllEvents(t.Context(), q)
		require.ErrorAs(t, err, &invalid, "%+v", q)
	}
	f.Break(triggertest.StorePart)
	_, err = f.AllEvents(t.Context(), trigger.AllQuery{Status: trigger.StatusFailed})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
}

// TestEarlyJobWaits: an event for later does not begin before its time, also if its job comes
// early.
func TestEarlyJobWaits(t *testing.T) {
	db, clock := openMemory(t), new(triggertest.Clock)
	s := unsureService(t, db.Trigger().Store, struct{ mortise.Queue }{db.Queue(nil)}, clock, nil)
	ran := 0
	w, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		ran++
		return trigger.Outcome{}, nil
	}, nil)
	require.NoError(t, err)
	e, err := s.Submit(t.Context(), "acme", "", later(clock.Now().Add(time.Hour)))
	require.NoError(t, err)
	v := w.Handle(t.Context(), mortise.Delivery{Job: e.Job(), Deliveries: 1})
	assert.Zero(t, ran, "begun an hour before Submission.NotBefore")
	assert.Equal(t, mortise.Verdict{After: time.Hour}, v)
}
