// Package lostjobs holds what the domains do alike about jobs that a queue has lost, or
// never got.
package lostjobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
)

// Tolerance is how long a service waits, beyond the longest attempt, before it takes a job
// for lost.
const Tolerance = 15 * time.Minute

// Unknown returns the verdict on a job of what the store does not know. Its transaction may
// not be committed yet, so it is tried again for a minute.
func Unknown(d mortise.Delivery) mortise.Verdict {
	const tries = 7 // after 1, 2, 4, 8, 16 and 32 s
	if d.Deliveries >= tries {
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}
	return mortise.Verdict{After: time.Second << max(d.Deliveries-1, 0)}
}

// Since returns the time of the queue's latest loss, zero if it knows of none.
func Since(ctx context.Context, q mortise.Queue) (time.Time, error) {
	if r, ok := q.(mortise.LossReporter); ok {
		return r.LostJobs(ctx)
	}
	return time.Time{}, nil
}

// maxFailures is how many calls may fail, one after the other, before the queue or the
// store is taken for broken.
const maxFailures = 10

// Each calls do for everything that next returns, several at a time, and asks next again
// until it returns fewer than batch, or until the time is over. It returns how many calls
// of do succeeded, and an error for those that did not. After a failure next is not asked
// again: it may return the same once more.
func Each[T any](
	ctx context.Context, batch int, until time.Time, next func(context.Context, int) ([]T, error), do func(context.Context, T) error,
) (done int, err error) {
	const atOnce = 16 // so that stores which put waiting calls into one transaction can
	for {
		found, err := next(ctx, batch)
		if err != nil {
			return done, err
		}
		var mu sync.Mutex
		var failures []error
		inARow := 0
		var g errgroup.Group
		g.SetLimit(atOnce)
		for _, one := range found {
			mu.Lock()
			broken := inARow >= maxFailures
			mu.Unlock()
			if broken || ctx.Err() != nil {
				break
			}
			g.Go(func() error {
				err := do(ctx, one)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failures = append(failures, err)
					inARow++
				} else {
					inARow = 0
					done++
				}
				return nil
			})
		}
		_ = g.Wait()
		if len(failures) > 0 || len(found) < batch || ctx.Err() != nil || !time.Now().Before(until) {
			return done, errors.Join(failures...)
		}
	}
}
