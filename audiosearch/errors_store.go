package audiosearch

import (
	"errors"
	"fmt"
)

// The errors of a [Store], beside ErrExists, ErrTooManyRuns, ErrFinished, ErrNotScored and
// ErrDeleted. A Service passes them on.
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

// notFound returns an error with a text of its own that is [ErrNotFound] as well.
func notFound(text string) error { return &missing{text} }

type missing struct{ text string }

func (e *missing) Error() string { return e.text }
func (e *missing) Unwrap() error { return ErrNotFound }

// sentinels are the errors of a store or a scorer that mean what they say.
var sentinels = []error{
	ErrDatasetNotFound, ErrVideoNotFound, ErrRunNotFound, ErrExists, ErrConflict, ErrNotScored, ErrUnavailable,
	ErrTooManyRuns, ErrFinished, ErrDeleted, ErrNotFound,
}

// unavailable marks a failure of a backend. Sentinels pass as they are.
func unavailable(doing string, err error) error {
	if err == nil {
		return nil
	}
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return err
		}
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, doing, err)
}
