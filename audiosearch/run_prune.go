package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise/internal/cursor"
)

// Prune forgets runs that finished before the given time, with their results, and returns
// how many. The store must be a [Pruner], or the error is errors.ErrUnsupported.
func (s *Service) Prune(ctx context.Context, before time.Time) (int, error) {
	pruner, ok := s.store.(Pruner)
	if !ok {
		return 0, fmt.Errorf("audiosearch: the store cannot forget runs: %w", errors.ErrUnsupported)
	}
	before = cursor.Ceil(before)
	return forget(func(limit int) (int, error) { return pruner.PruneRuns(ctx, before, limit) })
}

// trim forgets ended runs of organizations that have too many of them, if the store can.
func (s *Service) trim(ctx context.Context) (int, error) {
	pruner, ok := s.store.(Pruner)
	if !ok {
		return 0, nil
	}
	return forget(func(limit int) (int, error) { return pruner.TrimRuns(ctx, s.opts.KeepRuns, limit) })
}

// forget calls step until it removes fewer runs than it may.
func forget(step func(limit int) (int, error)) (total int, err error) {
	const batch = 500
	for {
		n, err := step(batch)
		total += n
		if err != nil || n < batch {
			return total, unavailable("forget runs", err)
		}
	}
}
