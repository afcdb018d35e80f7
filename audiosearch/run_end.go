package audiosearch

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// Cancel ends a run: at once if it waits, soon if a worker has it, which is told. What
// was scored stays; a search that was just done may still end with Success. The errors
// are those of [Service.Run], and [ErrFinished].
func (s *Service) Cancel(ctx context.Context, org string, by mortise.Actor, dataset string, id int64) (Run, error) {
	if _, err := s.Run(ctx, org, dataset, id); err != nil {
		return Run{}, err
	}
	var r Run
	err := s.updateAndJobs(ctx, org, id, func(stored *Run) (jobs []mortise.Job, _ error) {
		now := latest(s.now(), stored.UpdatedAt)
		switch stored.State {
		case StateTerminated:
			return nil, ErrFinished
		case StateRunning, StateTerminating:
			stored.State = StateTerminating
		default:
			stored.end(now, ClientError, messageCancelled)
			jobs = s.ended(stored)
		}
		r = *stored
		return jobs, nil
	}, mortise.Lease{})
	if err != nil {
		return Run{}, err
	}
	s.afterCommit(ctx, &r, s.tellEndSoon)
	cancelled := r.observation(mortise.KindCancelled)
	cancelled.Actor = by
	s.observe(ctx, cancelled)
	if r.State == StateTerminated {
		s.observe(ctx, terminated(&r, errCancelled))
	}
	s.mu.Lock()
	if a, ok := s.running[id]; ok {
		a.cancel(errCancelled)
	}
	s.mu.Unlock()
	return r, nil
}

const messageCancelled = "The run was cancelled."

// end terminates a run.
func (r *Run) end(now time.Time, how Termination, message string) {
	r.State, r.Termination, r.Message = StateTerminated, how, message
	r.UpdatedAt = now
	r.FinishedAt = latest(now, r.StartedAt)
	r.DueAt, r.WakeAt = time.Time{}, time.Time{}
}

func terminated(r *Run, err error) mortise.Observation {
	o := r.observation(mortise.KindTerminated)
	o.Duration, o.Err = r.FinishedAt.Sub(r.CreatedAt), err
	if r.Termination == Success {
		o.Err = nil
	}
	return o
}

// errCancelled: the run was cancelled.
var errCancelled = errors.New("audiosearch: the run was cancelled")
