package trigger

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

// Stats says how many events an organization has, and how they are doing.
type Stats struct {
	Waiting mortise.Count // for a worker, or for another attempt: received
	Running mortise.Count // a worker has them, or had them when it died: processing

	// Events that have ended and are still kept. Those that have failed are dead letters:
	// nothing happens to them without [Service.Retry].
	Completed, Failed mortise.Count

	OldestWaiting time.Time // when the oldest of the waiting events was submitted; zero: none waits
}

// AllStats says what workers have to do, and people after them, for all organizations
// together.
type AllStats struct {
	Waiting mortise.Count // as in Stats
	Running mortise.Count // as in Stats
	Failed  mortise.Count // as in Stats

	// NextDue is the earliest DueAt of the waiting events; zero: none waits. If it lies
	// in the past, the workers are late, by the time since then. Otherwise nothing is
	// late: what waits is waiting for another attempt.
	NextDue time.Time
}

// Stats counts the events of an organization: for its dashboard. It is cheap: each number
// is exact up to [mortise.MaxCount], and "at least" that beyond. The error is
// [mortise.ErrUnavailable]. An organization that is unknown has no events.
func (s *Service) Stats(ctx context.Context, org string) (Stats, error) {
	stats, err := s.store.Stats(ctx, org, mortise.MaxCount)
	if err != nil {
		return Stats{}, failure.Unavailable("count the events of an organization", err)
	}
	return stats, nil
}

// StatsAll counts what is to be done, for all organizations: for the metrics of those who
// run the service, and to decide how many workers there should be. It is as cheap as
// Stats, and its error is the same. Events of a deleted organization may count until
// [Service.DeleteOrganization] has removed them.
func (s *Service) StatsAll(ctx context.Context) (AllStats, error) {
	open, err := s.store.StatsAll(ctx, mortise.MaxCount)
	if err != nil {
		return AllStats{}, failure.Unavailable("count the events that are not completed", err)
	}
	return open, nil
}
