package authmgmttest

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

func (s *faultyStore) Stats(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
	return callFor(s.faults, "Counter.Stats", func() (authmgmt.Stats, error) { return s.inner.Stats(ctx, org, now, most) })
}

func (s *faultyStore) StatsAll(ctx context.Context, most int) (authmgmt.AllStats, error) {
	return callFor(s.faults, "Counter.StatsAll", func() (authmgmt.AllStats, error) { return s.inner.StatsAll(ctx, most) })
}
