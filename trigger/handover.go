package trigger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

// This file is about the time between "stored" and "queued". Where event and job stand in
// one database ([TxStore]) there is none. Else an event is stored with UnqueuedSince set,
// then its job is queued, and then it gets one of two marks. The first one counts; who
// comes second gets errMarked.
//
// It is marked queued once its job is. If that cannot be written, or the process dies, the
// sweeper queues the job again. If the queue refuses the job, whoever stored the event
// marks it failed: it never runs, and its key is free. All others only queue.
//
// If queue and mark both fail, the event is unmarked. This process does not run it, and its
// sweeper tries to mark it failed. If the process dies first, or another one's sweeper
// comes first, the event runs: the answer was ErrUnavailable, which leaves that open.

// errMarked: somebody else has marked the event, or it was removed with its organization.
var errMarked = errors.New("trigger: the event has been marked by somebody else")

// notQueued is the LastError of an event whose job could not be queued.
const notQueued = "could not be queued; submit it again"

// markTimeout bounds a write that must be made although the caller has gone away.
const markTimeout = 5 * time.Second

// create stores e, and its job in the same transaction where the queue can do that.
func (s *Service) create(ctx context.Context, e *Event, keySince time.Time) (Event, bool, error) {
	if s.tx != nil {
		e.UnqueuedSince = time.Time{}
		return s.tx.CreateEventAndAdd(ctx, *e, keySince, e.Job())
	}
	e.UnqueuedSince = e.SubmittedAt
	return s.store.CreateEvent(ctx, *e, keySince)
}

// handOver queues the job of a stored event, if it has none. On errMarked the event has
// been marked failed by the one who created it.
func (s *Service) handOver(ctx context.Context, e *Event, created bool) (err error) {
	switch {
	case e.UnqueuedSince.IsZero(), s.queueAfterCommit(ctx, e):
		return nil
	case created:
		err = s.enqueueNew(ctx, e)
	default:
		err = s.enqueue(ctx, e)
	}
	if err == nil {
		e.UnqueuedSince = time.Time{}
	}
	return err
}

// queueAfterCommit reports whether the event is part of a transaction of the host's. Then
// its job is queued once that is committed, by this or by the sweeper.
func (s *Service) queueAfterCommit(ctx context.Context, e *Event) bool {
	store, ok := s.store.(mortise.HostTx)
	stored := e.Clone()
	return ok && store.AfterCommit(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, markTimeout)
		defer cancel()
		if err := s.enqueue(ctx, &stored); err != nil && !errors.Is(err, errMarked) {
			s.opts.Logger.WarnContext(ctx, "event stored, but not queued; the sweeper will queue it", "event", stored.ID, "error", err)
		}
	})
}

// enqueueNew queues the job of an event that this call created. If that fails, the event
// is marked failed; unless somebody else has queued it meanwhile, or the failure was no
// failure: then it is accepted. If the mark fails too, nobody knows whether the event
// runs.
func (s *Service) enqueueNew(ctx context.Context, e *Event) error {
	asked := s.now()
	qerr := failure.FromHook(s.queue.Enqueue(ctx, e.Job()))
	// From here on the answer must be written down even if the caller has gone away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	if qerr == nil {
		// Nobody but the creator marks an event failed that has no job, so a mark that
		// cannot be written does no harm.
		if err := s.markQueued(ctx, e, asked); err != nil && !errors.Is(err, errMarked) {
			s.opts.Logger.WarnContext(ctx, "event queued, but not noted as queued; the sweeper will look at it", "event", e.ID, "error", err)
		}
		return nil
	}
	err := s.markFailed(ctx, e.Organization, e.ID)
	if errors.Is(err, errMarked) {
		return nil
	}
	if err != nil && !errors.Is(err, mortise.ErrNotFound) {
		s.unmarked.add(e.ID, e.Organization)
		s.opts.Logger.ErrorContext(ctx, "event not queued, and not marked failed yet; the sweeper will mark it", "event", e.ID, "error", err)
		return fmt.Errorf("%w, after it could not be queued: %w", err, qerr)
	}
	return fmt.Errorf("%w: %w", ErrEnqueueFailed, qerr)
}

// enqueue queues the job of an event that somebody else created. On an error of the queue
// the event stays as it is, and the sweeper will try again: so this is not
// ErrEnqueueFailed, which says that the event never runs.
func (s *Service) enqueue(ctx context.Context, e *Event) error {
	asked := s.now() // if the queue loses the job from now on, the event was queued before that
	if err := failure.FromHook(s.queue.Enqueue(ctx, e.Job())); err != nil {
		return fmt.Errorf("%w: queue event: %w", mortise.ErrUnavailable, err)
	}
	return s.markQueued(ctx, e, asked)
}

func (s *Service) markQueued(ctx context.Context, e *Event, asked time.Time) error {
	err := s.update(ctx, e.Organization, e.ID, func(stored *Event) error {
		if stored.Generation != e.Generation || stored.Status == StatusFailed {
			return errMarked
		}
		stored.UnqueuedSince = time.Time{}
		s.noteChecked(stored, asked)
		e.CheckedAt = stored.CheckedAt
		return nil
	})
	if errors.Is(err, mortise.ErrNotFound) {
		s.cancelGone(ctx, e)
		return errMarked
	}
	return err
}

// markFailed marks an event failed whose job could not be queued.
func (s *Service) markFailed(ctx context.Context, org string, id uuid.UUID) error {
	now := s.now()
	return s.update(ctx, org, id, func(stored *Event) error {
		if stored.UnqueuedSince.IsZero() || stored.Status != StatusReceived || stored.Generation != 0 {
			return errMarked
		}
		stored.Status = StatusFailed
		stored.FinishedAt = now
		stored.LastError = notQueued
		stored.UnqueuedSince = time.Time{}
		stored.IdempotencyKey = ""
		return nil
	})
}

// noteChecked notes that the event's job is queued at a time. Where event and job stand
// in one database nobody asks.
func (s *Service) noteChecked(e *Event, at time.Time) {
	if s.tx == nil {
		e.CheckedAt = latest(at, e.CheckedAt)
	}
}

// cancelGone takes back a job that was queued while its organization was deleted: what
// removes its jobs may have passed by. If that fails, a worker drops the job.
func (s *Service) cancelGone(ctx context.Context, e *Event) {
	if err := s.queue.Cancel(ctx, e.Job()); err != nil {
		s.opts.Logger.DebugContext(ctx, "the job of an event that is gone is left to a worker", "event", e.ID, "error", err)
	}
}

// unmarkedEvents are those that could neither be queued nor marked failed, with their
// organizations. This process does not run them: who was told to try again may have done
// so without an idempotency key.
type unmarkedEvents struct {
	mu     sync.Mutex
	events map[uuid.UUID]string
}

func (u *unmarkedEvents) add(id uuid.UUID, org string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.events == nil {
		u.events = make(map[uuid.UUID]string)
	}
	u.events[id] = org
}

func (u *unmarkedEvents) has(id uuid.UUID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.events[id]
	return ok
}

func (u *unmarkedEvents) remove(id uuid.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.events, id)
}

func (u *unmarkedEvents) all() map[uuid.UUID]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.events)
}

// dropUnmarked is the worker's part: the job of an unmarked event, which was queued after
// all, is errDrop if the event can be marked failed now.
func (s *Service) dropUnmarked(ctx context.Context, org string, id uuid.UUID) error {
	if !s.unmarked.has(id) {
		return nil
	}
	err := s.markFailed(ctx, org, id)
	if err != nil && !errors.Is(err, errMarked) {
		return err
	}
	s.unmarked.remove(id)
	if err == nil {
		return errDrop
	}
	return nil
}

// markUnmarked is the sweeper's: it marks the unmarked events failed, oldest first.
func (w *Sweeper) markUnmarked(ctx context.Context) error {
	s := w.service
	todo := s.unmarked.all()
	var failure error
	for _, id := range slices.SortedFunc(maps.Keys(todo), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) {
		if err := s.markFailed(ctx, todo[id], id); err != nil && !errors.Is(err, errMarked) && !errors.Is(err, mortise.ErrNotFound) {
			failure = err
			continue
		}
		s.unmarked.remove(id)
	}
	return failure
}

// maxFailures is how many events may fail to be queued, one after the other, before a
// sweep takes the queue for broken.
const maxFailures = 10

// queueForgotten queues the events that have waited for a job for too long.
func (w *Sweeper) queueForgotten(ctx context.Context) (queued int, err error) {
	s := w.service
	now := s.now()
	events, err := s.store.Unqueued(ctx, now.Add(-w.opts.After), sweepBatch)
	if err != nil {
		return 0, failure.Unavailable("look for events without a job", err)
	}
	var failure error
	failedInARow := 0
	for _, e := range events {
		if failedInARow == maxFailures {
			break
		}
		if s.unmarked.has(e.ID) {
			continue
		}
		switch err := s.enqueue(ctx, &e); {
		case errors.Is(err, errMarked):
		case err != nil:
			failure = err
			failedInARow++
			s.putOff(ctx, &e, now)
		default:
			failedInARow = 0
			queued++
			s.observe(ctx, mortise.Observation{Kind: mortise.KindSwept, Organization: e.Organization, Object: e.ID.String(), Wait: now.Sub(e.UnqueuedSince)})
		}
	}
	return queued, failure
}

// putOff sends an event that could not be queued behind the others that wait, so that
// those the queue refuses for ever do not fill every sweep.
func (s *Service) putOff(ctx context.Context, e *Event, now time.Time) {
	err := s.update(ctx, e.Organization, e.ID, func(stored *Event) error {
		if stored.Generation != e.Generation || stored.UnqueuedSince.IsZero() {
			return errMarked
		}
		stored.UnqueuedSince = now
		return nil
	})
	if err != nil && !errors.Is(err, errMarked) && !errors.Is(err, mortise.ErrNotFound) && ctx.Err() == nil {
		s.opts.Logger.WarnContext(ctx, "event not queued, and not put off either", "event", e.ID, "error", err)
	}
}
