package audiosearch

import (
	"context"

	"github.com/seed-6363c74e/mortise"
)

// Counts says how many runs an organization has, by how they are doing. Each number is of
// some moment during the call.
type Counts struct {
	Waiting mortise.Count // for a worker, or for another attempt: PENDING and QUEUED
	Running mortise.Count // a worker has them, or had them when it died: RUNNING and TERMINATING

	// Runs that have ended, by their Termination, and are still kept.
	Succeeded, ClientErrors, InternalErrors mortise.Count
}

// Counts counts the runs of an organization: for its dashboard. It is cheap: each number
// is exact up to [mortise.MaxCount], and "at least" that beyond. The error is
// [mortise.ErrUnavailable]. An organization that is unknown has no runs.
func (s *Service) Counts(ctx context.Context, org string) (Counts, error) {
	counts, err := s.store.Counts(ctx, org, mortise.MaxCount)
	if err != nil {
		return Counts{}, unavailable("count the runs of an organization", err)
	}
	return counts, nil
}

// Backlog counts the waiting and running runs of all organizations, and says when the next
// one is due: for metrics, and to decide how many workers there should be. It counts no
// failed runs: Failed is zero. It is as cheap as Counts, and its error is the same.
func (s *Service) Backlog(ctx context.Context) (mortise.Backlog, error) {
	backlog, err := s.store.Backlog(ctx, mortise.MaxCount)
	if err != nil {
		return mortise.Backlog{}, unavailable("count the runs that have not ended", err)
	}
	return backlog, nil
}
