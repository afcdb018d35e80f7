package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/mark"
	"github.com/seed-6363c74e/mortise/internal/oneline"
)

// end writes down what came of an attempt and says what becomes of the job.
func (w *Worker) end(
	ctx context.Context, d mortise.Delivery, r *Run, found Found, failure error,
) (verdict mortise.Verdict) {
	s := w.service
	if errors.Is(failure, errEnded) {
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}
	if errors.Is(failure, errDrop) {
		// Another attempt decides. If it has done so then, the job ends.
		return mortise.Verdict{After: aliveFor}
	}
	var how Termination
	var message string
	var invalid *mortise.ValidationError
	shutdown := false
	switch {
	case failure == nil:
		how, message = Success, found.message()
	case errors.Is(failure, errCancelled):
		how, message = ClientError, messageCancelled
	case errors.Is(failure, ErrShutdown):
		shutdown = true
	case errors.Is(failure, ErrDatasetNotFound):
		how, message = ClientError, "The dataset was deleted while the search ran."
	case errors.As(failure, &invalid):
		how, message = ClientError, "The search is not possible any more: "+strings.TrimPrefix(invalid.Error(), "mortise: invalid request: ")+". Start a new one."
	case errors.Is(failure, sound.ErrPermanent):
		how, message = InternalError, "The sound scorer does not work as it is set up. Ask the operator to look at the log."
	case r.Attempts >= w.opts.MaxAttempts:
		how, message = InternalError, "The search failed each time it was tried. Start a new one later; if that ends so too, ask the operator to look at the log."
	default:
		verdict.After = w.wait(failure, r.Attempts)
	}

	var after, left Run
	err := w.try(ctx, func(ctx context.Context) (err error) {
		ending := how != ""
		write := func(stored *Run) (jobs []mortise.Job, _ error) {
			after = *stored
			switch {
			case isStored(&left, stored):
				return nil, nil
			case stored.State == StateTerminated:
				return nil, errDrop
			case stored.Attempts != r.Attempts:
				return nil, errOvertaken
			}
			now := latest(s.now(), stored.UpdatedAt)
			stored.UpdatedAt = now
			switch {
			case how == Success:
				stored.end(now, how, message)
				stored.ResultSet = found.set
				stored.Done, stored.Total = found.matched-found.LeftOut, found.matched
				stored.Sound = found.sound
			case how != "":
				stored.end(now, how, message)
			case stored.State == StateTerminating: // asked for in the last moment
				if !ending {
					return nil, errEnds
				}
				stored.end(now, ClientError, messageCancelled)
			case ending: // nobody ends it any more
				return nil, errOvertaken
			default:
				stored.State, stored.DueAt = StateQueued, now.Add(verdict.After).Truncate(time.Microsecond)
				if shutdown {
					stored.Attempts--
				}
			}
			if stored.State == StateTerminated {
				jobs = s.ended(stored)
			}
			after, left = *stored, *stored
			return jobs, nil
		}
		if !ending {
			err = s.update(ctx, r.Organization, r.ID, jobless(write))
			ending = errors.Is(err, errEnds)
		}
		if ending {
			verdict, err = w.ending(ctx, d, r.Organization, r.ID, write)
		}
		return err
	})
	switch {
	case errors.Is(err, errDrop), errors.Is(err, ErrRunNotFound):
		return mortise.Verdict{Kind: mortise.VerdictDone}
	case errors.Is(err, errOvertaken) && after.State == StateRunning:
		return mortise.Verdict{After: aliveFor}
	case errors.Is(err, errOvertaken):
		return mortise.Verdict{After: max(after.DueAt.Sub(s.now()), 0)}
	case err != nil:
		s.opts.Logger.WarnContext(ctx, "cannot write what came of a search; it will be made again", "run", r.ID, "error", err)
		verdict = mortise.Verdict{After: writePause}
	case after.State == StateTerminated:
		s.tellEndSoon(ctx, &after)
		s.logGivenUp(ctx, &after, failure)
		s.observe(ctx, terminated(&after, failure))
		return verdict
	}
	if failure != nil && !shutdown && how != ClientError {
		s.logFailed(ctx, r, failure, verdict.After)
	}
	if err != nil {
		return verdict
	}
	retrying := r.observation(mortise.KindRetrying)
	retrying.Wait, retrying.Err = verdict.After, failure
	s.observe(ctx, retrying)
	return verdict
}

// errOvertaken: the run is that of another attempt. Or this one was written down already,
// as not to count, by a write that the store has reported as failed. The run has not ended,
// so whoever holds the job must leave it.
var errOvertaken = errors.New("audiosearch: the attempt is not the present one")

// logFailed tells the operator why an attempt failed that is followed by another one.
func (s *Service) logFailed(ctx context.Context, r *Run, failure error, after time.Duration) {
	if count := s.failed.Add(r.Organization, s.opts.Now()); count > 0 {
		s.opts.Logger.WarnContext(ctx, "an attempt at a search failed; trying again", "run", r.ID, "organization", r.Organization,
			"dataset", r.Query.Dataset, "attempt", r.Attempts, "in", after.String(), "count", count, "error", oneline.Logged(failure.Error()))
	}
}

// logGivenUp tells the operator of a run that has ended without an answer, and why.
func (s *Service) logGivenUp(ctx context.Context, r *Run, failure error) {
	if r.Termination == InternalError {
		s.opts.Logger.WarnContext(ctx, "a search was given up", "run", r.ID, "organization", r.Organization, "dataset", r.Query.Dataset,
			"attempts", r.Attempts, "error", oneline.Logged(failure.Error()))
	}
}

// wait says how long to wait for the next attempt.
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

// maxWrites is how often the end of an attempt is tried to be written.
const maxWrites = 5

// try calls do with a bound for each try, and again while the store is away, so that a
// finished search is not made twice because it was away for a moment.
func (w *Worker) try(ctx context.Context, do func(context.Context) error) error {
	for try := 1; ; try++ {
		bounded, cancel := context.WithTimeout(ctx, markTimeout)
		err := do(bounded)
		cancel()
		if !errors.Is(err, mortise.ErrUnavailable) || try == maxWrites || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(writePause / maxWrites):
		}
	}
}

// message says in one line which videos were left out, and why.
func (f *Found) message() string {
	const most = 10
	problems, matched := f.Problems, f.matched
	var b strings.Builder
	if f.LeftOut > 0 {
		fmt.Fprintf(&b, "%d of %d videos were left out: the model that was searched has not scored them, and its scorer is not there. ",
			f.LeftOut, matched)
	}
	partly := 0
	for _, p := range problems {
		if p.Partly {
			partly++
		}
	}
	if none := len(problems) - partly; none > 0 {
		fmt.Fprintf(&b, "%d of %d videos could not be searched. ", none, matched)
	}
	if partly > 0 {
		fmt.Fprintf(&b, "%d of %d videos could be searched in part only. ", partly, matched)
	}
	for i, p := range problems {
		if i == most {
			fmt.Fprintf(&b, "And %d more.", len(problems)-most)
			break
		}
		b.WriteString(strconv.Quote(p.Video) + ": " + strings.TrimSuffix(p.Message, ".") + ". ")
	}
	return strings.TrimSpace(b.String())
}
