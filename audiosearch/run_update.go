package audiosearch

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

// markTimeout bounds the writing of what became of a run.
const markTimeout = 5 * time.Second

// update changes a run. What change sees and leaves is its own ([Runs]), so it may keep
// it.
func (s *Service) update(ctx context.Context, org string, id int64, change func(*Run) error) error {
	return failure.Apart("change a run", change, func(change func(*Run) error) error {
		return s.store.UpdateRun(ctx, org, id, change)
	}, sentinels...)
}

// updateAndJobs is the same for a change that returns jobs to be added, with the end of a
// lease. Where the jobs are elsewhere it is update, without them.
func (s *Service) updateAndJobs(
	ctx context.Context, org string, id int64, change func(*Run) ([]mortise.Job, error), l mortise.Lease,
) error {
	var jobs []mortise.Job
	alone := func(r *Run) (err error) {
		jobs, err = change(r)
		return err
	}
	if s.tx == nil {
		return s.update(ctx, org, id, alone)
	}
	return failure.Apart("change a run", alone, func(alone func(*Run) error) error {
		return s.tx.UpdateRunAndJobs(ctx, org, id, func(r *Run) ([]mortise.Job, error) {
			err := alone(r)
			return jobs, err
		}, l)
	}, sentinels...)
}

// latest keeps a run's times in order where another machine's clock would not.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
