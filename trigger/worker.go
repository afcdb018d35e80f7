package trigger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// Processor does the work that an event asks for. It must be safe for concurrent use and idempotent: an event can come more than
// once, and while an earlier attempt that lost its lease is still winding down.
//
// It should return soon after ctx ends; context.Cause says why it ended: [ErrTimeout],
// [ErrShutdown] or [ErrLeaseLost]. An error means another attempt later, unless it is
// wrapped by [Permanent]; [RetryAfter] says when. A panic counts as an error, and is
// logged with its stack.
//
// Who may read the organization's history sees the text of the last error:
// [Options].PublicError puts another one in its place.
type Processor interface {
	Process(ctx context.Context, e Event) (Outcome, error)
}

// ProcessorFunc makes a Processor of a function.
type ProcessorFunc func(ctx context.Context, e Event) (Outcome, error)

// Process calls f.
func (f ProcessorFunc) Process(ctx context.Context, e Event) (Outcome, error) { return f(ctx, e) }

// Why the context of an attempt ended.
var (
	ErrTimeout  = errors.New("trigger: the attempt took too long")
	ErrShutdown = errors.New("trigger: the worker is shutting down")
)

// WorkerOptions are the settings of a Worker. The zero value means the defaults.
type WorkerOptions struct {
	Concurrency int           // attempts at a time: 4, and sometimes 1 more (see Queue.Consume)
	MaxAttempts int           // attempts before an event fails: 10
	Timeout     time.Duration // of one attempt: 10 min
	Drain       time.Duration // how long running attempts may go on after Run's context ended: 25 s
	Grace       time.Duration // how long a Processor may ignore the end of its context before it is left behind: 5 s

	// Backoff is the wait after attempt n (1, 2, ...) failed. The default is 1 s, doubled with each attempt, at most 10 min, less a
	// random part of up to a half, so that events that failed together do not come back together.
	Backoff func(attempt int) time.Duration

	Sweep SweeperOptions // of the sweeper that runs beside the worker
}

// Worker runs a Processor over the events of a Service. It owns the policy (attempts, backoff, timeout, giving up); the queue
// owns delivery.
type Worker struct {
	service   *Service
	processor Processor
	sweeper   *Sweeper
	opts      WorkerOptions
}

// NewWorker returns a worker. It fails only if the service or the processor is nil.
func NewWorker(s *Service, p Processor, opts *WorkerOptions) (*Worker, error) {
	if s == nil || p == nil {
		return nil, errors.New("trigger: NewWorker needs a service and a processor")
	}
	w := &Worker{service: s, processor: p}
	if opts != nil {
		w.opts = *opts
	}
	o := &w.opts
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	if o.MaxAttempts <= 0 {
		o.MaxAttempts = 10
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.Drain <= 0 {
		o.Drain = 25 * time.Second
	}
	if o.Grace <= 0 {
		o.Grace = 5 * time.Second
	}
	if o.Backoff == nil {
		o.Backoff = defaultBackoff
	}
	var err error
	w.sweeper, err = NewSweeper(s, &o.Sweep)
	return w, err
}

func defaultBackoff(attempt int) time.Duration {
	const limit = 10 * time.Minute
	d := limit
	if attempt < 11 {
		d = min(limit, time.Second<<(attempt-1))
	}
	return d/2 + rand.N(d/2+1)
}

// Run processes events and sweeps until ctx ends. Then it takes no more, gives running attempts Drain to finish, cuts off the
// rest, which does not count as an attempt, and returns nil.
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
		return w.service.queue.Consume(ctx, w.opts.Concurrency, func(held context.Context, d Delivery) Verdict {
			return w.handle(held, d, mode{draining: draining, run: w.runAside, pause: writePause})
		})
	})
	return g.Wait()
}

// RunOnce processes one event that is due, on the caller's goroutine and without sweeping, and reports whether there was one.
// The queue must be a [StepQueue]; if it is not, the error is errors.ErrUnsupported. It is for tests and simulations.
func (w *Worker) RunOnce(ctx context.Context) (bool, error) {
	q, ok := w.service.queue.(StepQueue)
	if !ok {
		return false, errors.ErrUnsupported
	}
	return q.ConsumeOne(ctx, func(held context.Context, d Delivery) Verdict {
		return w.handle(held, d, mode{draining: ctx, run: w.runHere})
	})
}

// errDrop: the job has nothing left to do. errSuperseded: another attempt at it has begun, or this one was written down already.
var (
	errDrop       = errors.New("trigger: nothing to do")
	errSuperseded = errors.New("trigger: another attempt has begun")
)

// writePause is the wait before a job is delivered again whose event could not be read or written.
const writePause = time.Second

// mode is what Run and RunOnce do differently.
type mode struct {
	draining context.Context // ends when running attempts have to
	run      runner
	pause    time.Duration // between tries to write
}

// handle makes one attempt at a delivery. held ends with the lease.
func (w *Worker) handle(held context.Context, d Delivery, m mode) Verdict {
	s := w.service
	if m.draining.Err() != nil {
		return Verdict{Kind: VerdictRetry}
	}
	e, err := w.begin(held, d)
	switch {
	case errors.Is(err, errDrop) || errors.Is(err, ErrNotFound):
		return Verdict{Kind: VerdictDone}
	case err != nil:
		s.opts.Logger.WarnContext(held, "cannot begin an attempt; trying again", "event", d.Job.EventID, "error", err)
		return Verdict{Kind: VerdictRetry, After: writePause}
	case e.Status == StatusFailed:
		s.logDead(held, &e)
		s.observe(held, Observation{Kind: KindFailed, Organization: e.Organization, EventID: e.ID, Attempt: e.Attempts, Err: errors.New(e.LastError)})
		return Verdict{Kind: VerdictDead}
	}
	s.observe(held, Observation{Kind: KindStarted, Organization: e.Organization, EventID: e.ID, Attempt: e.Attempts, Duration: e.StartedAt.Sub(e.SubmittedAt)})

	ctx, cancel := context.WithCancelCause(held)
	defer cancel(nil)
	defer context.AfterFunc(m.draining, func() { cancel(context.Cause(m.draining)) })()
	ctx, stop := context.WithTimeoutCause(ctx, w.opts.Timeout, ErrTimeout)
	defer stop()
	ended := func(error) {}
	if s.opts.Tracer != nil {
		ctx, ended = hook.Start(ctx, s.opts.Logger, s.opts.Tracer, "trigger.process", e.Trace)
	}
	outcome, err := m.run(ctx, e.Clone())
	if err == nil {
		err = w.checkOutcome(&outcome)
	}
	ended(err)
	if held.Err() != nil {
		if err == nil {
			// The work is done. If no other attempt has said so yet, this one may.
			w.end(context.WithoutCancel(held), m, &e, outcome, nil, false)
		}
		return Verdict{Kind: VerdictRetry} // which nobody listens to: somebody else has the job now
	}
	return w.end(held, m, &e, outcome, err, errors.Is(context.Cause(ctx), ErrShutdown) || m.draining.Err() != nil)
}

// begin counts the attempt before it runs, so that an event that kills its worker is given up in the end.
func (w *Worker) begin(ctx context.Context, d Delivery) (Event, error) {
	s := w.service
	now := s.now()
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	if s.isAbandoned(d.Job.EventID) {
		if err := s.giveUp(ctx, d.Job.Organization, d.Job.EventID); err == nil {
			s.forgive(d.Job.EventID)
			return Event{}, errDrop
		} else if !errors.Is(err, errQueued) {
			return Event{}, err
		}
		s.forgive(d.Job.EventID)
	}
	var e Event
	err := s.update(ctx, d.Job.Organization, d.Job.EventID, func(stored *Event) error {
		if stored.Status.Finished() || stored.Generation != d.Job.Generation {
			return errDrop
		}
		stored.UnqueuedSince = time.Time{}
		if stored.Attempts >= w.opts.MaxAttempts {
			stored.Status = StatusFailed
			stored.FinishedAt = latest(now, stored.StartedAt)
			if stored.LastError == "" {
				stored.LastError = "the last attempt did not report its end: its worker may have died"
			}
		} else {
			stored.Status = StatusProcessing
			stored.Attempts++
			stored.StartedAt = now
		}
		e = stored.Clone()
		return nil
	})
	return e, err
}

// end writes down what came of an attempt and says what becomes of the job. A write that fails is tried again while the lease
// holds, so that finished work is not done twice because the store was away for a moment.
func (w *Worker) end(ctx context.Context, m mode, e *Event, outcome Outcome, failure error, shutdown bool) Verdict {
	s := w.service
	now := s.now()
	verdict := Verdict{Kind: VerdictDone}
	o := Observation{Kind: KindCompleted, Organization: e.Organization, EventID: e.ID, Attempt: e.Attempts, Duration: now.Sub(e.StartedAt), Err: failure}
	var permanent *permanentError
	switch {
	case failure == nil:
	case shutdown && !errors.As(failure, &permanent):
		o.Kind, verdict = KindRetrying, Verdict{Kind: VerdictRetry}
	case errors.As(failure, &permanent) || e.Attempts >= w.opts.MaxAttempts:
		o.Kind, verdict = KindFailed, Verdict{Kind: VerdictDead}
	default:
		o.Kind, verdict = KindRetrying, Verdict{Kind: VerdictRetry, After: w.wait(failure, e.Attempts)}
	}

	var text string
	if failure != nil {
		// Here, and not in write: it is the host's code and may do anything.
		text = s.publicError(ctx, failure)
	}
	write := func(stored *Event) error {
		if stored.Status.Finished() || stored.Generation != e.Generation {
			return errDrop
		}
		// An attempt that outlived its lease may still report success; of a failure, the attempt that took over decides.
		if failure != nil && stored.Attempts != e.Attempts {
			return errSuperseded
		}
		switch o.Kind {
		case KindCompleted:
			stored.Status = StatusCompleted
			stored.FinishedAt = latest(now, stored.StartedAt)
			stored.Outcome = &outcome
		case KindFailed:
			stored.Status = StatusFailed
			stored.FinishedAt = latest(now, stored.StartedAt)
			stored.LastError = text
		default:
			stored.Status = StatusReceived
			if shutdown {
				stored.Attempts--
			} else {
				stored.LastError = text
			}
		}
		return nil
	}
	err := w.write(ctx, m, e, write)
	switch {
	case errors.Is(err, errDrop) || errors.Is(err, ErrNotFound):
		return Verdict{Kind: VerdictDone}
	case errors.Is(err, errSuperseded):
		return Verdict{Kind: VerdictRetry} // the event is not finished, so its job must not be lost, whoever holds it
	case err != nil:
		s.opts.Logger.WarnContext(ctx, "cannot write what came of an attempt; the event will be processed again", "event", e.ID, "error", err)
		return Verdict{Kind: VerdictRetry, After: writePause}
	}
	if verdict.Kind == VerdictDead {
		s.logDead(ctx, e)
	}
	s.observe(ctx, o)
	return verdict
}

// logDead tells the operator that an event was given up. Why is in the history, and the
// observer is told: the text is the Processor's own, and may quote what nobody wants in
// logs.
func (s *Service) logDead(ctx context.Context, e *Event) {
	s.opts.Logger.WarnContext(ctx, "an event was given up", "event", e.ID, "organization", e.Organization, "attempts", e.Attempts)
}

// maxWrites is how often the end of an attempt is tried to be written.
const maxWrites = 5

// write is Service.update with a bound for each try, and with more tries until the lease is lost or the worker has to end.
func (w *Worker) write(ctx context.Context, m mode, e *Event, update func(*Event) error) error {
	for try := 1; ; try++ {
		bounded, cancel := context.WithTimeout(ctx, markTimeout)
		err := w.service.update(bounded, e.Organization, e.ID, update)
		cancel()
		if !errors.Is(err, ErrUnavailable) || try == maxWrites || ctx.Err() != nil || try > 1 && m.draining.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-m.draining.Done(): // one more, at once
		case <-time.After(m.pause):
		}
	}
}

// latest keeps an event's times in order where another machine's clock, or a stale attempt, would not.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (w *Worker) wait(failure error, attempt int) time.Duration {
	var after *retryAfterError
	if errors.As(failure, &after) {
		return max(after.after, 0)
	}
	return max(w.backoff(attempt), 0)
}

// backoff asks Backoff. If it panics, the default one says how long to wait.
func (w *Worker) backoff(attempt int) (wait time.Duration) {
	wait = defaultBackoff(attempt)
	defer hook.Recover(context.Background(), w.service.opts.Logger, "Backoff", nil)
	return w.opts.Backoff(attempt)
}

func (w *Worker) checkOutcome(o *Outcome) error {
	if size := len(o.Summary) + len(o.Data); size > w.service.opts.MaxBytes {
		return Permanent(fmt.Errorf("the outcome is %d bytes long, over the limit of %d", size, w.service.opts.MaxBytes))
	}
	return o.check()
}
