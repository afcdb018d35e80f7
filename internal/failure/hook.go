package failure

import (
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise"
)

// FromHook returns an error of a host's hook (a directory, a queue, a scorer) for the
// service that called the hook. A hook may be built on another service, and the errors of
// that service say nothing of the arguments and the objects of this one: so of the errors
// that all domains share the result matches only the ones that the hook can mean. A nil
// error stays nil.
func FromHook(err error, means ...error) error {
	if err == nil {
		return nil
	}
	return &hookError{err, means}
}

type hookError struct {
	err   error
	means []error
}

func (e *hookError) Error() string { return e.err.Error() }

// Is is asked by errors.Is.
func (e *hookError) Is(target error) bool {
	if slices.Contains(common, target) && !slices.Contains(e.means, target) {
		return false
	}
	return errors.Is(e.err, target)
}

// As is asked by errors.As.
func (e *hookError) As(target any) bool {
	switch target.(type) {
	case **mortise.ValidationError, *mortise.Problem:
		return false
	}
	return errors.As(e.err, target)
}
