package trigger

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/overdue"
)

// Sweeper brings to the workers the events that they should have by now: events that a crash
// left without a job, events whose job the queue refused or may have lost, and events that
// were submitted for later, where the queue is apart from the store. It also writes the noted uses
// of API keys, and prunes the history if told to. A [Worker] runs one; any number may run
// beside each other.
type Sweeper struct {
	service *Service
	opts    SweeperOptions
}

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

// Run sweeps until ctx ends. Then it writes the uses of API keys, which only this process
// knows. A failure is logged and tried again at the next turn.
func (w *Sweeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.opts.Every)
	defer ticker.Stop()
	for {
		if _, err := w.sweep(ctx, overdue.Many); err != nil && ctx.Err() == nil {
			w.service.opts.Logger.WarnContext(ctx, "sweep failed; trying again", "in", w.opts.Every.String(), "error", err)
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
			defer cancel()
			if err := w.service.FlushKeyUse(last); err != nil {
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
	// Also where the store has the jobs: events may be left from the time of another queue.
	sweep := overdue.Sweep[Event]{
		Find: func(ctx context.Context, before time.Time, limit int) ([]Event, error) {
			events, err := s.store.Overdue(ctx, before, limit)
			return events, failure.Unavailable("look for overdue events", err)
		},
		Queue: s.queueOverdue,
		Jobs:  s.queue, LostAfter: s.opts.LostAfter, Now: s.now(), Until: time.Now().Add(w.opts.Every), AtOnce: atOnce,
	}
	queued, err = sweep.Run(ctx)
	errs := []error{err, s.FlushKeyUse(ctx)}
	for _, status := range Statuses() {
		if kept := w.opts.Retention.of(status); kept > 0 {
			_, err := s.Prune(ctx, status, s.now().Add(-kept))
			errs = append(errs, err)
		}
	}
	return queued, errors.Join(errs...)
}

// queueOverdue queues the job of an event whose WakeAt is before a time. An event that is due
// later than soon needs none yet.
func (s *Service) queueOverdue(ctx context.Context, e Event, before time.Time) error {
	now, wake := s.now(), e.WakeAt
	switch {
	case e.Status.Finished():
		err := s.tellEnd(ctx, &e)
		if err != nil {
			err = errors.Join(err, s.wake(ctx, &e, latest(before, now.Add(overdue.Again(e.FinishedAt, now)))))
		}
		return err
	case e.DueAt.After(latest(before, now.Add(overdue.Soon))):
		return s.wake(ctx, &e, e.DueAt)
	}
	copied := e
	err := s.enqueue(ctx, &copied)
	switch {
	case err == nil:
		s.observe(ctx, mortise.Observation{Kind: mortise.KindSwept, Organization: e.Organization, Object: e.ID.String(), Wait: max(now.Sub(wake), 0)})
	case errors.Is(err, errAlreadyMarked):
		return nil
	default:
		// Behind the others: those that the queue refuses for ever do not fill every sweep.
		err = errors.Join(err, s.wake(ctx, &e, latest(before, now.Add(overdue.HandOver))))
	}
	return err
}

// wake moves an event's WakeAt, unless it has changed.
func (s *Service) wake(ctx context.Context, e *Event, at time.Time) error {
	err := s.update(ctx, e.Organization, e.ID, func(stored *Event) error {
		if stored.Generation != e.Generation || !stored.WakeAt.Equal(e.WakeAt) {
			return errObsolete
		}
		stored.WakeAt = at
		return nil
	})
	if errors.Is(err, errObsolete) || errors.Is(err, mortise.ErrNotFound) {
		return nil
	}
	return err
}
