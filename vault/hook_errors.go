package vault

import (
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault/format"
)

// hookError is an error of a keyring or a tokenizer. Of this package's errors it is none
// but the one that such a hook can mean. A hook may be built on another vault service,
// and what that says of its vaults, tokens and items is not about ours.
type hookError struct {
	err   error
	means error // nil: the hook is unavailable
}

func (e *hookError) Error() string { return e.err.Error() }

// Is is asked by errors.Is.
func (e *hookError) Is(target error) bool {
	if slices.Contains(ownErrors, target) {
		return target == e.means
	}
	return errors.Is(e.err, target)
}

// As is asked by errors.As.
func (e *hookError) As(target any) bool {
	switch target.(type) {
	case *Reason, **BatchError, **ItemError, **TokenError, **TakenError, **mortise.ValidationError, *mortise.Problem:
		return false
	case **format.Error: // says something to who may read ErrMismatch
		return e.means == format.ErrMismatch && errors.As(e.err, target)
	}
	return errors.As(e.err, target)
}

// fromHook is what an error of a hook is to the service. It means the first one of these
// that it is; of a call, what it says of one item says nothing, for nobody knows of
// which.
func fromHook(err error, meanings ...error) error {
	if err == nil {
		return nil
	}
	e := &hookError{err: err}
	if i := slices.IndexFunc(meanings, func(m error) bool { return errors.Is(err, m) }); i >= 0 {
		e.means = meanings[i]
	}
	return e
}

// ownErrors are all errors that a vault service returns.
var ownErrors = append([]error{
	mortise.ErrNotFound, mortise.ErrExists, mortise.ErrDeleted, mortise.ErrUnavailable,
	ErrTableNotFound, ErrColumnNotFound, ErrGroupNotFound, ErrNotDeterministic, ErrNotTokenized, ErrValueNotFound,
	format.ErrMismatch, ErrInvalid, ErrTooMuch, ErrForbidden, ErrTokenConflict, format.ErrExhausted, ErrConflict,
}, sentinels...)

// isItems reports whether an error from fromHook is about one item.
func isItems(err error) bool {
	e, ok := err.(*hookError)
	return ok && e.means != nil
}
