package audiosearch

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise/internal/lostjobs"
)

// sweep looks after what would be forgotten, until ctx ends.
func (w *Worker) sweep(ctx context.Context) error {
	ticker := time.NewTicker(w.opts.Sweep)
	defer ticker.Stop()
	for {
		if _, err := w.sweepOnce(ctx, lostjobs.Many); err != nil && ctx.Err() == nil {
			w.service.opts.Logger.WarnContext(ctx, "sweep failed; trying again",
				"in", w.opts.Sweep, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// SweepOnce queues the runs that are not known to be queued and those whose job the queue
// may have lost, lets the store tidy up, and forgets runs that have ended: of an
// organization with too many ([Options.KeepRuns]), and old ones if told to. It returns how
// many runs it queued; those that had a job are among them, and nothing happens to those.
// Then it has datasets scored whose searches have found that a scorer has a new model, which
// may take long. [Worker.Run] does all of that.
func (w *Worker) SweepOnce(ctx context.Context) (queued int, err error) {
	queued, err = w.sweepOnce(ctx, 1)
	w.service.renew(ctx)
	return queued, err
}

func (w *Worker) sweepOnce(ctx context.Context, atOnce int) (queued int, err error) {
	s := w.service
	queued, err = w.queueLost(ctx, atOnce)
	errs := []error{err}
	if _, err := s.trim(ctx); err != nil {
		errs = append(errs, err)
	}
	if w.opts.Retention > 0 {
		_, err := s.Prune(ctx, s.now().Add(-w.opts.Retention))
		errs = append(errs, err)
	}
	if c, ok := s.store.(Compactor); ok {
		until := time.Now().Add(w.opts.Sweep) // while much is ingested there is always more
		for more := true; more && ctx.Err() == nil && time.Now().Before(until); {
			if more, err = c.Compact(ctx, w.compactOptions()); err != nil {
				errs = append(errs, unavailable("tidy up", err))
				break
			}
		}
	}
	return queued, errors.Join(errs...)
}

// keepParts is how long the parts of a video that nobody goes on scoring are kept.
const keepParts = 24 * time.Hour

// compactOptions say what the store may remove.
func (w *Worker) compactOptions() CompactOptions {
	now := w.service.now()
	o := CompactOptions{PartsBefore: now.Add(-keepParts)}
	if w.opts.KeepReplaced > 0 {
		o.ReplacedBefore = now.Add(-w.opts.KeepReplaced)
	}
	return o
}

// queueLost queues the runs whose job may be missing: adding one that is there changes
// nothing. Each is looked at once a LostAfter, however many wait.
func (w *Worker) queueLost(ctx context.Context, atOnce int) (queued int, err error) {
	s := w.service
	if s.tx != nil {
		return 0, nil
	}
	const batch = 500
	until := time.Now().Add(w.opts.Sweep)
	queue := func(checked, due time.Time) error {
		n, err := lostjobs.Each(ctx, lostjobs.Work[Run]{
			Next: func(ctx context.Context, limit int) ([]Run, error) {
				runs, err := s.store.StaleRuns(ctx, checked, due, limit)
				return runs, unavailable("look for runs whose job may be lost", err)
			},
			Do: func(ctx context.Context, r Run) error { return s.enqueue(ctx, &r) },
			ID: func(r Run) string { return r.Job().ID }, Failures: &w.failures,
			Batch: batch, Until: until, AtOnce: atOnce,
		})
		queued += n
		return err
	}
	now := s.now()
	errs := []error{
		queue(time.Time{}.Add(time.Microsecond), now.Add(-aliveFor)), // not known to be queued
		queue(now.Add(-w.opts.LostAfter), now.Add(-w.opts.LostAfter)),
	}
	lost, err := lostjobs.Since(ctx, s.queue)
	if err == nil && !lost.IsZero() {
		if lost.After(now) { // by another clock
			lost = now
		}
		err = queue(lost, time.Time{})
	}
	return queued, errors.Join(append(errs, err)...)
}
