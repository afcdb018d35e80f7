package audiosearch

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// RunQuery selects runs of one organization. Zero fields but Limit select everything.
type RunQuery struct {
	Dataset string        // byte for byte
	Actor   mortise.Actor // byte for byte
	State   State         // as it is now
	Open    bool          // only runs that have not ended: what waits and what is running
	From    time.Time     // created at or after
	After   mortise.Cursor
	Limit   int // at most mortise.MaxPageSize; a Service takes 0 for 50
}

// Position returns the run's place in a list. The ID of the position is the run's, 8
// bytes, the highest first.
func (r *Run) Position() mortise.Position {
	return mortise.Position{At: r.CreatedAt, ID: string(binary.BigEndian.AppendUint64(nil, uint64(r.ID)))}
}

// Matches reports whether r is selected by q; After and Limit do not count. It defines what
// Runs.ListRuns must return; backends without a query language may call it.
func (q *RunQuery) Matches(r *Run) bool {
	return (q.Dataset == "" || r.Query.Dataset == q.Dataset) &&
		(q.Actor == "" || r.Actor == q.Actor) &&
		(q.State == "" || r.State == q.State) &&
		(!q.Open || r.State != StateTerminated) &&
		(q.From.IsZero() || !r.CreatedAt.Before(q.From))
}

// ListRuns returns a page of the organization's runs, newest first.
//
// With a Dataset, it shows the runs that [Service.Run] does: those of the dataset that
// there is now. Runs of one of the same ID that was deleted are left out. Without a
// Dataset, it shows all runs that are kept, those of deleted datasets too; [Service.Run]
// does not know these.
//
// Errors are [*mortise.ValidationError], for a Limit outside 0 to [mortise.MaxPageSize],
// an unknown State and a text that is no cursor, [ErrDatasetNotFound] and [mortise.ErrUnavailable].
func (s *Service) ListRuns(ctx context.Context, org string, q RunQuery) (mortise.Page[Run], error) {
	var p problems
	q.Limit = failure.Page(&p.Problems, q.After, q.Limit, pages.ByNumber)
	switch q.State {
	case "", StatePending, StateQueued, StateRunning, StateTerminating, StateTerminated:
	default:
		p.add("state", "", "is no state of a run")
	}
	if err := p.Err(); err != nil {
		return mortise.Page[Run]{}, err
	}
	if q.Dataset != "" {
		d, err := s.store.Dataset(ctx, org, q.Dataset)
		if err != nil {
			return mortise.Page[Run]{}, ofDataset(q.Dataset, unavailable("read a dataset", err))
		}
		q.From = latest(q.From, d.CreatedAt)
	}
	q.Actor, q.From = name.Clean(q.Actor), pages.Ceil(q.From)
	page, err := s.store.ListRuns(ctx, org, q)
	if err == nil {
		err = pages.Check(page, q.After, q.Limit)
	}
	return page, unavailable("list runs", err)
}
