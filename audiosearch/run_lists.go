package audiosearch

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise/internal/cursor"
)

// RunQuery selects runs of one organization. Zero fields but Limit select everything.
type RunQuery struct {
	Dataset string    // byte for byte
	Actor   Actor     // byte for byte
	State   State     // as it is now
	Open    bool      // only runs that have not ended: what waits and what is running
	From    time.Time // created at or after

	After RunPosition // only runs that follow this place in the list; zero: from its start

	// Limit is how many runs a list may hold. To a store it is over 0. Service.ListRuns
	// takes 0 for 50, and at most MaxPageSize.
	Limit int
}

// RunPage is a stretch of a list of runs.
type RunPage struct {
	Runs []Run       // without their results
	Next RunPosition // the next page's RunQuery.After; zero: this is the last one
}

// RunPosition is the place of a run in a list. It stays where it is while runs are made
// and change, so that paging neither repeats nor skips one.
type RunPosition struct {
	At time.Time // CreatedAt
	ID int64
}

// IsZero reports whether p is the zero position: the start of a list as RunQuery.After,
// its end as RunPage.Next.
func (p RunPosition) IsZero() bool { return p.ID == 0 && p.At.IsZero() }

// Compare orders positions from the oldest to the newest, those of equal times by ID:
// negative if p comes before other. Lists of runs have the opposite order.
func (p RunPosition) Compare(other RunPosition) int {
	return cmp.Or(p.At.Compare(other.At), cmp.Compare(p.ID, other.ID))
}

// String returns a text of 22 characters that need no escape in URLs, which
// [ParseRunPosition] reads. That of the zero position is empty. It may be shown to
// anybody who may see the time and the ID, which is all that it holds.
func (p RunPosition) String() string {
	if p.IsZero() {
		return ""
	}
	return cursor.EncodeInt(p.At, p.ID)
}

// ParseRunPosition reads what [RunPosition.String] wrote, and nothing else.
func ParseRunPosition(text string) (RunPosition, error) {
	if text == "" {
		return RunPosition{}, nil
	}
	at, id, err := cursor.DecodeInt(text)
	p := RunPosition{At: at, ID: id}
	if err != nil || p.IsZero() {
		return RunPosition{}, errNoPosition
	}
	return p, nil
}

var errNoPosition = errors.New("audiosearch: not a position of a list of runs; take it from the page before as it is")

// Position returns the run's place in a list.
func (r *Run) Position() RunPosition { return RunPosition{At: r.CreatedAt, ID: r.ID} }

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
// Errors are [*ValidationError], for a Limit outside 0 to [MaxPageSize] and for an
// unknown State, [ErrDatasetNotFound] and [ErrUnavailable].
func (s *Service) ListRuns(ctx context.Context, org string, q RunQuery) (RunPage, error) {
	var p problems
	p.limit(q.Limit)
	switch q.State {
	case "", StatePending, StateQueued, StateRunning, StateTerminating, StateTerminated:
	default:
		p.add("state", ProblemInvalid, "is no state of a run")
	}
	if err := p.err(); err != nil {
		return RunPage{}, err
	}
	limit := cmp.Or(q.Limit, defaultPage)
	if q.Dataset != "" {
		d, err := s.store.Dataset(ctx, org, q.Dataset)
		if err != nil {
			return RunPage{}, unavailable("read a dataset", err)
		}
		q.From = latest(q.From, d.CreatedAt)
	}
	q.From = ceilMicro(q.From)
	if at := ceilMicro(q.After.At); !at.Equal(q.After.At) {
		q.After = RunPosition{At: at} // no run stands between it and this
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
