package audiosearch

import (
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// namedError is an error of a call about one thing, with the thing's ID.
type namedError struct {
	err error
	id  string
}

// Error writes the ID when it is read, so that a caller who looks at the kind alone pays nothing.
func (e *namedError) Error() string { return e.err.Error() + ": " + name.Quote(e.id) }
func (e *namedError) Unwrap() error { return e.err }

// of adds an ID to an error of one of these kinds.
func of(id string, err error, kinds ...error) error {
	for _, kind := range kinds {
		if id != "" && errors.Is(err, kind) {
			return &namedError{err, id}
		}
	}
	return err
}

func ofDataset(id string, err error) error { return of(id, err, ErrDatasetNotFound, mortise.ErrExists) }
func ofVideo(id string, err error) error   { return of(id, err, ErrVideoNotFound) }

func ofRun(id int64, err error) error {
	if errors.Is(err, ErrRunNotFound) {
		return fmt.Errorf("%w: %d", err, id)
	}
	return err
}
