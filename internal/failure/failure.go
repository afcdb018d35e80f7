// Package failure makes the errors that the services of all domains return, for a wrong
// argument and for a backend that failed. It also classes errors for observers.
package failure

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// Problems collects the problems of an argument, and becomes an error if there are any.
type Problems struct {
	// Found are the problems so far.
	Found []mortise.Problem
}

// Add notes a problem of a field.
func (p *Problems) Add(field, format string, args ...any) {
	p.AddAt(mortise.Path{{Field: field}}, format, args...)
}

// AddAt notes a problem at a path.
func (p *Problems) AddAt(at mortise.Path, format string, args ...any) {
	p.Found = append(p.Found, mortise.Problem{Path: at, Message: fmt.Sprintf(format, args...)})
}

// Name refuses a text that no backend should have to store as a name: an empty or a long
// one, bad UTF-8, U+0000.
func (p *Problems) Name(field, text string) {
	if problem := name.Problem(text); problem != "" {
		p.Add(field, "%s", problem)
	}
}

// Limit checks the limit of a page, and returns it, or its default for 0.
func (p *Problems) Limit(n int) int {
	switch {
	case n < 0 || n > mortise.MaxPageSize:
		p.Add("limit", "must be between 1 and %d", mortise.MaxPageSize)
	case n == 0:
		return 50
	}
	return n
}

// Page checks the cursor of a page, which read reads, and its limit. It returns the limit, or
// the default for 0.
func Page[ID any](
	p *Problems, after mortise.Cursor, limit int, read func(mortise.Cursor) (at time.Time, id ID, behind bool, err error),
) int {
	limit = p.Limit(limit)
	if _, _, _, err := read(after); err != nil {
		p.Add("after", "must be a cursor that a page of this list returned as its Next")
	}
	return limit
}

// Err returns a [mortise.ValidationError] of the problems, nil if there are none.
func (p *Problems) Err() error {
	if len(p.Found) == 0 {
		return nil
	}
	return &mortise.ValidationError{Problems: p.Found}
}

// common are the errors of a backend that mean the same in all domains.
var common = []error{mortise.ErrNotFound, mortise.ErrExists, mortise.ErrDeleted, mortise.ErrUnavailable}

// Unavailable marks a failure of a backend as [mortise.ErrUnavailable]. The errors that
// all domains share, [*mortise.ValidationError] included, and own ones of a domain, pass as
// they are.
func Unavailable(doing string, err error, own ...error) error {
	if err == nil || errors.As(err, new(*mortise.ValidationError)) {
		return err
	}
	for _, list := range [][]error{common, own} {
		for _, sentinel := range list {
			if errors.Is(err, sentinel) {
				return err
			}
		}
	}
	return fmt.Errorf("%w: %s: %w", mortise.ErrUnavailable, doing, err)
}

// Apart has a store update an item. An error of change is returned as it is, and an error of
// the store as [Unavailable] makes it.
func Apart[T any](doing string, change func(*T) error, update func(func(*T) error) error, own ...error) error {
	var refused error
	err := update(func(t *T) error {
		refused = change(t)
		return refused
	})
	if refused != nil && errors.Is(err, refused) {
		return refused
	}
	return Unavailable(doing, err, own...)
}

// Backoff returns the wait after a failed attempt, the first of which is 1: 1 s, doubled
// with each further one up to a limit, of which at least half is waited.
func Backoff(attempt int, limit time.Duration) time.Duration {
	d := min(limit, time.Second<<min(max(attempt-1, 0), 20))
	return d/2 + rand.N(d/2+1)
}

// Class is a domain's own error and its reason.
type Class struct {
	Err    error
	Reason mortise.Reason
}

// shared are the classes of the errors that all domains have.
var shared = []Class{
	{mortise.ErrNotFound, mortise.ReasonNotFound},
	{mortise.ErrExists, mortise.ReasonConflict},
	{mortise.ErrDeleted, mortise.ReasonDeleted},
}

// Reason classes an error: as unavailable, by the classes of a domain, and then by the
// classes of all domains.
func Reason(err error, own []Class) mortise.Reason {
	var invalid *mortise.ValidationError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, mortise.ErrUnavailable):
		return mortise.ReasonUnavailable
	case errors.As(err, &invalid):
		return mortise.ReasonInvalid
	}
	for _, list := range [][]Class{own, shared} {
		for _, c := range list {
			if errors.Is(err, c.Err) {
				return c.Reason
			}
		}
	}
	return mortise.ReasonFailed
}
