package audiosearch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/hook"
)

// Start begins a search in the background and returns its run. A [Worker] carries it out.
//
// Errors are [*ValidationError], [ErrDatasetNotFound], [ErrTooManyRuns] and
// [ErrUnavailable]; after the last one a run may exist that nobody knows. An organization
// that no job can have ([mortise.Job]) is an error that is none of these.
func (s *Service) Start(ctx context.Context, org string, by Actor, q Query) (Run, error) {
	p := s.checkQuery(&q)
	d, err := s.store.Dataset(ctx, org, q.Dataset)
	if err == nil {
		_, err = s.check(ctx, org, &q, p, (*plug).quick)
	} else if err = unavailable("read a dataset", err); p.err() != nil {
		err = p.err()
	}
	if err != nil {
		return Run{}, err
	}
	now := latest(s.now(), d.CreatedAt) // or else it would pass for a run of a dataset of the same ID before
	r := Run{
		Organization: org, Actor: by, Query: q, State: StatePending,
		CreatedAt: now, UpdatedAt: now, DueAt: now,
	}
	if s.opts.Tracer != nil {
		r.Trace = s.inject(ctx)
	}
	if err := s.create(ctx, &r); err != nil {
		return Run{}, err
	}
	if s.tx == nil {
		// The run stands. Whatever happens to the caller now, a worker will find it: at
		// the latest when it looks for runs that are not known to be queued.
		if err := s.enqueue(context.WithoutCancel(ctx), &r); err != nil {
			s.opts.Logger.WarnContext(ctx, "run stored, but not queued; a worker will queue it",
				"run", r.ID, "error", err)
		}
	}
	s.observe(ctx, Observation{
		Kind: KindSubmitted, Organization: org, Dataset: q.Dataset, RunID: r.ID, Actor: by, Class: q.Class,
	})
	return r, nil
}

// maxCarrier bounds what a Tracer may store with a run, in bytes.
const maxCarrier = 1024

func (s *Service) inject(ctx context.Context) map[string]string {
	carrier := hook.Inject(ctx, s.opts.Logger, s.opts.Tracer)
	size := 0
	for key, value := range carrier {
		size += len(key) + len(value)
	}
	if size > maxCarrier {
		return nil
	}
	return carrier
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
			err = s.store.CreateRun(ctx, *r, s.opts.MaxWaiting)
		}
		if !errors.Is(err, ErrExists) {
			return unavailable("store a run", err)
		}
	}
	return fmt.Errorf("%w: no run ID is free", ErrUnavailable)
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

// errCancelled: the run was cancelled.
var errCancelled = errors.New("audiosearch: the run was cancelled")

// markTimeout bounds the writing of what became of a run.
const markTimeout = 5 * time.Second

// enqueue queues the job of a run, and notes that. r becomes the run as it is then.
func (s *Service) enqueue(ctx context.Context, r *Run) error {
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	asked := s.now() // if the queue loses the job from now on, the run was queued before that
	if err := s.queue.Enqueue(ctx, r.Job()); err != nil {
		return unavailable("queue a run", err)
	}
	err := s.update(ctx, r.Organization, r.ID, func(stored *Run) error {
		if stored.State == StatePending {
			stored.State, stored.UpdatedAt = StateQueued, latest(s.now(), stored.UpdatedAt)
		}
		if stored.State != StateTerminated {
			s.noteQueued(stored, asked)
		}
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

// noteQueued notes that the run's job is queued at a time. Where run and job stand in one
// database nobody asks.
func (s *Service) noteQueued(r *Run, at time.Time) {
	if s.tx == nil {
		r.CheckedAt = latest(at, r.CheckedAt)
	}
}

// update changes a run. What change sees and leaves is its own ([Runs]), so it may keep
// it.
func (s *Service) update(ctx context.Context, org string, id int64, change func(*Run) error) error {
	return tellApart(change, func(change func(*Run) error) error {
		return s.store.UpdateRun(ctx, org, id, change)
	})
}

// updateAndRemove is the same for TxStore.UpdateRunAndRemove.
func (s *Service) updateAndRemove(
	ctx context.Context, org string, id int64, change func(*Run) error, l mortise.Lease,
) error {
	return tellApart(change, func(change func(*Run) error) error {
		return s.tx.UpdateRunAndRemove(ctx, org, id, change, l)
	})
}

// tellApart passes what change returns as it is: it is the service's own, and not a
// failure of the store.
func tellApart(change func(*Run) error, store func(func(*Run) error) error) error {
	var own error
	err := store(func(r *Run) error {
		own = change(r)
		return own
	})
	if own != nil && errors.Is(err, own) {
		return own
	}
	return unavailable("change a run", err)
}

// latest keeps a run's times in order where another machine's clock would not.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Run returns a run of a dataset, without its results. The error is [ErrDatasetNotFound]
// or [ErrRunNotFound] if one of the two does not exist, or they do not belong together.
func (s *Service) Run(ctx context.Context, org, dataset string, id int64) (Run, error) {
	d, err := s.store.Dataset(ctx, org, dataset)
	if err != nil {
		return Run{}, unavailable("read a dataset", err)
	}
	r, err := s.store.Run(ctx, org, id)
	if err == nil && (r.Query.Dataset != dataset || r.CreatedAt.Before(d.CreatedAt)) { // of this dataset, not of one of the same ID before
		err = ErrRunNotFound
	}
	if err != nil {
		return Run{}, unavailable("read a run", err)
	}
	return r, nil
}

// Results returns a run, with all its results if it ended with Success. The errors are
// those of [Service.Run]. [Service.EachResult] does not hold all of them in memory.
func (s *Service) Results(ctx context.Context, org, dataset string, id int64) (Run, error) {
	r, found, err := s.EachResult(ctx, org, dataset, id)
	if err != nil || r.Termination != Success {
		return r, err
	}
	r.Results = []Result{}
	videos := make(map[string]metadata.Map)
	for result, err := range found {
		if err != nil {
			return Run{}, err
		}
		if shared, ok := videos[result.VideoID]; ok {
			result.Metadata = shared
		}
		videos[result.VideoID] = result.Metadata
		r.Results = append(r.Results, result)
	}
	return r, nil
}

// EachResult returns a run, and its results one after the other if it ended with
// Success. They are read a few at a time while the caller goes through them. The caller
// may take any time over each: nothing of the store is held meanwhile. So an error may
// come in the middle, [ErrRunNotFound] if the run is forgotten just then; nothing comes
// after it. The errors of the call are those of [Service.Run].
func (s *Service) EachResult(ctx context.Context, org, dataset string, id int64) (Run, iter.Seq2[Result, error], error) {
	r, err := s.Run(ctx, org, dataset, id)
	if err != nil || r.Termination != Success {
		return r, func(func(Result, error) bool) {}, err
	}
	read := func(from int) ([]Result, error) {
		page, err := s.store.RunResults(ctx, org, id, from)
		return page, unavailable("read the results of a run", err)
	}
	first, err := read(0) // before the caller says that all is well
	if err != nil {
		return Run{}, nil, err
	}
	return r, func(yield func(Result, error) bool) {
		page, from := first, 0
		for len(page) > 0 {
			for _, result := range page {
				if !yield(result, nil) {
					return
				}
			}
			from += len(page)
			var err error
			if page, err = read(from); err != nil {
				yield(Result{}, err)
				return
			}
		}
	}, nil
}

// Cancel ends a run: at once if it waits, soon if a worker has it, which is told. What
// was scored stays; a search that was just done may still end with Success. The errors
// are those of [Service.Run], and [ErrFinished].
func (s *Service) Cancel(ctx context.Context, org string, by Actor, dataset string, id int64) (Run, error) {
	if _, err := s.Run(ctx, org, dataset, id); err != nil {
		return Run{}, err
	}
	var r Run
	err := s.update(ctx, org, id, func(stored *Run) error {
		now := latest(s.now(), stored.UpdatedAt)
		switch stored.State {
		case StateTerminated:
			return ErrFinished
		case StateRunning, StateTerminating:
			stored.State = StateTerminating
		default:
			stored.end(now, ClientError, messageCancelled)
		}
		r = *stored
		return nil
	})
	if err != nil {
		return Run{}, err
	}
	s.observe(ctx, Observation{
		Kind: KindCancelled, Organization: org, Dataset: dataset, RunID: id, Actor: by, Class: r.Query.Class,
	})
	if r.State == StateTerminated {
		s.observe(ctx, terminated(&r, errCancelled))
	}
	s.mu.Lock()
	if a, ok := s.running[id]; ok {
		a.cancel(errCancelled)
	}
	s.mu.Unlock()
	return r, nil
}

const messageCancelled = "The run was cancelled."

// end terminates a run.
func (r *Run) end(now time.Time, how Termination, message string) {
	r.State, r.Termination, r.Message = StateTerminated, how, message
	r.UpdatedAt = now
	r.FinishedAt = latest(now, r.StartedAt)
	r.DueAt, r.CheckedAt = time.Time{}, time.Time{}
}

func terminated(r *Run, err error) Observation {
	o := Observation{Kind: KindTerminated, Organization: r.Organization, Dataset: r.Query.Dataset, RunID: r.ID, Actor: r.Actor, Class: r.Query.Class,
		Termination: r.Termination, Attempt: r.Attempts, Duration: r.FinishedAt.Sub(r.CreatedAt), Err: err}
	if r.Termination == Success {
		o.Err = nil
	}
	return o
}

// Prune forgets runs that finished before the given time, with their results, and returns
// how many. The store must be a [Pruner], or the error is errors.ErrUnsupported.
func (s *Service) Prune(ctx context.Context, before time.Time) (int, error) {
	pruner, ok := s.store.(Pruner)
	if !ok {
		return 0, fmt.Errorf("audiosearch: the store cannot forget runs: %w", errors.ErrUnsupported)
	}
	before = ceilMicro(before)
	return forget(func(limit int) (int, error) { return pruner.PruneRuns(ctx, before, limit) })
}

// trim forgets ended runs of organizations that have too many of them, if the store can.
func (s *Service) trim(ctx context.Context) (int, error) {
	pruner, ok := s.store.(Pruner)
	if !ok {
		return 0, nil
	}
	return forget(func(limit int) (int, error) { return pruner.TrimRuns(ctx, s.opts.KeepRuns, limit) })
}

// forget calls step until it removes fewer runs than it may.
func forget(step func(limit int) (int, error)) (total int, err error) {
	const batch = 500
	for {
		n, err := step(batch)
		total += n
		if err != nil || n < batch {
			return total, unavailable("forget runs", err)
		}
	}
}
