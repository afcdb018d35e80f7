package trigger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/lostjobs"
)

// Sweeper closes the gap that a crash can leave between storing an event and queueing its
// job: it queues events that have none, and those whose job the queue may have lost. It
// also writes the noted uses of API keys, marks events whose enqueue failed, and prunes
// the history if told to. A [Worker] runs one; any number may run beside each other.
type Sweeper struct {
	service  *Service
	opts     SweeperOptions
	failures lostjobs.Failures
}

// sweepBatch is how many events a look takes.
const sweepBatch = 500

// NewSweeper returns a sweeper. It fails if the service is nil, or if a setting is below
// 0. Options may be nil.
func NewSweeper(s *Service, opts *SweeperOptions) (*Sweeper, error) {
	if s == nil {
		return nil, errors.New("trigger: NewSweeper needs a service")
	}
	if err := opts.validate(); err != nil {
		return nil, err
	}
	return &Sweeper{service: s, opts: opts.withDefaults()}, nil
}

// Run sweeps until ctx ends. Then it writes what only this process knows: uses of API
// keys, and which events could not be marked failed. A failure is logged and tried again
// at the next turn.
func (w *Sweeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.opts.Every)
	defer ticker.Stop()
	for {
		if _, err := w.sweep(ctx, lostjobs.Many); err != nil && ctx.Err() == nil {
			w.service.opts.Logger.WarnContext(ctx, "sweep failed; trying again", "in", w.opts.Every.String(), "error", err)
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
			defer cancel()
			if err := errors.Join(w.markUnmarked(last), w.service.FlushKeyUse(last)); err != nil {
				w.service.opts.Logger.WarnContext(ctx, "the last sweep failed", "error", err)
			}
			return nil
		case <-ticker.C:
		}
	}
}

// RunOnce sweeps once and returns how many events it queued. Those whose job may have
// been lost are among them, whether it was or not.
func (w *Sweeper) RunOnce(ctx context.Context) (queued int, err error) { return w.sweep(ctx, 1) }

func (w *Sweeper) sweep(ctx context.Context, atOnce int) (queued int, err error) {
	s := w.service
	errs := []error{w.markUnmarked(ctx)}
	queued, err = w.queueForgotten(ctx)
	errs = append(errs, err)
	again, err := w.queueLost(ctx, atOnce)
	queued += again
	errs = append(errs, err, s.FlushKeyUse(ctx))
	if w.opts.Retention > 0 {
		_, err := s.Prune(ctx, s.now().Add(-w.opts.Retention))
		errs = append(errs, err)
	}
	return queued, errors.Join(errs...)
}

// queueLost queues the events again whose job may be lost: adding one that is there
// changes nothing. Each is looked at once a LostAfter, however many wait.
func (w *Sweeper) queueLost(ctx context.Context, atOnce int) (queued int, err error) {
	s := w.service
	if s.tx != nil {
		return 0, nil
	}
	now := s.now()
	queue := func(checked, due time.Time) error {
		n, err := lostjobs.Each(ctx, lostjobs.Work[Event]{
			Next: func(ctx context.Context, limit int) ([]Event, error) {
				events, err := s.store.Stale(ctx, checked, due, limit)
				return events, failure.Unavailable("look for events whose job may be lost", err)
			},
			Do:       s.enqueueAgain,
			ID:       func(e Event) string { return e.Job().ID },
			Failures: &w.failures,
			Batch:    sweepBatch,
			Until:    time.Now().Add(w.opts.Every),
			AtOnce:   atOnce,
		})
		queued += n
		return err
	}
	before := now.Add(-w.opts.LostAfter)
	err = queue(before, before)
	lost, lossErr := lostjobs.Since(ctx, s.queue)
	if lossErr == nil && !lost.IsZero() {
		if lost.After(now) {
			lost = now
		}
		lossErr = queue(lost, time.Time{})
	}
	return queued, errors.Join(err, lossErr)
}

// enqueueAgain queues the job of an event that had one, for when it is due.
func (s *Service) enqueueAgain(ctx context.Context, e Event) error {
	asked := s.now()
	j := e.Job()
	if e.DueAt.After(asked) {
		j.At = e.DueAt
	}
	if err := failure.FromHook(s.queue.Enqueue(ctx, j)); err != nil {
		return fmt.Errorf("%w: queue event: %w", mortise.ErrUnavailable, err)
	}
	err := s.update(ctx, e.Organization, e.ID, func(stored *Event) error {
		if stored.Generation != e.Generation || stored.Status.Finished() {
			return errDrop
		}
		s.noteChecked(stored, asked)
		return nil
	})
	if errors.Is(err, mortise.ErrNotFound) {
		s.cancelGone(ctx, &e)
		return nil
	}
	if errors.Is(err, errDrop) {
		return nil
	}
	return err
}
