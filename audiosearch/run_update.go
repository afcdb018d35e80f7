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

// updateAndRemove is the same for TxStore.UpdateRunAndRemove.
func (s *Service) updateAndRemove(
	ctx context.Context, org string, id int64, change func(*Run) error, l mortise.Lease,
) error {
	return failure.Apart("change a run", change, func(change func(*Run) error) error {
		return s.tx.UpdateRunAndRemove(ctx, org, id, change, l)
	}, sentinels...)
}

// latest keeps a run's times in order where another machine's clock would not.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
