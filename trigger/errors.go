package trigger

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/mark"
)

// The errors of the package, beside [mortise.ErrNotFound], [mortise.ErrExists],
// [mortise.ErrDeleted] and [mortise.ErrUnavailable]. Callers tell them apart by errors.Is.
var (
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
	// and will not run, unless it is retried by hand. Submit
	// again.
	ErrEnqueueFailed = errors.New("trigger: the event could not be queued")
	// ErrInvalidKey: the API key is unknown or revoked.
	ErrInvalidKey = errors.New("trigger: invalid API key")
	// ErrNotCancellable: the event has ended, and not by a cancellation.
	ErrNotCancellable = errors.New("trigger: the event has ended; there is nothing to cancel")
	// ErrNotRetryable: only an event that has failed, or was cancelled or superseded, can be
	// retried by hand.
	ErrNotRetryable = errors.New("trigger: only a failed, cancelled or superseded event can be retried")
	// ErrNotRunnable: the event has ended. [Service.Retry] may send it back.
	ErrNotRunnable = errors.New("trigger: the event has ended; only one that waits can be run now")
)

// reasons class the errors of the package for observers.
var reasons = []failure.Class{
	{Err: ErrEnqueueFailed, Reason: mortise.ReasonUnavailable},
	{Err: ErrNotConfigured, Reason: mortise.ReasonConflict},
	{Err: ErrNoEligibleCollection, Reason: mortise.ReasonConflict},
	{Err: ErrIdempotencyKeyReused, Reason: mortise.ReasonConflict},
	{Err: ErrTooManyWaiting, Reason: mortise.ReasonLimit},
	{Err: ErrNotCancellable, Reason: mortise.ReasonConflict},
	{Err: ErrNotRetryable, Reason: mortise.ReasonConflict},
	{Err: ErrNotRunnable, Reason: mortise.ReasonConflict},
	{Err: ErrTimeout, Reason: mortise.ReasonTimeout},
}

// observe tells the observer.
func (s *Service) observe(ctx context.Context, o mortise.Observation) {
	o.Service, o.Reason = "trigger", failure.Reason(o.Err, reasons)
	if o.Err != nil && o.Attempt > 0 { // the host's own error
		if o.Reason = mortise.ReasonFailed; errors.Is(o.Err, ErrTimeout) {
			o.Reason = mortise.ReasonTimeout
		}
	}
	hook.Observe(ctx, &s.opts.Env, s.store, o.Err == nil, o)
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
