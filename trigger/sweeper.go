package trigger

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// SweeperOptions are the settings of a Sweeper. The zero value means the defaults.
type SweeperOptions struct {
	Every time.Duration // how often it looks: 15 s
	After time.Duration // how long an event must have been without a job: 30 s, well over the time a Submit takes
	Batch int           // events a look: 500

	// Retention is how long a finished event stays in the history; 0 keeps it for ever. The store must be a [Pruner].
	Retention time.Duration
}

// Sweeper closes the gap that a crash can leave between storing an event and queueing its job: it queues events that have none.
// It also writes the noted uses of API keys, marks events whose enqueue failed, and prunes the history if told to. A [Worker]
// runs one; any number may run beside each other.
type Sweeper struct {
	service *Service
	opts    SweeperOptions
}

// NewSweeper returns a sweeper. It fails only if the service is nil.
func NewSweeper(s *Service, opts *SweeperOptions) (*Sweeper, error) {
	if s == nil {
		return nil, errors.New("trigger: NewSweeper needs a service")
	}
	w := &Sweeper{service: s}
	if opts != nil {
		w.opts = *opts
	}
	if w.opts.Every <= 0 {
		w.opts.Every = 15 * time.Second
	}
	if w.opts.After <= 0 {
		w.opts.After = 30 * time.Second
	}
	if w.opts.Batch <= 0 {
		w.opts.Batch = 500
	}
	return w, nil
}

// Run sweeps until ctx ends, and once more for the API keys then. A failure is logged and tried again at the next turn.
func (w *Sweeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.opts.Every)
	defer ticker.Stop()
	for {
		if _, err := w.RunOnce(ctx); err != nil && ctx.Err() == nil {
			w.service.opts.Logger.WarnContext(ctx, "sweep failed; trying again", "in", w.opts.Every, "error", err)
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
			defer cancel()
			if err := w.service.FlushKeyUse(last); err != nil {
				w.service.opts.Logger.WarnContext(ctx, "last use of API keys not written", "error", err)
			}
			return nil
		case <-ticker.C:
		}
	}
}

// RunOnce sweeps once and returns how many events it queued.
func (w *Sweeper) RunOnce(ctx context.Context) (queued int, err error) {
	s := w.service
	errs := []error{w.markAbandoned(ctx)}
	queued, err = w.queueForgotten(ctx)
	errs = append(errs, err, s.FlushKeyUse(ctx))
	if w.opts.Retention > 0 {
		_, err := s.Prune(ctx, s.now().Add(-w.opts.Retention))
		errs = append(errs, err)
	}
	return queued, errors.Join(errs...)
}

// maxFailures is how many events may fail to be queued, one after the other, before a sweep takes the queue for broken.
const maxFailures = 10

// queueForgotten queues the events that have waited for a job for too long.
func (w *Sweeper) queueForgotten(ctx context.Context) (queued int, err error) {
	s := w.service
	now := s.now()
	events, err := s.store.Unqueued(ctx, now.Add(-w.opts.After), w.opts.Batch)
	if err != nil {
		return 0, unavailable("look for events without a job", err)
	}
	var failure error
	failedInARow := 0
	for _, e := range events {
		if failedInARow == maxFailures {
			break
		}
		if s.isAbandoned(e.ID) {
			continue
		}
		switch err := s.enqueue(ctx, &e); {
		case errors.Is(err, errGone):
		case err != nil:
			failure = err
			failedInARow++
		default:
			failedInARow = 0
			queued++
			s.observe(ctx, Observation{Kind: KindSwept, Organization: e.Organization, EventID: e.ID, Duration: now.Sub(e.UnqueuedSince)})
		}
	}
	return queued, failure
}

// markAbandoned marks the events failed whose mark could not be written when their enqueue failed, oldest first.
func (w *Sweeper) markAbandoned(ctx context.Context) error {
	s := w.service
	s.mu.Lock()
	todo := maps.Clone(s.abandoned)
	s.mu.Unlock()
	for _, id := range slices.SortedFunc(maps.Keys(todo), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) {
		if err := s.giveUp(ctx, todo[id], id); err != nil && !errors.Is(err, errQueued) && !errors.Is(err, ErrNotFound) {
			return err
		}
		s.forgive(id)
	}
	return nil
}
