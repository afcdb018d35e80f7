package trigger

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

// Counts says how many events an organization has, by their status. Each number is of
// some moment during the call.
type Counts struct {
	Waiting mortise.Count // for a worker, or for another attempt: received
	Running mortise.Count // a worker has them, or had them when it died: processing

	// Events that have ended and are still kept. The failed ones are dead letters: nothing
	// happens to them without [Service.Retry].
	Completed, Failed, Cancelled mortise.Count
}

// Counts counts the events of an organization: for its dashboard. It is cheap: each number
// is exact up to [mortise.MaxCount], and "at least" that beyond. The error is
// [mortise.ErrUnavailable]. An organization that is unknown has no events.
func (s *Service) Counts(ctx context.Context, org string) (Counts, error) {
	counts, err := s.store.Counts(ctx, org, mortise.MaxCount)
	if err != nil {
		return Counts{}, failure.Unavailable("count the events of an organization", err)
	}
	return counts, nil
}

// Backlog counts the waiting, running and failed events of all organizations, and says when
// the next one is due: for metrics, and to decide how many workers there should be. It is
// as cheap as Counts, and its error is the same. Events of a deleted organization may
// count until [Service.DeleteOrganization] has removed them.
func (s *Service) Backlog(ctx context.Context) (mortise.Backlog, error) {
	backlog, err := s.store.Backlog(ctx, mortise.MaxCount)
	if err != nil {
		return mortise.Backlog{}, failure.Unavailable("count the events that are not completed", err)
	}
	return backlog, nil
}
