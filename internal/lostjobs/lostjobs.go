// Package lostjobs holds what the domains do alike about jobs that a queue has lost, or
// never got.
package lostjobs

import (
	"cmp"
	"context"
	"errors"
	"slices"
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

// Work is what Each does.
type Work[T any] struct {
	Next  func(ctx context.Context, limit int) ([]T, error)
	Do    func(ctx context.Context, one T) error
	Batch int       // asked for at a time
	Until time.Time // no batch begins after it

	// ID tells what failed from the rest, for Failures, which remembers it.
	ID       func(one T) string
	Failures *Failures

	// AtOnce is how many calls of Do there are at a time. With 0 or 1 they are made on the
	// caller's goroutine.
	AtOnce int
}

// Many fits stores which put waiting calls into one transaction.
const Many = 16

// Each calls Do for everything that Next returns, and asks Next again until it returns
// fewer than a batch, or until the time is over. It returns how many calls of Do succeeded,
// and an error for those that did not. After a failure Next is not asked again: it may
// return the same once more. What has failed comes last the next time, so that it does not
// hide the rest.
func Each[T any](ctx context.Context, w Work[T]) (done int, err error) {
	for {
		limit := w.Batch + w.Failures.count()
		found, err := w.Next(ctx, limit)
		if err != nil {
			return done, err
		}
		inOrder(w.Failures, found, w.ID)
		b := batch{}
		var g errgroup.Group
		g.SetLimit(max(w.AtOnce, 1))
		for _, one := range found {
			if b.broken() || ctx.Err() != nil {
				break
			}
			if w.AtOnce <= 1 {
				b.note(w.try(ctx, one))
				continue
			}
			g.Go(func() error {
				b.note(w.try(ctx, one))
				return nil
			})
		}
		_ = g.Wait()
		done += b.done
		if len(b.failures) > 0 || len(found) < limit || ctx.Err() != nil || !time.Now().Before(w.Until) {
			return done, errors.Join(b.failures...)
		}
	}
}

func (w *Work[T]) try(ctx context.Context, one T) error {
	err := w.Do(ctx, one)
	w.Failures.note(w.ID(one), err)
	return err
}

// Failures are what has failed at its latest try. The zero value is none.
type Failures struct {
	mu   sync.Mutex
	last map[string]int // the number of the try
	n    int
}

// maxNoted bounds Failures: so much more than a batch is asked for.
const maxNoted = 1000

func (f *Failures) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.last)
}

func (f *Failures) note(id string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	delete(f.last, id)
	switch {
	case err == nil:
		return
	case f.last == nil:
		f.last = make(map[string]int)
	case len(f.last) == maxNoted: // some may be gone without another try
		clear(f.last)
	}
	f.last[id] = f.n
}

// inOrder puts what has failed last, the latest failure at the end.
func inOrder[T any](f *Failures, found []T, id func(T) string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.last) > 0 {
		slices.SortStableFunc(found, func(a, b T) int { return cmp.Compare(f.last[id(a)], f.last[id(b)]) })
	}
}

// batch is what came of the calls of a batch.
type batch struct {
	mu       sync.Mutex
	done     int
	failures []error
	inARow   int
}

func (b *batch) note(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.failures = append(b.failures, err)
		b.inARow++
		return
	}
	b.done++
	b.inARow = 0
}

func (b *batch) broken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inARow >= maxFailures
}
