package trigger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

// errUnchanged: the event is already as the caller wants it.
var errUnchanged = errors.New("trigger: nothing to change")

// errUntold: the end of the event is still to be told (Options.OnEnd).
var errUntold = fmt.Errorf("%w: the end of the event is still to be told", mortise.ErrUnavailable)

// cancelled is the error of an attempt that ran when its event was cancelled.
const cancelled = "cancelled"

// Cancel ends an event for good, and returns it as it is then. If an attempt is running, its
// context ends with [ErrCancelled] as the cause: at once in this process, within 5 s in
// others. The attempt's result is dropped, and neither logged nor observed.
// Work already done is not undone. by is told to the Observer, and not stored.
//
// An event that is cancelled stays as it is. Of another one that has ended the error is
// [ErrNotCancellable]. [Service.Retry] sends a cancelled event back.
func (s *Service) Cancel(ctx context.Context, org string, by mortise.Actor, id uuid.UUID) (Event, error) {
	now := s.now()
	e, changed, err := s.change(ctx, org, id, func(stored *Event) error {
		switch {
		case stored.Status == StatusCancelled:
			return errUnchanged
		case stored.Status.Finished():
			return ErrNotCancellable
		case stored.Status == StatusProcessing:
			stored.noteFailure(now, cancelled)
		}
		stored.finish(now, StatusCancelled)
		return nil
	})
	if err != nil || !changed {
		return e, err
	}
	s.afterCommit(ctx, &e, func(ctx context.Context, e *Event) {
		s.tellEndSoon(ctx, e)
		s.running.end(func(a *attempt) bool { return a.event == e.ID && a.generation == e.Generation })
		s.cancelJob(ctx, e)
	})
	s.observe(ctx, mortise.Observation{Kind: mortise.KindCancelled, Organization: org, Actor: by, Object: id.String()})
	return e, nil
}

// Retry sends an event that has failed, or was cancelled or superseded, back to the queue, as
// a new generation with all its attempts before it. It returns the event as it is then. An
// event in another state is [ErrNotRetryable]. If the queue fails, the sweeper queues the
// event later. The event is due at once: its [Submission.NotBefore] has no effect any more.
//
// A queue that keeps dead letters keeps the dead job of the generation before, also when
// the event is completed: in the table of jobs until Prune forgets the event. So count
// failed events by [Service.Counts], and not dead jobs.
func (s *Service) Retry(ctx context.Context, org string, by mortise.Actor, id uuid.UUID) (Event, error) {
	now := s.now()
	retry := func(stored *Event) error {
		switch {
		case !stored.Status.retryable():
			return ErrNotRetryable
		case !stored.WakeAt.IsZero():
			return errUntold
		}
		stored.Status, stored.Attempts, stored.SupersededBy = StatusReceived, 0, uuid.Nil
		stored.StartedAt, stored.FinishedAt = time.Time{}, time.Time{}
		stored.DueAt = now
		return nil
	}
	e, err := s.again(ctx, org, by, id, retry)
	if errors.Is(err, errUntold) && !s.inHostTx(ctx, nil) { // in which nothing is queued
		untold, err := s.Event(ctx, org, id)
		if err == nil {
			err = s.tellEnd(ctx, &untold)
		}
		if err != nil {
			return Event{}, err
		}
		return s.again(ctx, org, by, id, retry)
	}
	return e, err
}

// RunNow makes an event that waits due at once: for a time ([Submission.NotBefore]), or for
// another attempt. It returns the event as it is then. The attempts that were made count on.
// An event that is due or runs stays as it is, and one that has ended is [ErrNotRunnable].
func (s *Service) RunNow(ctx context.Context, org string, by mortise.Actor, id uuid.UUID) (Event, error) {
	now := s.now()
	return s.again(ctx, org, by, id, func(stored *Event) error {
		switch {
		case stored.Status.Finished():
			return ErrNotRunnable
		case stored.Status == StatusProcessing || !stored.DueAt.After(now):
			return errUnchanged
		}
		stored.DueAt = now
		return nil
	})
}

// again changes an event, and queues it as a new generation: the job of the one before cannot
// be moved forward in every queue.
func (s *Service) again(
	ctx context.Context, org string, by mortise.Actor, id uuid.UUID, change func(*Event) error,
) (Event, error) {
	var before Event
	e, changed, err := s.change(ctx, org, id, func(stored *Event) error {
		before = stored.Clone()
		if err := change(stored); err != nil {
			return err
		}
		stored.Generation++
		if s.tx == nil {
			stored.WakeAt, _ = firstWake(stored, stored.DueAt)
		}
		return nil
	})
	if err != nil || !changed {
		return e, err
	}
	s.afterCommit(ctx, &e, func(ctx context.Context, e *Event) {
		if s.tx == nil {
			s.queueCommitted(ctx, e)
		}
		if !before.Status.Finished() {
			s.cancelJob(ctx, &before)
		}
	})
	s.observe(ctx, mortise.Observation{Kind: mortise.KindRetried, Organization: org, Actor: by, Object: id.String()})
	return e, nil
}

// change changes an event, and adds the job of its new generation in the same transaction
// where the queue can do that. It returns the event as it is then; changed is false if that
// is as it was.
func (s *Service) change(
	ctx context.Context, org string, id uuid.UUID, change func(*Event) error,
) (e Event, changed bool, err error) {
	var left Event // of a call of the update before
	err = s.updateAndJobs(ctx, org, id, func(stored *Event) (jobs []mortise.Job, _ error) {
		if isStored(&left, stored) {
			return nil, nil
		}
		generation := stored.Generation
		err := change(stored)
		if e = stored.Clone(); err != nil {
			return nil, err
		}
		if stored.Generation == generation { // it was cancelled
			jobs = s.ended(stored)
		} else {
			jobs = []mortise.Job{stored.Job()}
		}
		e = stored.Clone()
		left = e
		return jobs, nil
	}, mortise.Lease{}, false)
	switch {
	case errors.Is(err, errUnchanged):
		return e, false, nil
	case err != nil:
		return Event{}, false, err
	}
	return e, true, nil
}

// afterCommit calls f with the event: at once, or if ctx has a transaction of the host's,
// once that is committed.
func (s *Service) afterCommit(ctx context.Context, e *Event, f func(ctx context.Context, e *Event)) {
	stored := e.Clone()
	if !s.inHostTx(ctx, func(ctx context.Context) { f(ctx, &stored) }) {
		f(ctx, e)
	}
}
