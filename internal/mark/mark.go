// Package mark gives errors a meaning beside their text: that they are a sentinel as well,
// or when to try again.
package mark

import (
	"errors"
	"time"
)

// As returns an error with the text of err that is both err and mark.
func As(err, mark error) error { return &marked{err, mark} }

type marked struct{ err, mark error }

func (e *marked) Error() string   { return e.err.Error() }
func (e *marked) Unwrap() []error { return []error{e.err, e.mark} }

// MaxWait bounds how long a host's code may put off the next attempt: beyond that, no request
// brings it back.
const MaxWait = 24 * time.Hour

// After returns an error with the text of err that says to try again after a while, which is
// 0 to [MaxWait].
func After(err error, wait time.Duration) error { return &after{err, min(max(wait, 0), MaxWait)} }

// Wait returns what the outermost After says, and false if there is none.
func Wait(err error) (wait time.Duration, said bool) {
	var later *after
	if !errors.As(err, &later) {
		return 0, false
	}
	return later.wait, true
}

type after struct {
	err  error
	wait time.Duration
}

func (e *after) Error() string { return e.err.Error() }
func (e *after) Unwrap() error { return e.err }
