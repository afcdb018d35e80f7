package audiosearch

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/ended"
	"github.com/seed-6363c74e/mortise/internal/overdue"
)

// This file is about Options.OnEnd. Where the jobs are in the store's database, the
// update that ends a run returns the jobs of OnEnd. Else it leaves a WakeAt on the run
// that has ended: the jobs are queued after the commit, and then WakeAt is cleared. A
// sweeper does so for runs whose jobs a crash or the queue left behind. A run that has
// ended with a WakeAt is not pruned.

// ended returns the jobs to be added in the transaction that has just ended a run.
func (s *Service) ended(r *Run) []mortise.Job {
	jobs := s.endJobs(r)
	if s.tx == nil && len(jobs) > 0 {
		r.WakeAt = r.FinishedAt.Add(overdue.HandOver)
		return nil
	}
	return jobs
}

// endJobs returns the jobs that tell of the end of a run.
func (s *Service) endJobs(r *Run) []mortise.Job {
	return ended.Jobs(s.opts.Logger, s.opts.OnEnd, *r, "run", r.ID)
}

// tellEnd queues the jobs of a run that has ended, if they are not queued yet.
func (s *Service) tellEnd(ctx context.Context, r *Run) error {
	if r.State != StateTerminated || r.WakeAt.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	if err := ended.Queue(ctx, s.queue, s.endJobs(r)); err != nil {
		return err
	}
	return s.wakeEnd(ctx, r, time.Time{})
}

// tellEndSoon is tellEnd after a commit. If it fails, a sweeper tells.
func (s *Service) tellEndSoon(ctx context.Context, r *Run) {
	if err := s.tellEnd(context.WithoutCancel(ctx), r); err != nil {
		s.opts.Logger.WarnContext(ctx, "run ended, but its end is not told; the sweeper will tell it", "run", r.ID, "error", err)
	}
}

// wakeEnd moves the WakeAt of a run that has ended, unless another caller has moved it.
func (s *Service) wakeEnd(ctx context.Context, r *Run, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	err := s.update(ctx, r.Organization, r.ID, func(stored *Run) error {
		if !stored.WakeAt.Equal(r.WakeAt) {
			return errDrop
		}
		stored.WakeAt = at
		return nil
	})
	if errors.Is(err, errDrop) || errors.Is(err, ErrRunNotFound) {
		return nil
	}
	if err == nil {
		r.WakeAt = at
	}
	return err
}
