package authmgmt

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// Stats says how much an organization has.
type Stats struct {
	Clients mortise.Count // that are not deleted
	Tokens  mortise.Count // that work: neither revoked nor expired
	Pending mortise.Count // invitations that can still be accepted

	// Waiting are the invitations that are accepted and not granted yet: their Grant has
	// not succeeded, or waits for the person. None of them is given up.
	Waiting       mortise.Count
	OldestWaiting time.Time // when the oldest of them was accepted; zero: none waits
}

// AllStats says what [Service.Run] has to do, for all organizations together.
type AllStats struct {
	Waiting       mortise.Count // as in Stats
	OldestWaiting time.Time     // as in Stats

	// NextDue is the earliest GrantDue of those that do not wait for the person; zero:
	// there is none. If it lies in the past, Run is late, by the time since then.
	NextDue time.Time
}

// Stats counts what an organization has: for its dashboard. It is cheap: each number is
// exact up to [mortise.MaxCount], and "at least" that beyond. The error is
// [mortise.ErrUnavailable]. An organization that nobody has heard of has nothing.
func (s *Service) Stats(ctx context.Context, org string) (Stats, error) {
	stats, err := s.store.Stats(ctx, org, s.now(), mortise.MaxCount)
	if err != nil {
		return Stats{}, unavailable("count what an organization has", err)
	}
	return stats, nil
}

// StatsAll counts the grants that wait, for all organizations: for the metrics of those
// who run the service. Its error is that of Stats. It is as cheap as Stats unless very
// many grants wait: to find the oldest, a backend may look at each of them.
func (s *Service) StatsAll(ctx context.Context) (AllStats, error) {
	open, err := s.store.StatsAll(ctx, mortise.MaxCount)
	if err != nil {
		return AllStats{}, unavailable("count the grants that wait", err)
	}
	return open, nil
}
