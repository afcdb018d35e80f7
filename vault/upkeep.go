package vault

import (
	"context"
	"time"
)

// pruneEvery is how often Run looks for audit events to forget.
const pruneEvery = time.Minute

// Run forgets audit events that are older than Options.Retention, of all organizations,
// until ctx ends. Then it returns nil. Without a retention it only waits. Any number may run
// beside each other. A failure is logged and tried again at the next turn, a minute later.
func (s *Service) Run(ctx context.Context) error {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		if _, err := s.RunOnce(ctx); err != nil && ctx.Err() == nil {
			s.opts.Logger.WarnContext(ctx, "vault: audit events not forgotten; trying again", "in", pruneEvery.String(), "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// RunOnce is one turn of Run. It returns how many events it forgot.
func (s *Service) RunOnce(ctx context.Context) (forgotten int, err error) {
	if s.opts.Retention == 0 {
		return 0, nil
	}
	return s.Prune(ctx, s.now().Add(-s.opts.Retention))
}
