package audiosearch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/internal/overdue"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/steps"
)

// Sweeper looks after forgotten work. It queues the runs that no worker has had in time
// ([Run].WakeAt), and the jobs of [Options].OnEnd that were not queued. It has the store
// tidy up, and forgets runs that have ended: of an organization with too many
// ([Options.KeepRuns]), and old ones if told to. It also has datasets scored in which
// searches of its Service have found that a scorer has a new model, which may take long.
// A [Worker] runs one; any number may run beside each other.
type Sweeper struct {
	service *Service
	opts    SweeperOptions
}

// NewSweeper returns a sweeper. It fails if the service is nil, or if a setting is below
// 0. Options may be nil.
func NewSweeper(s *Service, opts *SweeperOptions) (*Sweeper, error) {
	if s == nil {
		return nil, errors.New("audiosearch: NewSweeper needs a service")
	}
	if err := opts.validate(); err != nil {
		return nil, err
	}
	return &Sweeper{service: s, opts: opts.withDefaults()}, nil
}

// Run sweeps until ctx ends, and returns nil then. A failure is logged and tried again at
// the next turn. Datasets are scored by new models beside the sweeps, as soon as a search
// has found one.
func (w *Sweeper) Run(ctx context.Context) error {
	var renewing sync.WaitGroup
	renewing.Go(func() { w.service.renewing(ctx) })
	defer renewing.Wait()
	ticker := time.NewTicker(w.opts.Every)
	defer ticker.Stop()
	for {
		if _, err := w.sweep(ctx, overdue.Many); err != nil && ctx.Err() == nil {
			w.service.opts.Logger.WarnContext(ctx, "sweep failed; trying again",
				"in", w.opts.Every.String(), "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// RunOnce sweeps once and returns the number of overdue runs that it took care of, also of
// runs that have a job, which stays as it is. Then it has the datasets scored by new models
// that searches have found to lack their scores.
func (w *Sweeper) RunOnce(ctx context.Context) (queued int, err error) {
	queued, err = w.sweep(ctx, 1)
	w.service.renew(ctx)
	return queued, err
}

func (w *Sweeper) sweep(ctx context.Context, atOnce int) (queued int, err error) {
	s := w.service
	queued, err = w.queueOverdue(ctx, atOnce)
	errs := []error{err}
	if _, err := s.trim(ctx); err != nil {
		errs = append(errs, err)
	}
	if w.opts.Retention > 0 {
		_, err := s.Prune(ctx, s.now().Add(-w.opts.Retention))
		errs = append(errs, err)
	}
	if c, ok := s.store.(Pruner); ok {
		errs = append(errs, w.compact(ctx, c))
	}
	return queued, errors.Join(errs...)
}

// compactAtOnce is the limit of a step of Compact.
const compactAtOnce = 10_000

// compact has the store tidy up, for a turn at most: while much is ingested there is always
// more.
func (w *Sweeper) compact(ctx context.Context, store Pruner) error {
	until := time.Now().Add(w.opts.Every)
	_, err := steps.Run(ctx, "Compact", compactAtOnce, func(ctx context.Context, limit int) (int, bool, error) {
		n, more, err := store.Compact(ctx, w.compactOptions(), limit)
		return n, more && (n == 0 || time.Now().Before(until)), err
	})
	return unavailable("tidy up", err)
}

// keepParts is how long the parts of a video that nobody goes on scoring are kept.
const keepParts = 24 * time.Hour

// compactOptions say what the store may remove.
func (w *Sweeper) compactOptions() CompactOptions {
	now := w.service.now()
	o := CompactOptions{PartsBefore: now.Add(-keepParts)}
	if w.opts.KeepReplaced > 0 {
		o.ReplacedBefore = now.Add(-w.opts.KeepReplaced)
	}
	return o
}

// queueOverdue queues the runs whose WakeAt has passed, and the runs whose jobs the queue
// reports as lost.
func (w *Sweeper) queueOverdue(ctx context.Context, atOnce int) (queued int, err error) {
	s := w.service
	// Also where the store has the jobs: runs may be left from the time of another queue.
	sweep := overdue.Sweep[Run]{
		Find: func(ctx context.Context, before time.Time, limit int) ([]Run, error) {
			runs, err := s.store.Overdue(ctx, before, limit)
			return runs, unavailable("look for overdue runs", err)
		},
		Queue: s.queueAgain, Jobs: s.queue, LostAfter: s.opts.LostAfter,
		Now: s.now(), Until: time.Now().Add(w.opts.Every), AtOnce: atOnce,
	}
	return sweep.Run(ctx)
}

// queueAgain queues the job of an overdue run, or the jobs that tell of its end, and
// moves its WakeAt to before or later.
func (s *Service) queueAgain(ctx context.Context, r Run, before time.Time) error {
	if r.State == StateTerminated {
		err := s.tellEnd(ctx, &r)
		if err != nil {
			err = errors.Join(err, s.wakeEnd(ctx, &r, latest(s.now().Add(overdue.Again(r.FinishedAt, s.now())), pages.Ceil(before))))
		}
		return err
	}
	var at time.Time
	var refused error
	switch soon := s.now().Add(overdue.Soon); {
	case r.DueAt.After(before) && r.DueAt.After(soon):
		at = r.DueAt
	default:
		if refused = s.enqueue(ctx, &r); refused == nil {
			return nil
		}
		at = latest(s.now().Add(overdue.HandOver), pages.Ceil(before))
	}
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	err := s.update(ctx, r.Organization, r.ID, func(stored *Run) error {
		stored.wake(at)
		return nil
	})
	if errors.Is(err, ErrRunNotFound) {
		err = nil
	}
	return errors.Join(refused, err)
}
