// Package overdue holds the part that the domains share of bringing work to the workers: work
// that a queue elsewhere never got, has lost, or is to get later.
//
// Each piece of work has a time by which a worker should have it, its WakeAt. A sweep queues
// the jobs of the work whose WakeAt has passed, and moves that time on. An Enqueue of a job
// that is in the queue changes nothing there.
package overdue

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
)

const (
	// HandOver is how long a call that stores work may take to queue its job: so much
	// later a sweep queues it. A job that the queue refuses is tried again after it, too.
	HandOver = 30 * time.Second

	// Soon is how far ahead work is queued. Work that is due later waits in the store.
	Soon = time.Minute

	// LeastLostAfter is the least time after which a job in the queue may be taken for lost.
	LeastLostAfter = 15 * time.Minute
)

// Again is the wait after a job that tells of an end was refused: it doubles, so that a job
// which is refused for ever does not fill the sweeps.
func Again(ended, now time.Time) time.Duration { return max(now.Sub(ended), HandOver) }

// Unknown returns the verdict on a job of work that the store does not know. Its transaction
// may not be committed yet, so it is tried again for a minute.
func Unknown(d mortise.Delivery) mortise.Verdict {
	const tries = 7 // after 1, 2, 4, 8, 16 and 32 s
	if d.Deliveries >= tries {
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}
	return mortise.Verdict{After: time.Second << max(d.Deliveries-1, 0)}
}

// batch is how many items of work a look takes, each of which may be a mebibyte long, and
// maxFailures how many may fail, one after the other, before the queue or the store is taken
// for broken.
const (
	batch       = 16
	maxFailures = 10
)

// Many is a good Sweep.AtOnce for stores that put waiting calls into one transaction.
const Many = 16

// Sweep is one sweep over work.
type Sweep[T any] struct {
	// Find returns at most limit items of work whose WakeAt is before a time, the earliest
	// first.
	Find func(ctx context.Context, before time.Time, limit int) ([]T, error)

	// Queue queues the job of one, and moves its WakeAt to before or later, also if the
	// queue refuses the job.
	Queue func(ctx context.Context, one T, before time.Time) error

	Jobs      mortise.Queue
	LostAfter time.Duration // WakeAt of a queued job, from the time of its Enqueue
	Now       time.Time
	Until     time.Time // no batch begins after it
	AtOnce    int       // calls of Queue at a time; with 1 they are made on the caller's goroutine
}

// Run queues all work whose WakeAt has passed, and then, if the queue tells of a loss
// ([mortise.LossReporter]), all work that was queued before the loss. It returns the number
// of calls of Queue that succeeded, and an error for failed calls.
func (s *Sweep[T]) Run(ctx context.Context) (queued int, err error) {
	queued, err = s.before(ctx, s.Now)
	r, ok := s.Jobs.(mortise.LossReporter)
	if !ok {
		return queued, err
	}
	lost, lossErr := r.LostJobs(ctx)
	if lossErr == nil && !lost.IsZero() {
		if lost.After(s.Now) {
			lost = s.Now
		}
		var more int
		more, lossErr = s.before(ctx, lost.Add(s.LostAfter))
		queued += more
	}
	return queued, errors.Join(err, lossErr)
}

// before queues the work whose WakeAt is before a time, batch by batch. A batch with
// maxFailures in a row is the last one: it may come once more.
func (s *Sweep[T]) before(ctx context.Context, before time.Time) (queued int, err error) {
	var failures []error
	for {
		found, err := s.Find(ctx, before, batch)
		if err != nil {
			return queued, errors.Join(append(failures, err)...)
		}
		var o outcomes
		var g errgroup.Group
		g.SetLimit(max(s.AtOnce, 1))
		for _, one := range found {
			if o.broken() || ctx.Err() != nil {
				break
			}
			if s.AtOnce <= 1 {
				o.note(s.Queue(ctx, one, before))
				continue
			}
			g.Go(func() error {
				o.note(s.Queue(ctx, one, before))
				return nil
			})
		}
		_ = g.Wait()
		queued += o.queued
		failures = append(failures, o.failures[:min(len(o.failures), maxFailures-len(failures))]...)
		if o.broken() || len(found) < batch || ctx.Err() != nil || !time.Now().Before(s.Until) {
			return queued, errors.Join(failures...)
		}
	}
}

// outcomes are the results of the calls of a batch.
type outcomes struct {
	mu       sync.Mutex
	queued   int
	failures []error
	inARow   int
}

func (o *outcomes) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.failures = append(o.failures, err)
		o.inARow++
		return
	}
	o.queued++
	o.inARow = 0
}

func (o *outcomes) broken() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.inARow >= maxFailures
}
