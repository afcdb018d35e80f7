package audiosearch

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/cursor"
)

// RunQuery selects runs of one organization. Zero fields but Limit select everything.
type RunQuery struct {
	Dataset string        // byte for byte
	Actor   mortise.Actor // byte for byte
	State   State         // as it is now
	Open    bool          // only runs that have not ended: what waits and what is running
	From    time.Time     // created at or after

	After mortise.Position // only runs that follow this place in the list; zero: from its start

	// Limit is how many runs a list may hold. To a store it is over 0. Service.ListRuns
	// takes 0 for 50, and at most mortise.MaxPageSize.
	Limit int
}

// Position returns the run's place in a list. The ID of the position is the run's, in its
// last 8 bytes, the highest first.
func (r *Run) Position() mortise.Position {
	p := mortise.Position{At: r.CreatedAt}
	binary.BigEndian.PutUint64(p.ID[8:], uint64(r.ID))
	return p
}

// AfterID returns the ID in After as a number, for backends that compare numbers: a run
// follows After if its CreatedAt is before After.At, or is the same and its ID is less. If
// After has the ID of no run, it is the greatest number.
func (q *RunQuery) AfterID() int64 {
	high, low := binary.BigEndian.Uint64(q.After.ID[:8]), binary.BigEndian.Uint64(q.After.ID[8:])
	if high != 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}

// Matches reports whether r is selected by q, its Limit left aside. It defines what
// Runs.ListRuns must return; backends without a query language may call it.
func (q *RunQuery) Matches(r *Run) bool {
	return (q.Dataset == "" || r.Query.Dataset == q.Dataset) &&
		(q.Actor == "" || r.Actor == q.Actor) &&
		(q.State == "" || r.State == q.State) &&
		(!q.Open || r.State != StateTerminated) &&
		(q.From.IsZero() || !r.CreatedAt.Before(q.From)) &&
		(q.After.IsZero() || r.Position().Compare(q.After) < 0)
}

// ListRuns returns a page of the organization's runs, newest first.
//
// With a Dataset, it shows the runs that [Service.Run] does: those of the dataset that
// there is now. Runs of one of the same ID that was deleted are left out. Without a
// Dataset, it shows all runs that are kept, those of deleted datasets too; [Service.Run]
// does not know these.
//
// Errors are [*mortise.ValidationError], for a Limit outside 0 to [mortise.MaxPageSize]
// and for an unknown State, [ErrDatasetNotFound] and [mortise.ErrUnavailable].
func (s *Service) ListRuns(ctx context.Context, org string, q RunQuery) (mortise.Page[Run], error) {
	var p problems
	p.Limit(q.Limit)
	switch q.State {
	case "", StatePending, StateQueued, StateRunning, StateTerminating, StateTerminated:
	default:
		p.add("state", "", "is no state of a run")
	}
	if err := p.Err(); err != nil {
		return mortise.Page[Run]{}, err
	}
	limit := cmp.Or(q.Limit, defaultPage)
	if q.Dataset != "" {
		d, err := s.store.Dataset(ctx, org, q.Dataset)
		if err != nil {
			return mortise.Page[Run]{}, ofDataset(q.Dataset, unavailable("read a dataset", err))
		}
		q.From = latest(q.From, d.CreatedAt)
	}
	q.From = cursor.Ceil(q.From)
	if at := cursor.Ceil(q.After.At); !at.Equal(q.After.At) {
		q.After = mortise.Position{At: at} // no run stands between it and this
	}
	q.Limit = limit + 1
	runs, err := s.store.ListRuns(ctx, org, q)
	if err != nil {
		return mortise.Page[Run]{}, unavailable("list runs", err)
	}
	if len(runs) <= limit {
		return mortise.Page[Run]{Items: runs}, nil
	}
	return mortise.Page[Run]{Items: runs[:limit], Next: runs[limit-1].Position()}, nil
}
