package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/steps"
)

// Prune forgets runs that finished before the given time, with their results, and returns
// how many. The store must be a [Pruner], or the error is errors.ErrUnsupported.
func (s *Service) Prune(ctx context.Context, before time.Time) (int, error) {
	pruner, ok := s.store.(Pruner)
	if !ok {
		return 0, fmt.Errorf("audiosearch: the store cannot forget runs: %w", errors.ErrUnsupported)
	}
	before = pages.Ceil(before)
	return forget(ctx, "PruneRuns", func(ctx context.Context, limit int) (int, bool, error) {
		return pruner.PruneRuns(ctx, before, limit)
	})
}

// trim forgets ended runs of organizations that have too many of them, if the store can.
func (s *Service) trim(ctx context.Context) (int, error) {
	pruner, ok := s.store.(Pruner)
	if !ok {
		return 0, nil
	}
	return forget(ctx, "TrimRuns", func(ctx context.Context, limit int) (int, bool, error) {
		return pruner.TrimRuns(ctx, s.opts.KeepRuns, limit)
	})
}

// forget takes steps that remove runs.
func forget(ctx context.Context, name string, step steps.Step) (n int, err error) {
	const limit = 500
	n, err = steps.Run(ctx, name, limit, step)
	return n, unavailable("forget runs", err)
}
