package trigger

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise/internal/failure"
)

// applyError is an error of Outcome.Apply, which fails the attempt. It does not unwrap: an error
// of Apply must not match the errors of the store.
type applyError struct{ err error }

func (e *applyError) Error() string { return e.err.Error() }

// within is applyError for the store, which may try again by the error of a statement.
type within struct{ *applyError }

func (e within) Unwrap() error { return e.err }

// updateAndApply changes an event by change and then calls apply, in one transaction; unless
// change finds that a transaction before has been committed, of which wanted tells.
func (w *Worker) updateAndApply(
	ctx context.Context, e *Event, change func(ctx context.Context) error, wanted func() bool, apply func(ctx context.Context) error,
) error {
	var failed error // of the latest call of apply, whatever the store makes of it
	err := w.tx.Transact(ctx, e.Organization, func(ctx context.Context) error {
		failed = nil
		if err := change(ctx); err != nil || !wanted() {
			return err
		}
		if failed = w.apply(ctx, e, apply); failed != nil {
			return within{&applyError{failed}}
		}
		return nil
	})
	if err != nil && failed != nil {
		return &applyError{failed}
	}
	return failure.Unavailable("end event", err, errObsolete, errNotNewest)
}

// apply calls Outcome.Apply, and turns every way in which it can fail into an error.
func (w *Worker) apply(ctx context.Context, e *Event, apply func(ctx context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = w.panicked(ctx, e, "Outcome.Apply", p)
		}
	}()
	switch err = apply(ctx); {
	case ctx.Err() == nil:
	case err == nil:
		err = fmt.Errorf("Outcome.Apply took too long: %w", context.Cause(ctx))
	case errors.Is(err, ctx.Err()):
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}
