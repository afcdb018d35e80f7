package audiosearch

import (
	"errors"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

// The errors of a [Store], beside [mortise.ErrExists], [mortise.ErrDeleted],
// [ErrTooManyRuns], [ErrFinished] and [ErrNotScored]. A Service passes them on.
var (
	// ErrDatasetNotFound: there is no such dataset, or it belongs to another
	// organization.
	ErrDatasetNotFound = notFound("audiosearch: no such dataset")
	// ErrVideoNotFound: the dataset has no such video.
	ErrVideoNotFound = notFound("audiosearch: no such video")
	// ErrRunNotFound: there is no such run, or it belongs to another organization.
	ErrRunNotFound = notFound("audiosearch: no such run")
	// ErrConflict: the video was changed or deleted while its scores were made. Score it
	// again.
	ErrConflict = errors.New("audiosearch: the video was changed meanwhile")
)

// notFound returns an error with a text of its own that is [mortise.ErrNotFound] as well.
func notFound(text string) error { return &missing{text} }

type missing struct{ text string }

func (e *missing) Error() string { return e.text }
func (e *missing) Unwrap() error { return mortise.ErrNotFound }

// sentinels are the package's own errors of a store or a scorer that mean what they say.
var sentinels = []error{ErrConflict, ErrNotScored, ErrTooManyRuns, ErrFinished}

// unavailable marks a failure of a backend. Sentinels pass as they are.
func unavailable(doing string, err error) error {
	return failure.Unavailable(doing, err, sentinels...)
}

// reasons class the errors of the package for observers.
var reasons = []failure.Class{
	{Err: ErrTooManyRuns, Reason: mortise.ReasonLimit},
	{Err: ErrFinished, Reason: mortise.ReasonConflict},
	{Err: ErrConflict, Reason: mortise.ReasonConflict},
	{Err: ErrNotScored, Reason: mortise.ReasonNotFound},
}
