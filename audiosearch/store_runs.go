package audiosearch

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

// Runs keeps the runs. All methods are safe for concurrent use, and atomic. What comes in
// and goes out is the caller's to change.
type Runs interface {
	// CreateRun stores a run, which names no ResultSet. If there is one of this ID, of
	// any organization, nothing is stored, and the error is [mortise.ErrExists]. If the
	// organization has maxWaiting runs or more that have not ended, nothing is stored,
	// and the error is [ErrTooManyRuns]. However many calls there are at once, no more
	// pass than there is room for.
	CreateRun(ctx context.Context, r Run, maxWaiting int) error

	// Run returns a run, or [ErrRunNotFound].
	Run(ctx context.Context, org string, id int64) (Run, error)

	// UpdateRun changes a run, or returns [ErrRunNotFound]. update is pure and may be
	// called more than once. If it returns an error, nothing is changed, and that error
	// is returned. If it panics, nothing is changed either. What it does to
	// organization, ID and CreatedAt is ignored. A ResultSet other than zero must be
	// one into which something was put for this run ([ResultStore]), or nothing is
	// changed, with an error that is not a sentinel. When the run has ended, all other
	// sets of it are forgotten.
	UpdateRun(ctx context.Context, org string, id int64, update func(*Run) error) error

	// ListRuns returns a page of the runs of the organization that q selects
	// ([RunQuery.Matches]), newest first: by CreatedAt, then by ID, both descending. They
	// come without their results. Of a run whose CreatedAt is zero, it is not said
	// whether it is listed: no service makes one.
	ListRuns(ctx context.Context, org string, q RunQuery) (mortise.Page[Run], error)

	// Overdue returns at most limit runs of all organizations whose WakeAt is set and
	// before the given time, whatever their state: the earliest first, and runs of one
	// time in any order. It is maintenance.
	Overdue(ctx context.Context, before time.Time, limit int) ([]Run, error)
}

// ResultStore keeps what runs found, apart from the runs, so that much of it can be
// written before a run ends, in pieces that hold up nobody. An attempt at a run puts
// videos, and then results, into a set that it alone knows; the update that ends the run
// names the set ([Run.ResultSet]). Nobody sees a set before, and what is in those that no
// run names is forgotten when their run has ended. All methods are safe for concurrent
// use. What comes in and goes out is the caller's to change.
//
// PutResultVideos and PutResults return [ErrRunNotFound] if there is no such run, and
// [ErrFinished] if it has ended; then nothing is stored. After another error a part may
// be stored: put the same again.
type ResultStore interface {
	// PutResultVideos adds videos to a set, as they are now: its results show them so,
	// whatever becomes of them. A video whose ID the set has already stays as it is
	// there.
	PutResultVideos(ctx context.Context, org string, run int64, set uuid.UUID, videos []Video) error

	// PutResults puts the results of a set in place of those that it has. Their Path
	// and Metadata are ignored: those of the set's video count. If the set lacks a
	// video, it is an error that is not a sentinel.
	PutResults(ctx context.Context, org string, run int64, set uuid.UUID, results []Result) error

	// RunResults returns the results of the set that a run names, in their order, from
	// a place on; the first one's is 0. It returns some of them at a time, 100 at most,
	// with at most 1 MiB of metadata beside that of one video, but at least one; none
	// if there are no more, or the run names no set. The error is [ErrRunNotFound] if
	// there is no such run.
	RunResults(ctx context.Context, org string, run int64, from int) ([]Result, error)
}

// Counter counts runs. The Backlog is of the runs that have not ended; its Failed
// is zero.
type Counter interface{ mortise.Counter[Counts] }
