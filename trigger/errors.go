package trigger

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/mark"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/oneline"
)

// The errors that callers tell apart with errors.Is.
var (
	// ErrNotFound: no such event, key or organization, or it belongs to another
	// organization.
	ErrNotFound = errors.New("trigger: not found")
	// ErrNotConfigured: the organization has not finished its setup. Finish it, by
	// [Service.UpdateOrganization], then submit again. Where organizations need no setup,
	// leave [Backend].Directory nil.
	ErrNotConfigured = errors.New("trigger: the organization has not finished setup")
	// ErrNoEligibleCollection: the doc collection asked for is not configured or not
	// ready, or none of them is.
	ErrNoEligibleCollection = errors.New("trigger: no doc collection is configured and ready")
	// ErrIdempotencyKeyReused: the key was used within the window for another request.
	// Use a new key.
	ErrIdempotencyKeyReused = errors.New("trigger: the idempotency key was used for a different request")
	// ErrEnqueueFailed: the event was stored and could not be queued; it is marked failed
	// and will not run. Submit again.
	ErrEnqueueFailed = errors.New("trigger: the event could not be queued")
	// ErrUnavailable: the store failed, or the queue did for the event of an earlier
	// request with the same key. Whether the call took effect is unknown; try again, with
	// an idempotency key.
	ErrUnavailable = errors.New("trigger: the store is unavailable")
	// ErrInvalidKey: the API key is unknown or revoked.
	ErrInvalidKey = errors.New("trigger: invalid API key")
	// ErrNotFailed: only a failed event can be retried by hand.
	ErrNotFailed = errors.New("trigger: only a failed event can be retried")
	// ErrExists: an API key with this digest is stored already.
	ErrExists = errors.New("trigger: already exists")
	// ErrDeleted: the organization was deleted ([Service.DeleteOrganization]).
	ErrDeleted = errors.New("trigger: the organization was deleted, and its ID is not given again; use another ID")
)

// Problem is one thing wrong with a request. Its message never repeats the request's
// content.
type Problem struct {
	Path    mortise.Path // "instructions", "context", "idempotency_key", "limit", ...
	Message string
}

// Error says where the problem is, and what it is.
func (p Problem) Error() string { return p.Path.String() + ": " + p.Message }

// Is reports whether another error is the same Problem, for errors.Is.
func (p Problem) Is(target error) bool {
	q, ok := target.(Problem)
	return ok && slices.Equal(p.Path, q.Path) && p.Message == q.Message
}

// ValidationError holds everything that is wrong with a request.
type ValidationError struct{ Problems []Problem }

// Error lists the problems on one line.
func (e *ValidationError) Error() string {
	if len(e.Problems) == 0 {
		return "trigger: invalid request"
	}
	return "trigger: invalid request: " + oneline.Of(e.Problems).Error()
}

// Unwrap lets errors.As find the first Problem, and errors.Is any of them.
func (e *ValidationError) Unwrap() []error { return oneline.Of(e.Problems).WrappedErrors() }

// problems collects what is wrong and becomes an error if anything is.
type problems struct{ list []Problem }

func (p *problems) add(field, format string, args ...any) {
	p.list = append(p.list, Problem{Path: mortise.Path{{Field: field}}, Message: fmt.Sprintf(format, args...)})
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &ValidationError{Problems: p.list}
}

// checkName refuses what no backend should have to store as a name: nothing, too much,
// bad UTF-8, U+0000.
func checkName(p *problems, field, text string) {
	if problem := name.Problem(text); problem != "" {
		p.add(field, "%s", problem)
	}
}

// unavailable marks a backend's failure. Sentinels pass as they are.
func unavailable(what string, err error) error {
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrDeleted) || errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, err)
}

// Permanent marks an error of a Processor as one that no further attempt can mend: the
// event fails at once. Of nil it returns nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// RetryAfter says when the next attempt may begin, in place of the worker's backoff. The
// attempt counts. Less than 0 is 0, and more than a day is a day. Of nil it returns nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return mark.After(err, d)
}
