package audiosearch

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// markTimeout bounds the writing of what became of a run.
const markTimeout = 5 * time.Second

// update changes a run. What change sees and leaves is its own ([Runs]), so it may keep
// it.
func (s *Service) update(ctx context.Context, org string, id int64, change func(*Run) error) error {
	return tellApart(change, func(change func(*Run) error) error {
		return s.store.UpdateRun(ctx, org, id, change)
	})
}

// updateAndRemove is the same for TxStore.UpdateRunAndRemove.
func (s *Service) updateAndRemove(
	ctx context.Context, org string, id int64, change func(*Run) error, l mortise.Lease,
) error {
	return tellApart(change, func(change func(*Run) error) error {
		return s.tx.UpdateRunAndRemove(ctx, org, id, change, l)
	})
}

// tellApart passes what change returns as it is: it is the service's own, and not a
// failure of the store.
func tellApart(change func(*Run) error, store func(func(*Run) error) error) error {
	var own error
	err := store(func(r *Run) error {
		own = change(r)
		return own
	})
	if own != nil && errors.Is(err, own) {
		return own
	}
	return unavailable("change a run", err)
}

// latest keeps a run's times in order where another machine's clock would not.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
