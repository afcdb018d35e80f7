package trigger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/overdue"
)

// This file is about the time between "stored" and "queued". Where event and job are in one
// database ([TxStore]) the two are one moment, and WakeAt is zero. Else an event is stored with a
// WakeAt a little ahead, its job is queued, and then WakeAt moves on by LostAfter. A sweeper
// queues the job of each event whose WakeAt has passed: a crash between the two writes, a
// refused job and a lost job are one case.
//
// If the queue refuses the job of a new event, the call that stored the event marks it
// failed: it never runs, and its key is free. WakeAt is the version of the event for this
// mark. If WakeAt has changed, another process has queued the event, which is accepted then.
// If the mark cannot be written either, the answer is ErrUnavailable, and the event runs: a
// caller that sends it again without an idempotency key has it twice.

// errAlreadyMarked: the event was marked failed, retried or queued meanwhile, or was removed
// with its organization.
var errAlreadyMarked = errors.New("trigger: the event has changed meanwhile")

// notQueued is the LastError of an event whose job could not be queued.
const notQueued = "could not be queued; submit it again"

// markTimeout bounds a write that must be made although the caller has gone away.
const markTimeout = 5 * time.Second

// firstWake is the WakeAt of an event that is to be queued now. It says later if the event
// is due so late that it is not queued yet.
func firstWake(e *Event, now time.Time) (at time.Time, later bool) {
	if e.DueAt.Sub(now) > overdue.Soon {
		return e.DueAt, true
	}
	return now.Add(overdue.HandOver), false
}

// unqueued reports whether an event waits for the call that stores it to queue its job.
func (e *Event) unqueued() bool {
	at, later := firstWake(e, e.SubmittedAt)
	return !later && e.Generation == 0 && e.WakeAt.Equal(at)
}

// create stores e, and its job in the same transaction where the queue can do that.
func (s *Service) create(ctx context.Context, e *Event, keySince time.Time) (Event, bool, error) {
	if s.tx != nil {
		return s.tx.CreateEventAndAdd(ctx, *e, keySince, e.jobAt(e.SubmittedAt))
	}
	e.WakeAt, _ = firstWake(e, e.SubmittedAt)
	return s.store.CreateEvent(ctx, *e, keySince)
}

// handOver queues the job of a stored event that has no job yet. On errAlreadyMarked the event
// has been marked failed by the call that created it.
func (s *Service) handOver(ctx context.Context, e *Event, created bool) error {
	if !e.unqueued() {
		return nil
	}
	stored := e.Clone()
	switch {
	case s.inHostTx(ctx, func(ctx context.Context) { s.queueCommitted(ctx, &stored) }):
		return nil
	case created:
		return s.enqueueNew(ctx, e)
	}
	return s.enqueue(ctx, e)
}

// inHostTx reports whether ctx has a transaction of the host's. Then f is called once that is
// committed; f may be nil.
func (s *Service) inHostTx(ctx context.Context, f func(ctx context.Context)) bool {
	store, ok := s.store.(mortise.HostTx)
	if f == nil {
		return ok && store.AfterCommit(ctx, nil)
	}
	return ok && store.AfterCommit(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, markTimeout)
		defer cancel()
		f(ctx)
	})
}

// queueCommitted queues the job of an event whose change is accepted, whether the queue takes
// the job now or not.
func (s *Service) queueCommitted(ctx context.Context, e *Event) {
	if err := s.enqueue(ctx, e); err != nil && !errors.Is(err, errAlreadyMarked) {
		s.opts.Logger.WarnContext(ctx, "event stored, but not queued; the sweeper will queue it", "event", e.ID, "error", err)
	}
}

// enqueueNew queues the job of an event that this call created. If that fails, the event is
// marked failed; unless another process has queued it meanwhile: then it is accepted.
func (s *Service) enqueueNew(ctx context.Context, e *Event) error {
	asked := s.now()
	qerr := failure.FromHook(s.queue.Enqueue(ctx, e.jobAt(asked)))
	// From here on the answer must be written down even if the caller has gone away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	if qerr == nil {
		// Only the call that created an event marks it failed, so a note that cannot be
		// written does no harm.
		if err := s.noteQueued(ctx, e, asked); err != nil && !errors.Is(err, errAlreadyMarked) {
			s.opts.Logger.WarnContext(ctx, "event queued, but not noted as queued; the sweeper will look at it", "event", e.ID, "error", err)
		}
		return nil
	}
	err := s.markFailed(ctx, e)
	if errors.Is(err, errAlreadyMarked) {
		return nil
	}
	if err != nil && !errors.Is(err, mortise.ErrNotFound) {
		s.opts.Logger.ErrorContext(ctx, "event not queued, and not marked failed either; the sweeper will queue it", "event", e.ID, "error", err)
		return fmt.Errorf("%w, after it could not be queued: %w", err, qerr)
	}
	return fmt.Errorf("%w: %w", ErrEnqueueFailed, qerr)
}

// enqueue queues the job of a stored event. On an error of the queue the event stays as it
// is, and the sweeper will try again: so this is not ErrEnqueueFailed, which says that the
// event never runs.
func (s *Service) enqueue(ctx context.Context, e *Event) error {
	asked := s.now() // if the queue loses the job from now on, the event was queued before that
	if err := failure.FromHook(s.queue.Enqueue(ctx, e.jobAt(asked))); err != nil {
		return fmt.Errorf("%w: queue event: %w", mortise.ErrUnavailable, err)
	}
	return s.noteQueued(ctx, e, asked)
}

// noteQueued notes that the event was queued at a time.
func (s *Service) noteQueued(ctx context.Context, e *Event, at time.Time) error {
	err := s.update(ctx, e.Organization, e.ID, func(stored *Event) error {
		switch {
		case stored.Generation != e.Generation || stored.Status == StatusFailed && stored.Attempts == 0:
			return errAlreadyMarked
		case !stored.Status.Finished():
			stored.WakeAt = s.wakeAfter(stored, at)
			e.WakeAt = stored.WakeAt
		}
		return nil
	})
	if errors.Is(err, mortise.ErrNotFound) {
		s.cancelJob(ctx, e)
		return errAlreadyMarked
	}
	return err
}

// wakeAfter is the WakeAt of an event whose job was in the queue at a time.
func (s *Service) wakeAfter(e *Event, at time.Time) time.Time {
	if s.tx != nil {
		return time.Time{}
	}
	return latest(e.WakeAt, at.Add(s.opts.LostAfter))
}

// markFailed marks an event failed whose job could not be queued.
func (s *Service) markFailed(ctx context.Context, e *Event) error {
	now := s.now()
	var left Event // of a call of the update before
	return s.update(ctx, e.Organization, e.ID, func(stored *Event) error {
		if isStored(&left, stored) {
			return nil
		}
		if stored.Status != StatusReceived || stored.Generation != e.Generation || !stored.WakeAt.Equal(e.WakeAt) {
			return errAlreadyMarked
		}
		stored.finish(now, StatusFailed)
		stored.LastError = notQueued
		stored.IdempotencyKey = ""
		left = *stored
		return nil
	})
}

// cancelJob takes back a job that is not needed any more. If that fails, a worker drops it.
func (s *Service) cancelJob(ctx context.Context, e *Event) {
	if err := s.queue.Cancel(ctx, e.Job()); err != nil {
		s.opts.Logger.DebugContext(ctx, "the job of an event that needs none is left to a worker", "event", e.ID, "error", err)
	}
}
