package trigger

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/overdue"
	"github.com/seed-6363c74e/mortise/internal/slot"
)

// Processor does the work that an event asks for. It must be safe for concurrent use and
// idempotent: an event can come more than once, and while an earlier attempt that lost
// its lease is still winding down.
//
// It should return soon after ctx ends; context.Cause says why it ended: [ErrTimeout],
// [ErrShutdown], [ErrCancelled] or [mortise.ErrLeaseLost]. An error means another attempt
// later, unless it is wrapped by [Permanent]; [RetryAfter] says when. A panic counts as
// an error.
//
// The text of the error, as one line of at most 1 KiB, is logged at WARN: of each event that
// is given up, and of attempts that another one follows, one line a second at most for an
// organization, which counts the failures since the line before. The text of a panic is
// logged alike at ERROR, with its stack. [Options].Observer hears of every attempt that fails.
//
// The history shows the text of the last error as well. [Options].PublicError replaces it
// there, and Options.LogError in the log: without them, put no secret into an error.
type Processor func(ctx context.Context, e Event) (Outcome, error)

// Why the context of an attempt ended.
var (
	ErrTimeout   = errors.New("trigger: the attempt took too long")
	ErrShutdown  = errors.New("trigger: the worker is shutting down")
	ErrCancelled = errors.New("trigger: the event was cancelled")
)

// Worker runs a Processor over the events of a Service. It owns the policy (attempts,
// backoff, timeout, giving up); the queue owns delivery.
type Worker struct {
	service   *Service
	processor Processor
	sweeper   *Sweeper
	opts      WorkerOptions
	places    places
	tx        mortise.Transactor // of the service's store, if it is one
}

// NewWorker returns a worker. It fails if the service or the processor is nil, or if a
// setting makes no sense. Options may be nil.
func NewWorker(s *Service, p Processor, opts *WorkerOptions) (*Worker, error) {
	if s == nil || p == nil {
		return nil, errors.New("trigger: NewWorker needs a service and a processor")
	}
	if err := opts.validate(); err != nil {
		return nil, err
	}
	w := &Worker{service: s, processor: p, opts: opts.withDefaults()}
	if w.tx, _ = s.store.(mortise.Transactor); w.opts.Apply && w.tx == nil {
		return nil, errors.New("trigger: WorkerOptions.Apply needs a store that is a mortise.Transactor, and does not work over one that the host has wrapped in a type of its own")
	}
	sweeper, err := NewSweeper(s, &w.opts.Sweep)
	if err != nil {
		return nil, err
	}
	w.sweeper = sweeper
	return w, nil
}

// longest is how long an attempt takes at most, the writing of its end included.
func (w *Worker) longest() time.Duration {
	end := maxWrites * (markTimeout + writePause)
	if w.opts.Apply { // which may fail, and be followed by the end of a failed attempt
		end *= 2
	}
	return w.opts.Timeout + w.opts.Grace + end
}

func defaultBackoff(attempt int) time.Duration { return failure.Backoff(attempt, 10*time.Minute) }

// Run processes events and sweeps until ctx ends. Then it takes no more, gives running
// attempts Drain to finish, cuts off the rest, which does not count as an attempt, and
// returns nil.
func (w *Worker) Run(ctx context.Context) error {
	// Attempts end by this context, Drain after ctx did.
	draining, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(ErrShutdown)
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(w.opts.Drain, func() { cut(ErrShutdown) })
		context.AfterFunc(draining, func() { timer.Stop() })
	})
	defer stop()

	var g errgroup.Group
	sweeping, stopSweeping := context.WithCancel(ctx)
	g.Go(func() error { return w.sweeper.Run(sweeping) })
	g.Go(func() error {
		defer stopSweeping()
		opts := mortise.ConsumeOptions{Kinds: []string{JobKind}, Workers: w.opts.Concurrency, PerOrganization: w.opts.PerOrganization, MaxHandle: w.longest()}
		return w.service.queue.Consume(ctx, opts, func(held context.Context, d mortise.Delivery) (v mortise.Verdict) {
			v.After = defaultBackoff(max(d.Deliveries, 1)) // if what the host has plugged in panics
			defer hook.Recover(held, w.service.opts.Logger, "an attempt", nil, "job", d.Job.ID)
			return w.handle(held, d, mode{draining: draining, run: w.runAside, pause: writePause, watched: true})
		})
	})
	return g.Wait()
}

// RunOnce processes one event that is due, on the caller's goroutine and without
// sweeping, and reports whether there was one. The queue must be a [mortise.StepQueue];
// if it is not, the error is errors.ErrUnsupported. It is for tests and simulations.
func (w *Worker) RunOnce(ctx context.Context) (bool, error) {
	q, ok := w.service.queue.(mortise.StepQueue)
	if !ok {
		return false, errors.ErrUnsupported
	}
	return q.ConsumeOne(ctx, []string{JobKind}, func(held context.Context, d mortise.Delivery) mortise.Verdict {
		return w.handle(held, d, mode{draining: ctx, run: w.runHere})
	})
}

// Handle makes one attempt at the event that a delivery names, and says what becomes of
// the job. [Worker.Run] calls it for each delivery of the service's queue. A host that is
// pushed jobs, by HTTP say, calls it itself, as often at a time as it likes, and runs a
// [Sweeper] beside: examples/pushed does so.
//
// Handle does not wait: an event whose retry is not due yet is attempted at once. An
// event that was submitted for later is put off until its time. So a host that gets a
// VerdictRetry delivers the job after its After, and not before. It also counts the
// Deliveries of a job: if the first one finds the event processing, it is taken for a
// second job of the event, and put off until the attempt must be over.
//
// The attempt ends when ctx does. If the cause is [ErrShutdown], it does not count.
// Otherwise it is as if the lease was lost: the verdict is VerdictRetry, and the queue is
// expected to deliver the job again by itself.
func (w *Worker) Handle(ctx context.Context, d mortise.Delivery) mortise.Verdict {
	if ctx.Err() != nil {
		return mortise.Verdict{}
	}
	held, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	draining, cut := context.WithCancelCause(context.Background())
	defer cut(nil)
	defer context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); errors.Is(cause, ErrShutdown) {
			cut(cause)
		} else {
			lose(cause)
		}
	})()
	return w.handle(held, d, mode{draining: draining, run: w.runAside, pause: writePause, watched: true})
}

// Why an update of an event is refused.
var (
	errObsolete      = errors.New("trigger: nothing is left to do")                         // the job, or the result, is not wanted any more
	errUnknown       = errors.New("trigger: the event is not known")                        // the store does not know of the job yet, or no more
	errNotYet        = errors.New("trigger: an attempt may be running, or it is too early") // the job was added anew, or came early
	errNoPlace       = errors.New("trigger: the organization has as many attempts as it may have")
	errOutOfAttempts = errors.New("trigger: no attempt is left")                 // or, of an event that is to be given up, one is left
	errNotNewest     = errors.New("trigger: a newer attempt has begun or ended") // and decides the event's result
)

// writePause is the wait before a job is delivered again whose event could not be read or
// written.
const writePause = time.Second

// mode is what Run and RunOnce do differently.
type mode struct {
	draining context.Context // ends when running attempts have to
	run      runner
	pause    time.Duration // between tries to write
	watched  bool          // a cancellation ends the attempt's context
}

// handle makes one attempt at a delivery. held ends with the lease.
func (w *Worker) handle(held context.Context, d mortise.Delivery, m mode) mortise.Verdict {
	s := w.service
	if m.draining.Err() != nil {
		return mortise.Verdict{}
	}
	id, generation, err := parseJobID(d.Job.ID)
	if err != nil {
		s.opts.Logger.WarnContext(held, "a job is dropped", "error", err)
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}
	leave, placed := w.places.enter(d.Job.Organization, w.opts.PerOrganization)
	defer leave()
	ctx, cancel := context.WithCancelCause(held)
	defer cancel(nil)
	if m.watched {
		defer s.watch(id, generation, cancel)()
	}
	e, due, verdict, err := w.begin(held, d, id, generation, placed)
	switch {
	case errors.Is(err, errObsolete):
		return mortise.Verdict{Kind: mortise.VerdictDone}
	case errors.Is(err, errNoPlace):
		return mortise.Verdict{After: failure.Backoff(max(d.Deliveries, 1), placeWait)}
	case errors.Is(err, errUnknown), errors.Is(err, mortise.ErrNotFound):
		return w.unknown(held, d)
	case errors.Is(err, errNotYet):
		return mortise.Verdict{After: max(due.Sub(s.now()), writePause)}
	case err != nil:
		s.opts.Logger.WarnContext(held, "cannot begin an attempt; trying again", "event", id, "error", err)
		return mortise.Verdict{After: writePause}
	case e.Status == StatusFailed:
		s.logDead(held, &e, errors.New(e.LastError))
		s.observe(held, mortise.Observation{Kind: mortise.KindFailed, Organization: e.Organization, Object: e.ID.String(), Attempt: e.Attempts, Err: errors.New(e.LastError)})
		return verdict
	}
	started := mortise.Observation{Kind: mortise.KindStarted, Organization: e.Organization, Object: e.ID.String(), Attempt: e.Attempts}
	if e.Attempts == 1 {
		started.Wait = max(e.StartedAt.Sub(latest(due, e.SubmittedAt)), 0)
	}
	s.observe(held, started)

	defer context.AfterFunc(m.draining, func() { cancel(context.Cause(m.draining)) })()
	ctx, stop := context.WithTimeoutCause(ctx, w.opts.Timeout, ErrTimeout)
	defer stop()
	if due.After(e.StartedAt) { // an earlier attempt, whose worker died, was to be over by then
		due = e.StartedAt
	}
	ctx, ended := hook.Start(ctx, &s.opts.Env, mortise.Work{
		Op: "trigger.process", Kind: JobKind, Organization: e.Organization, ID: e.ID.String(), Attempt: e.Attempts, Due: due,
	}, e.Trace)
	outcome, err := m.run(ctx, e)
	if err == nil {
		err = w.checkOutcome(&outcome)
	}
	if err != nil {
		outcome = Outcome{}
	}
	ended(err)
	leave() // before the slot, or the next job would come in vain
	slot.Give(held)
	if held.Err() != nil {
		if err == nil {
			// The work is done. If no other attempt has said so yet, this one may.
			w.end(context.WithoutCancel(held), m, d, &e, outcome, nil, false)
		}
		return mortise.Verdict{} // which nobody listens to: somebody else has the job now
	}
	return w.end(held, m, d, &e, outcome, err, errors.Is(context.Cause(ctx), ErrShutdown) || m.draining.Err() != nil)
}

// unknown says what becomes of a job whose event the store does not know. In a deleted
// organization that stays so.
func (w *Worker) unknown(ctx context.Context, d mortise.Delivery) mortise.Verdict {
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	if deleted, err := w.service.isDeleted(ctx, d.Job.Organization); err == nil && deleted {
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}
	return overdue.Unknown(d)
}

// begin counts the attempt before it runs, so that an event that kills its worker is
// given up in the end. Then the verdict says what becomes of the job. due is when the
// attempt might have begun.
func (w *Worker) begin(
	ctx context.Context, d mortise.Delivery, id uuid.UUID, generation int, placed bool,
) (e Event, due time.Time, verdict mortise.Verdict, err error) {
	s := w.service
	now := s.now()
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	org := d.Job.Organization
	change := func(ending bool) func(*Event) ([]mortise.Job, error) {
		return func(stored *Event) (jobs []mortise.Job, _ error) {
			if isStored(&e, stored) {
				e = stored.Clone()
				return nil, nil
			}
			due = stored.DueAt
			switch {
			case stored.Generation < generation:
				return nil, errUnknown
			case stored.Status.Finished() || stored.Generation > generation:
				return nil, errObsolete
			case stored.DueAt.After(now) && (stored.Status == StatusProcessing && d.Deliveries == 1 || stored.submittedForLater()):
				return nil, errNotYet
			case !placed:
				return nil, errNoPlace
			case ending != (stored.Attempts >= w.opts.MaxAttempts):
				return nil, errOutOfAttempts
			}
			if stored.Status == StatusProcessing {
				stored.noteFailure(now, workerDied)
			}
			if ending {
				stored.finish(now, StatusFailed)
				if stored.LastError == "" {
					stored.LastError = "the last attempt did not report its end: its worker may have died"
				}
				jobs = s.ended(stored)
			} else {
				stored.WakeAt = s.wakeAfter(stored, now)
				stored.Status = StatusProcessing
				stored.Attempts++
				stored.StartedAt = now
				stored.DueAt = now.Add(w.longest()).Truncate(time.Microsecond)
			}
			e = stored.Clone()
			return jobs, nil
		}
	}
	begun := change(false)
	if err = s.update(ctx, org, id, func(stored *Event) error { _, err := begun(stored); return err }); !errors.Is(err, errOutOfAttempts) {
		return e, due, verdict, err
	}
	var lease mortise.Lease // to be ended in the same transaction
	verdict.Kind = mortise.VerdictDead
	if s.tx != nil && d.Token != uuid.Nil {
		lease, verdict.Kind = d.Lease(), mortise.VerdictEnded
	}
	if err = s.updateAndJobs(ctx, org, id, change(true), lease, true); err == nil {
		s.tellEndSoon(ctx, &e)
	}
	return e, due, verdict, err
}

// workerDied is the error of an attempt that the next one finds running.
const workerDied = "the attempt did not report its end: its worker may have died"

// isStored reports whether a stored event is as an earlier call of the same update has left
// it. A change is made once more where nobody knows whether it was committed, which a
// connection that is lost at a COMMIT leaves open.
func isStored(left, stored *Event) bool {
	return left.ID == stored.ID && left.Generation == stored.Generation && left.Attempts == stored.Attempts &&
		left.Status == stored.Status && left.StartedAt.Equal(stored.StartedAt) && left.FinishedAt.Equal(stored.FinishedAt)
}
