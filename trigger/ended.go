package trigger

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/ended"
	"github.com/seed-6363c74e/mortise/internal/overdue"
)

// This file is about Options.OnEnd. Where the jobs are in the store's database, the update that
// ends an event returns the jobs of OnEnd. Else it leaves a WakeAt on the event that has
// ended: the jobs are queued after the commit, and then WakeAt is cleared. A sweeper does so
// for what a crash or the queue left behind. An event with a WakeAt is not pruned, and is told
// before it is sent back.

// ended returns the jobs to be added in the transaction that has just ended an event.
func (s *Service) ended(e *Event) []mortise.Job {
	jobs := s.endJobs(e)
	if s.tx == nil && len(jobs) > 0 {
		e.WakeAt = e.FinishedAt.Add(overdue.HandOver)
		return nil
	}
	return jobs
}

// endJobs returns the jobs that tell of the end of an event.
func (s *Service) endJobs(e *Event) []mortise.Job {
	return ended.Jobs(s.opts.Logger, s.opts.OnEnd, *e, "event", e.ID)
}

// tellEnd queues the jobs of an event that has ended, if they are not queued yet.
func (s *Service) tellEnd(ctx context.Context, e *Event) error {
	if !e.Status.Finished() || e.WakeAt.IsZero() {
		return nil
	}
	if err := ended.Queue(ctx, s.queue, s.endJobs(e)); err != nil {
		return err
	}
	err := s.wake(ctx, e, time.Time{})
	if err == nil {
		e.WakeAt = time.Time{}
	}
	return err
}

// tellEndSoon is tellEnd after a commit. If it fails, a sweeper tells.
func (s *Service) tellEndSoon(ctx context.Context, e *Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	if err := s.tellEnd(ctx, e); err != nil {
		s.opts.Logger.WarnContext(ctx, "event ended, but its end is not told; the sweeper will tell it", "event", e.ID, "error", err)
	}
}
