package audiosearch

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// Stats says how much an organization has, and how its runs are doing.
type Stats struct {
	Datasets mortise.Count
	Videos   mortise.Count // of all its datasets

	Waiting mortise.Count // runs for a worker, or for another attempt: PENDING and QUEUED
	Running mortise.Count // runs that a worker has, or had when it died: RUNNING and TERMINATING

	// Runs that have ended, by their Termination, and are still kept.
	Succeeded, ClientErrors, InternalErrors mortise.Count

	OldestWaiting time.Time // when the oldest of the waiting runs was created; zero: none waits
}

// AllStats says what workers have to do, for all organizations together.
type AllStats struct {
	Waiting mortise.Count // as in Stats
	Running mortise.Count // as in Stats

	// NextDue is the earliest DueAt of the waiting runs; zero: none waits. If it lies in
	// the past, the workers are late, by the time since then. Otherwise nothing is late:
	// what waits is waiting for another attempt.
	NextDue time.Time
}

// Stats counts what an organization has: for its dashboard. It is cheap: each number is
// exact up to [mortise.MaxCount], and "at least" that beyond. The error is
// [mortise.ErrUnavailable]. An organization that nobody has heard of has nothing.
func (s *Service) Stats(ctx context.Context, org string) (Stats, error) {
	stats, err := s.store.Stats(ctx, org, mortise.MaxCount)
	if err != nil {
		return Stats{}, unavailable("count what an organization has", err)
	}
	return stats, nil
}

// StatsAll counts what workers have to do, for all organizations: for the metrics of
// those who run the service, and to decide how many workers there should be. It is as
// cheap as Stats, and its error is the same.
func (s *Service) StatsAll(ctx context.Context) (AllStats, error) {
	open, err := s.store.StatsAll(ctx, mortise.MaxCount)
	if err != nil {
		return AllStats{}, unavailable("count the runs that have not ended", err)
	}
	return open, nil
}
