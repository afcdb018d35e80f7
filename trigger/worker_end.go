package trigger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/mark"
)

// end writes down what came of an attempt and says what becomes of the job. A write that
// fails is tried again while the lease holds, so that finished work is not done twice
// because the store was away for a moment.
func (w *Worker) end(
	ctx context.Context, m mode, d mortise.Delivery, e *Event, outcome Outcome, failure error, shutdown bool,
) mortise.Verdict {
	s := w.service
	now := s.now()
	verdict := mortise.Verdict{Kind: mortise.VerdictDone}
	o := mortise.Observation{Kind: mortise.KindCompleted, Organization: e.Organization, Object: e.ID.String(), Attempt: e.Attempts, Duration: now.Sub(e.StartedAt), Err: failure}
	var permanent *permanentError
	switch {
	case failure == nil:
	case shutdown && !errors.As(failure, &permanent):
		o.Kind, verdict = mortise.KindRetrying, mortise.Verdict{}
	case errors.As(failure, &permanent) || e.Attempts >= w.opts.MaxAttempts:
		o.Kind, verdict = mortise.KindFailed, mortise.Verdict{Kind: mortise.VerdictDead}
	default:
		o.Kind, verdict = mortise.KindRetrying, mortise.Verdict{After: w.wait(failure, e.Attempts)}
		o.Wait = verdict.After
	}

	var text string
	if failure != nil {
		// Here, and not in write: it is the host's code and may do anything.
		text = s.publicError(failure)
	}
	var left Event
	var due time.Time // of the attempt that decides instead of this one
	wanted := true    // Apply, unless a call before was committed
	write := func(stored *Event) (jobs []mortise.Job, _ error) {
		wanted = !stored.Status.Finished() || !isStored(&left, stored)
		switch {
		case !wanted:
			return nil, nil
		case stored.Status.Finished() || stored.Generation != e.Generation:
			return nil, errObsolete
		}
		// An attempt that outlived its lease may still report success; of a failure and of
		// what Apply writes, the attempt that took over decides.
		if (failure != nil || outcome.Apply != nil) && (stored.Attempts != e.Attempts || !stored.StartedAt.Equal(e.StartedAt)) {
			due = stored.DueAt
			return nil, errNotNewest
		}
		switch o.Kind {
		case mortise.KindCompleted:
			stored.finish(now, StatusCompleted)
			stored.Outcome = &Outcome{Summary: outcome.Summary, Data: outcome.Data}
		case mortise.KindFailed:
			stored.noteFailure(now, text)
			stored.finish(now, StatusFailed)
			stored.LastError = text
		default:
			// WakeAt stays the delivery's: whether the queue still has the job is not
			// known.
			stored.noteFailure(now, text)
			stored.Status = StatusReceived
			stored.DueAt = now.Add(verdict.After).Truncate(time.Microsecond)
			if shutdown {
				stored.Attempts--
			} else {
				stored.LastError = text
			}
		}
		if stored.Status.Finished() {
			jobs = s.ended(stored)
		}
		left = *stored
		return jobs, nil
	}
	var lease mortise.Lease // to be ended in the same transaction
	dead := verdict.Kind == mortise.VerdictDead
	if s.tx != nil && d.Token != uuid.Nil && o.Kind != mortise.KindRetrying {
		lease, verdict.Kind = d.Lease(), mortise.VerdictEnded
	}
	change := func(ctx context.Context) error {
		return s.updateAndJobs(ctx, e.Organization, e.ID, write, lease, dead)
	}
	if applied := change; outcome.Apply != nil {
		change = func(ctx context.Context) error {
			return w.updateAndApply(ctx, e, applied, func() bool { return wanted }, outcome.Apply)
		}
	}
	err := w.write(ctx, m, change)
	if failed := (*applyError)(nil); errors.As(err, &failed) {
		return w.end(ctx, m, d, e, Outcome{}, failed.err, shutdown)
	} else if outcome.Apply != nil && errors.Is(err, mortise.ErrUnavailable) && ctx.Err() == nil {
		// A COMMIT fails also by what Apply has written: a deferred constraint, say.
		return w.end(ctx, m, d, e, Outcome{}, err, shutdown)
	}
	switch {
	case errors.Is(err, errObsolete) || errors.Is(err, mortise.ErrNotFound):
		return mortise.Verdict{Kind: mortise.VerdictDone}
	case errors.Is(err, errNotNewest):
		// The event is not finished, so its job must not be lost, whoever holds it. Nor must it
		// come at once, where a queue hands out a job that is held: a third attempt would keep
		// the second one from deciding, and so on.
		return mortise.Verdict{After: max(due.Sub(now), writePause)}
	case err != nil:
		s.opts.Logger.WarnContext(ctx, "cannot write what came of an attempt; the event will be processed again", "event", e.ID, "error", err)
		o.Kind, verdict = mortise.KindRetrying, mortise.Verdict{After: writePause}
	}
	switch {
	case o.Kind == mortise.KindFailed:
		s.logDead(ctx, e, failure)
	case failure != nil && !shutdown:
		s.logFailed(ctx, e, failure, verdict.After)
	}
	if err != nil {
		return verdict
	}
	s.tellEndSoon(ctx, &left)
	s.observe(ctx, o)
	return verdict
}

// logFailed tells the operator why an attempt failed that is followed by another one. The
// history may say something else (Options.PublicError).
func (s *Service) logFailed(ctx context.Context, e *Event, failure error, after time.Duration) {
	if count := s.failed.Add(e.Organization, s.opts.Now()); count > 0 {
		s.opts.Logger.WarnContext(ctx, "an attempt failed; trying again", "event", e.ID, "organization", e.Organization,
			"attempt", e.Attempts, "in", after.String(), "count", count, "error", s.loggedError(failure))
	}
}

// logDead tells the operator that an event was given up, and why.
func (s *Service) logDead(ctx context.Context, e *Event, why error) {
	s.opts.Logger.WarnContext(ctx, "an event was given up", "event", e.ID, "organization", e.Organization,
		"attempts", e.Attempts, "error", s.loggedError(why))
}

// maxWrites is how often the end of an attempt is tried to be written.
const maxWrites = 5

// write calls change with a bound for each try, and with more tries until the lease is lost
// or the worker has to end.
func (w *Worker) write(ctx context.Context, m mode, change func(ctx context.Context) error) error {
	for try := 1; ; try++ {
		bounded, cancel := context.WithTimeout(ctx, markTimeout)
		err := change(bounded)
		cancel()
		if !errors.Is(err, mortise.ErrUnavailable) || try == maxWrites || ctx.Err() != nil || try > 1 && m.draining.Err() != nil {
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

// latest keeps an event's times in order where another machine's clock, or a stale
// attempt, would not.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (w *Worker) wait(failure error, attempt int) time.Duration {
	if wait, said := mark.Wait(failure); said {
		return wait
	}
	return w.backoff(attempt)
}

// backoff asks Backoff. If it says less than 0, as a number does that has grown too large,
// the default one says how long to wait.
func (w *Worker) backoff(attempt int) time.Duration {
	if asked := w.opts.Backoff(attempt); asked >= 0 {
		return min(asked, mark.MaxWait)
	}
	return defaultBackoff(attempt)
}

func (w *Worker) checkOutcome(o *Outcome) error {
	if o.Apply != nil && !w.opts.Apply {
		return Permanent(errors.New("the outcome has Apply, and WorkerOptions.Apply is not set"))
	}
	if size := len(o.Summary) + len(o.Data); size > w.service.opts.MaxBytes {
		return Permanent(fmt.Errorf("the outcome is %d bytes long, over the limit of %d", size, w.service.opts.MaxBytes))
	}
	return o.check()
}
