package format

import (
	"errors"
	"fmt"
)

// The errors of a [Tokenizer].
var (
	// ErrMismatch: the value does not fit the format of its column.
	ErrMismatch = errors.New("vault: the value does not fit the column's format")
	// ErrExhausted: no free token of the column's format was found. Give the column a
	// format with more room.
	ErrExhausted = errors.New("vault: the format has no room for another token")
)

// Error is an [ErrMismatch] that says what would fit.
type Error struct {
	// Message says so, and nothing of the value: "an email address is needed". It is
	// shown to who sent the value, also over HTTP.
	Message string
}

// Error says what would fit.
func (e *Error) Error() string { return ErrMismatch.Error() + ": " + e.Message }

// Unwrap returns [ErrMismatch].
func (e *Error) Unwrap() error { return ErrMismatch }

func formatError(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }
