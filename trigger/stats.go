package trigger

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// Count is a number that is counted only so far.
type Count = mortise.Count

// Stats says how many events an organization has, and how they are doing.
type Stats struct {
	Waiting Count // for a worker, or for another attempt: received
	Running Count // a worker has them, or had them when it died: processing

	// Events that have ended and are still kept. Those that have failed are dead letters:
	// nothing happens to them without [Service.Retry].
	Completed, Failed Count

	OldestWaiting time.Time // when the oldest of the waiting events was submitted; zero: none waits
}

// AllStats says what workers have to do, and people after them, for all organizations
// together.
type AllStats struct {
	Waiting Count // as in Stats
	Running Count // as in Stats
	Failed  Count // as in Stats

	// NextDue is the earliest DueAt of the waiting events; zero: none waits. If it lies
	// in the past, the workers are late, by the time since then. Otherwise nothing is
	// late: what waits is waiting for another attempt.
	NextDue time.Time
}

// Counter counts events. All methods are safe for concurrent use. A Count is exact up to
// most (over 0), and else it is most and More: a backend that can keep much counts no
// further, by indexes, so that a call costs little however much is kept. A call counts at
// one moment: an event that changes meanwhile is counted once. Times are UTC.
type Counter interface {
	// Stats counts the events of an organization.
	Stats(ctx context.Context, org string, most int) (Stats, error)

	// StatsAll counts the events of all organizations that are not completed. An event
	// whose DueAt is zero does not count for NextDue. Those of a deleted organization may
	// count until they are removed. It is maintenance: no organization is asked for.
	StatsAll(ctx context.Context, most int) (AllStats, error)
}

// Stats counts the events of an organization: for its dashboard. It is cheap: each number
// is exact up to [mortise.MaxCount], and "at least" that beyond. The error is
// [ErrUnavailable]. An organization that is unknown has no events.
func (s *Service) Stats(ctx context.Context, org string) (Stats, error) {
	stats, err := s.store.Stats(ctx, org, mortise.MaxCount)
	if err != nil {
		return Stats{}, unavailable("count the events of an organization", err)
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
		return AllStats{}, unavailable("count the events that are not completed", err)
	}
	return open, nil
}
