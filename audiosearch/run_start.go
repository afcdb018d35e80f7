package audiosearch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/overdue"
)

// Start begins a search in the background and returns its run. A [Worker] carries it out.
//
// Errors are [*mortise.ValidationError], [ErrDatasetNotFound], [ErrTooManyRuns] and
// [mortise.ErrUnavailable]; after the last one a run may exist that nobody knows. An
// organization that no job can have ([mortise.Job]) is an error that is none of these.
func (s *Service) Start(ctx context.Context, org string, by mortise.Actor, q Query) (Run, error) {
	p := s.checkQuery(&q)
	d, err := s.store.Dataset(ctx, org, q.Dataset)
	if err == nil {
		_, err = s.check(ctx, org, &q, p, (*plug).quick)
	} else if err = ofDataset(q.Dataset, unavailable("read a dataset", err)); p.Err() != nil {
		err = p.Err()
	}
	if err != nil {
		return Run{}, err
	}
	now := latest(s.now(), d.CreatedAt) // or else it would pass for a run of a dataset of the same ID before
	r := Run{
		Organization: org, Actor: name.Clean(by), Query: q, State: StatePending,
		CreatedAt: now, UpdatedAt: now, DueAt: now,
	}
	if s.opts.Tracer != nil {
		r.Trace = hook.Inject(ctx, &s.opts.Env)
	}
	if err := s.create(ctx, &r); err != nil {
		return Run{}, err
	}
	if s.tx == nil {
		s.afterCommit(ctx, &r, s.queueNew)
	}
	s.observe(ctx, r.observation(mortise.KindSubmitted))
	return r, nil
}

// afterCommit calls f with a run: at once, or if ctx has a transaction of the host's,
// with a copy once that is committed.
func (s *Service) afterCommit(ctx context.Context, r *Run, f func(ctx context.Context, r *Run)) {
	stored := *r
	if store, ok := s.store.(mortise.HostTx); !ok || !store.AfterCommit(ctx, func(ctx context.Context) { f(ctx, &stored) }) {
		f(ctx, r)
	}
}

// queueNew queues a run that is stored. If that fails, a sweep does it once its WakeAt has
// passed.
func (s *Service) queueNew(ctx context.Context, r *Run) {
	if err := s.enqueue(context.WithoutCancel(ctx), r); err != nil {
		s.opts.Logger.WarnContext(ctx, "run stored, but not queued; a worker will queue it", "run", r.ID, "error", err)
	}
}

// create stores the run under an ID that is free. Where the queue shares the store it is
// queued by that.
func (s *Service) create(ctx context.Context, r *Run) error {
	const tries = 10 // one in 2^53 is taken; more tries mean that the randomness is broken
	for range tries {
		var err error
		if r.ID, err = s.newRunID(); err != nil {
			return unavailable("make a run ID", err)
		}
		if err := r.Job().Check(); err != nil {
			return fmt.Errorf("audiosearch: the run could not be queued: %w", err)
		}
		if s.tx != nil {
			r.State = StateQueued
			err = s.tx.CreateRunAndAdd(ctx, *r, s.opts.MaxWaiting, r.Job())
		} else {
			r.WakeAt = r.CreatedAt.Add(overdue.HandOver)
			err = s.store.CreateRun(ctx, *r, s.opts.MaxWaiting)
		}
		if !errors.Is(err, mortise.ErrExists) {
			return unavailable("store a run", err)
		}
	}
	return fmt.Errorf("%w: no run ID is free", mortise.ErrUnavailable)
}

func (s *Service) newRunID() (int64, error) {
	var b [8]byte
	for {
		if _, err := io.ReadFull(s.opts.Rand, b[:]); err != nil {
			return 0, err
		}
		if id := int64(binary.LittleEndian.Uint64(b[:]) & maxRunID); id != 0 {
			return id, nil
		}
	}
}

// enqueue queues the job of a run, and moves its WakeAt. r becomes the run as it is then.
func (s *Service) enqueue(ctx context.Context, r *Run) error {
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	asked := s.now() // if the queue loses the job from now on, the run was queued before that
	if err := failure.FromHook(s.queue.Enqueue(ctx, r.Job())); err != nil {
		return unavailable("queue a run", err)
	}
	err := s.update(ctx, r.Organization, r.ID, func(stored *Run) error {
		if stored.State == StatePending {
			stored.State, stored.UpdatedAt = StateQueued, latest(s.now(), stored.UpdatedAt)
		}
		stored.wake(asked.Add(s.opts.LostAfter))
		*r = *stored
		return nil
	})
	if errors.Is(err, ErrRunNotFound) {
		// What removes the jobs of a deleted organization may have passed by. If this
		// fails, a worker drops the job.
		if err := s.queue.Cancel(ctx, r.Job()); err != nil {
			s.opts.Logger.DebugContext(ctx, "the job of a run that is gone is left to a worker", "run", r.ID, "error", err)
		}
		return nil
	}
	return err
}

// wake moves the run's WakeAt to a time, if that is later. A run that has ended needs no
// worker: its WakeAt is of its end.
func (r *Run) wake(at time.Time) {
	if r.State != StateTerminated {
		r.WakeAt = latest(at, r.WakeAt)
	}
}
