package audiosearch

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// end writes down what came of an attempt and says what becomes of the job.
func (w *Worker) end(ctx context.Context, r *Run, found Found, failure error) Verdict {
	s := w.service
	if errors.Is(failure, errEnded) {
		return Verdict{Done: true}
	}
	if errors.Is(failure, errDrop) {
		return Verdict{After: w.opts.Stale} // another attempt decides; if it has done so then, the job ends
	}
	verdict := Verdict{Done: true}
	var how Termination
	var message string
	var invalid *ValidationError
	shutdown := false
	switch {
	case failure == nil:
		how, message = Success, messageProblems(found.Problems, found.matched)
	case errors.Is(failure, ErrCancelled):
		how, message = ClientError, messageCancelled
	case errors.Is(failure, ErrShutdown):
		shutdown, verdict = true, Verdict{}
	case errors.Is(failure, ErrDatasetNotFound):
		how, message = ClientError, "The dataset was deleted while the search ran."
	case errors.As(failure, &invalid):
		how, message = ClientError, "The search is not possible any more: "+strings.TrimPrefix(invalid.Error(), "audiosearch: invalid request: ")+". Start a new one."
	case errors.Is(failure, ErrPermanent):
		how, message = InternalError, "The sound scorer does not work as it is set up. Ask the operator to look at the log."
	case r.Attempts >= w.opts.MaxAttempts:
		how, message = InternalError, "The search failed each time it was tried. Start a new one later; if that ends so too, ask the operator to look at the log."
	default:
		verdict = Verdict{After: max(w.backoff(r.Attempts), 0)}
	}
	if failure != nil && !shutdown && how != ClientError {
		s.opts.Logger.WarnContext(ctx, "an attempt at a search failed", "run", r.ID, "attempt", r.Attempts, "termination", string(how), "error", failure)
	}

	var after Run
	err := w.write(ctx, r, func(stored *Run) error {
		if stored.State == StateTerminated || stored.Attempts != r.Attempts {
			return errDrop
		}
		now := latest(s.now(), stored.UpdatedAt)
		stored.UpdatedAt = now
		switch {
		case how == Success:
			stored.end(now, how, message)
			stored.ResultSet = found.set
			stored.Done, stored.Total = found.matched, found.matched
		case how != "":
			stored.end(now, how, message)
		case stored.State == StateTerminating: // asked for in the last moment
			stored.end(now, ClientError, messageCancelled)
		default:
			stored.State = StateQueued
			if shutdown {
				stored.Attempts--
			}
		}
		after = stored.Clone()
		return nil
	})
	switch {
	case errors.Is(err, errDrop), errors.Is(err, ErrRunNotFound):
		return Verdict{Done: true}
	case err != nil:
		s.opts.Logger.WarnContext(ctx, "cannot write what came of a search; it will be made again", "run", r.ID, "error", err)
		return Verdict{After: writePause}
	case after.State == StateTerminated:
		s.logGivenUp(ctx, &after)
		s.observe(ctx, terminated(&after, failure))
		return Verdict{Done: true}
	}
	s.observe(ctx, Observation{Kind: KindRetrying, Organization: r.Organization, Dataset: r.Query.Dataset, RunID: r.ID, Actor: r.Actor, Class: r.Query.Class,
		Attempt: r.Attempts, Err: failure})
	return verdict
}

// logGivenUp tells the operator of a run that has ended without an answer.
func (s *Service) logGivenUp(ctx context.Context, r *Run) {
	if r.Termination == InternalError {
		s.opts.Logger.WarnContext(ctx, "a search was given up", "run", r.ID, "organization", r.Organization, "dataset", r.Query.Dataset,
			"attempts", r.Attempts)
	}
}

// backoff asks Backoff. If it panics, the default one says how long to wait.
func (w *Worker) backoff(attempt int) (wait time.Duration) {
	wait = defaultBackoff(attempt)
	defer hook.Recover(context.Background(), w.service.opts.Logger, "Backoff", nil)
	return w.opts.Backoff(attempt)
}

// maxWrites is how often the end of an attempt is tried to be written.
const maxWrites = 5

// write is Service.update, tried more than once.
func (w *Worker) write(ctx context.Context, r *Run, change func(*Run) error) error {
	return w.try(ctx, func(ctx context.Context) error { return w.service.update(ctx, r.Organization, r.ID, change) })
}

// try calls do with a bound for each try, and again while the store is away, so that a
// finished search is not made twice because it was away for a moment.
func (w *Worker) try(ctx context.Context, do func(context.Context) error) error {
	for try := 1; ; try++ {
		bounded, cancel := context.WithTimeout(ctx, markTimeout)
		err := do(bounded)
		cancel()
		if !errors.Is(err, ErrUnavailable) || try == maxWrites || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(writePause / maxWrites):
		}
	}
}

// sweep looks after what would be forgotten, until ctx ends.
func (w *Worker) sweep(ctx context.Context) error {
	ticker := time.NewTicker(w.opts.Sweep)
	defer ticker.Stop()
	for {
		if _, err := w.SweepOnce(ctx); err != nil && ctx.Err() == nil {
			w.service.opts.Logger.WarnContext(ctx, "sweep failed; trying again", "in", w.opts.Sweep, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// SweepOnce queues the runs that show no sign of life and may have lost their jobs, lets
// the store tidy up, and forgets runs that have ended: of an organization with too many
// ([Options.KeepRuns]), and old ones if told to. It returns how many runs it queued;
// those that had a job are among them, and nothing happens to those. [Worker.Run] calls
// it.
func (w *Worker) SweepOnce(ctx context.Context) (queued int, err error) {
	s := w.service
	const batch = 500
	stale, err := s.store.StaleRuns(ctx, s.now().Add(-w.opts.Stale), batch)
	errs := []error{unavailable("look for stale runs", err)}
	for _, r := range stale {
		if err := s.enqueue(ctx, &r); err != nil {
			if errs = append(errs, err); len(errs) > maxWrites || ctx.Err() != nil {
				break
			}
			continue
		}
		queued++
	}
	if _, err := s.trim(ctx); err != nil {
		errs = append(errs, err)
	}
	if w.opts.Retention > 0 {
		_, err := s.Prune(ctx, s.now().Add(-w.opts.Retention))
		errs = append(errs, err)
	}
	if c, ok := s.store.(Compactor); ok {
		until := time.Now().Add(w.opts.Sweep) // while much is ingested there is always more
		for more := true; more && ctx.Err() == nil && time.Now().Before(until); {
			if more, err = c.Compact(ctx); err != nil {
				errs = append(errs, unavailable("tidy up", err))
				break
			}
		}
	}
	return queued, errors.Join(errs...)
}
