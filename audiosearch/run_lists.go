package audiosearch

import (
	"cmp"
	"context"
	"time"
)

// RunQuery selects runs of one organization. Zero fields but Limit select everything.
type RunQuery struct {
	Dataset string    // byte for byte
	Actor   Actor     // byte for byte
	State   State     // as it is now
	Open    bool      // only runs that have not ended: what waits and what is running
	From    time.Time // created at or after

	Before RunPosition // only runs that follow this place in the list; zero: from its start

	// Limit is how many runs a list may hold. To a store it is over 0. Service.ListRuns
	// takes 0 for 50, and at most MaxRunPage.
	Limit int
}

// MaxRunPage bounds RunQuery.Limit.
const MaxRunPage = 1000

// defaultRunPage is what a RunQuery without a limit gets.
const defaultRunPage = 50

// RunPage is a stretch of a list of runs.
type RunPage struct {
	Runs []Run       // without their results
	Next RunPosition // where the next page begins (as its RunQuery.Before); zero if this is the last one
}

// RunPosition is the place of a run in a list. It stays where it is while runs are made
// and change, so that paging neither repeats nor skips one.
type RunPosition struct {
	CreatedAt time.Time
	ID        int64
}

// IsZero reports whether p is no position: the start of a list as RunQuery.Before, the end
// as RunPage.Next.
func (p RunPosition) IsZero() bool { return p.CreatedAt.IsZero() && p.ID == 0 }

// Compare orders positions as a list does: negative if p comes first (is newer).
func (p RunPosition) Compare(other RunPosition) int {
	return cmp.Or(other.CreatedAt.Compare(p.CreatedAt), cmp.Compare(other.ID, p.ID))
}

// Position returns the run's place in a list.
func (r *Run) Position() RunPosition { return RunPosition{CreatedAt: r.CreatedAt, ID: r.ID} }

// Matches reports whether r is selected by q, its Limit left aside. It defines what
// Runs.ListRuns must return; backends without a query language may call it.
func (q *RunQuery) Matches(r *Run) bool {
	return (q.Dataset == "" || r.Query.Dataset == q.Dataset) &&
		(q.Actor == "" || r.Actor == q.Actor) &&
		(q.State == "" || r.State == q.State) &&
		(!q.Open || r.State != StateTerminated) &&
		(q.From.IsZero() || !r.CreatedAt.Before(q.From)) &&
		(q.Before.IsZero() || r.Position().Compare(q.Before) > 0)
}

// ListRuns returns a page of the organization's runs, newest first.
//
// With a Dataset, it shows the runs that Status does: those of the dataset that there is
// now. Runs of one of the same ID that was deleted are left out. Without a Dataset, it
// shows all runs that are kept, those of deleted datasets too; Status does not know these.
//
// Errors are [*ValidationError], for a Limit outside 0 to [MaxRunPage] and for an unknown
// State, [ErrDatasetNotFound] and [ErrUnavailable].
func (s *Service) ListRuns(ctx context.Context, org string, q RunQuery) (RunPage, error) {
	var p problems
	if q.Limit < 0 || q.Limit > MaxRunPage {
		p.add("limit", ProblemInvalid, "must be 1 to %d", MaxRunPage)
	}
	switch q.State {
	case "", StatePending, StateQueued, StateRunning, StateTerminating, StateTerminated:
	default:
		p.add("state", ProblemInvalid, "is no state of a run")
	}
	if err := p.err(); err != nil {
		return RunPage{}, err
	}
	limit := cmp.Or(q.Limit, defaultRunPage)
	if q.Dataset != "" {
		d, err := s.store.Dataset(ctx, org, q.Dataset)
		if err != nil {
			return RunPage{}, unavailable("read a dataset", err)
		}
		q.From = latest(q.From, d.CreatedAt)
	}
	q.From = ceilMicro(q.From)
	if at := ceilMicro(q.Before.CreatedAt); !at.Equal(q.Before.CreatedAt) {
		q.Before = RunPosition{CreatedAt: at} // no run stands between it and this
	}
	q.Limit = limit + 1
	runs, err := s.store.ListRuns(ctx, org, q)
	if err != nil {
		return RunPage{}, unavailable("list runs", err)
	}
	if len(runs) <= limit {
		return RunPage{Runs: runs}, nil
	}
	return RunPage{Runs: runs[:limit], Next: runs[limit-1].Position()}, nil
}

// ceilMicro rounds a bound up to the precision of stored times, which selects the same
// runs.
func ceilMicro(t time.Time) time.Time {
	t = t.UTC()
	if cut := t.Truncate(time.Microsecond); cut.Before(t) {
		t = cut.Add(time.Microsecond)
	}
	return t
}
