package audiosearch

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/overdue"
	"github.com/seed-6363c74e/mortise/internal/watch"
)

// ErrShutdown is why an attempt ends when its worker does. Such an attempt does not count.
var ErrShutdown = errors.New("audiosearch: the worker is shutting down")

// Worker carries out the runs of a Service. A run ends whatever happens: an attempt that
// fails, dies or hangs is followed by another one, up to MaxAttempts.
type Worker struct {
	service *Service
	sweeper *Sweeper
	opts    WorkerOptions
}

// NewWorker returns a worker. It fails if the service is nil, or if a setting makes no
// sense. Options may be nil.
func NewWorker(s *Service, opts *WorkerOptions) (*Worker, error) {
	if s == nil {
		return nil, errors.New("audiosearch: NewWorker needs a service")
	}
	if err := opts.validate(); err != nil {
		return nil, err
	}
	w := &Worker{service: s, opts: opts.withDefaults()}
	sweeper, err := NewSweeper(s, &w.opts.Sweep)
	if err != nil {
		return nil, err
	}
	w.sweeper = sweeper
	return w, nil
}

func defaultBackoff(attempt int) time.Duration { return failure.Backoff(attempt, time.Minute) }

// Run carries out runs, and sweeps, until ctx ends. Then it takes no more, gives running
// attempts Drain to finish, cuts off the rest, which does not count as an attempt, and
// returns nil.
func (w *Worker) Run(ctx context.Context) error {
	draining, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(ErrShutdown)
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(w.opts.Drain, func() { cut(ErrShutdown) })
		context.AfterFunc(draining, func() { timer.Stop() })
	})
	defer stop()

	var g errgroup.Group
	sweeping, stopSweeping := context.WithCancel(ctx)
	g.Go(func() error { return w.sweeper.Run(sweeping) })
	g.Go(func() error {
		defer stopSweeping()
		opts := mortise.ConsumeOptions{Kinds: []string{JobKind}, Workers: w.opts.Concurrency}
		handle := func(held context.Context, d mortise.Delivery) (v mortise.Verdict) {
			v.After = defaultBackoff(max(d.Deliveries, 1)) // if what the host has plugged in panics
			defer hook.Recover(held, w.service.opts.Logger, "an attempt", nil, "job", d.Job.ID)
			return w.handle(held, draining, d)
		}
		return w.service.queue.Consume(ctx, opts, handle)
	})
	return g.Wait()
}

// RunOnce carries out one run that is due, on the caller's goroutine and without
// sweeping, and reports whether there was one. The queue must be a [mortise.StepQueue];
// if it is not, the error is errors.ErrUnsupported. It is for tests and simulations.
func (w *Worker) RunOnce(ctx context.Context) (bool, error) {
	q, ok := w.service.queue.(mortise.StepQueue)
	if !ok {
		return false, errors.ErrUnsupported
	}
	handle := func(held context.Context, d mortise.Delivery) mortise.Verdict {
		return w.handle(held, ctx, d)
	}
	return q.ConsumeOne(ctx, []string{JobKind}, handle)
}

// Handle makes one attempt at the run that a delivery names, and says what becomes of the
// job. [Worker.Run] does that for each delivery of the service's queue. A host that is
// pushed jobs, by HTTP say, calls Handle itself, as often at a time as it likes, and runs
// a [Sweeper] beside.
//
// A host counts the Deliveries of a job: if the first one finds the run running, it is
// taken for a second job of the run, and put off until the run shows no sign of life any
// more.
//
// The attempt ends when ctx does. If the cause is [ErrShutdown], it does not count.
// Otherwise it is as if the lease was lost: the verdict is VerdictRetry, and the queue is
// expected to deliver the job again by itself.
func (w *Worker) Handle(ctx context.Context, d mortise.Delivery) mortise.Verdict {
	if ctx.Err() != nil {
		return mortise.Verdict{}
	}
	held, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	draining, cut := context.WithCancelCause(context.Background())
	defer cut(nil)
	defer context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); errors.Is(cause, ErrShutdown) {
			cut(cause)
		} else {
			lose(cause)
		}
	})()
	return w.handle(held, draining, d)
}

// writePause is the wait before a job is delivered again whose run could not be read or
// written.
const writePause = time.Second

// aliveFor is how long an attempt is taken to run after its latest sign of life.
const aliveFor = time.Minute

// Why no attempt is begun.
var (
	errDrop    = errors.New("audiosearch: nothing to do")
	errRunning = errors.New("audiosearch: an attempt may be running")
	errEnds    = errors.New("audiosearch: the run ends without another attempt")
)

// handle makes one attempt at a run. held ends with the lease, draining when running
// attempts have to end.
func (w *Worker) handle(held, draining context.Context, d mortise.Delivery) mortise.Verdict {
	s := w.service
	if draining.Err() != nil {
		return mortise.Verdict{}
	}
	id, err := parseJobID(d.Job.ID)
	if err != nil {
		s.opts.Logger.WarnContext(held, "a job is dropped", "error", err)
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}
	r, due, verdict, err := w.begin(held, d, id)
	switch {
	case errors.Is(err, errDrop):
		return mortise.Verdict{Kind: mortise.VerdictDone}
	case errors.Is(err, ErrRunNotFound):
		return overdue.Unknown(d)
	case errors.Is(err, errRunning):
		after := max(r.DueAt.Sub(s.now()), writePause)
		s.opts.Logger.InfoContext(held, "a second job of a run waits for an attempt that may be running", "run", id, "for", after.String())
		return mortise.Verdict{After: after}
	case err != nil:
		s.opts.Logger.WarnContext(held, "cannot begin a run; trying again", "run", id, "error", err)
		return mortise.Verdict{After: writePause}
	case r.State == StateTerminated:
		why := errors.New(r.Message)
		s.logGivenUp(held, &r, why)
		s.observe(held, terminated(&r, why))
		return verdict
	}
	started := r.observation(mortise.KindStarted)
	if r.Attempts == 1 {
		started.Wait = r.StartedAt.Sub(r.CreatedAt)
	}
	s.observe(held, started)

	found, failure := w.attempt(held, draining, &r, due)
	if held.Err() != nil {
		return mortise.Verdict{} // nobody listens: somebody else has the job now
	}
	return w.end(held, d, &r, found, failure)
}

// begin counts the attempt before it is made, so that a run that kills its worker is
// given up in the end. If it ends the run instead, the verdict says what becomes of the
// job.
func (w *Worker) begin(
	ctx context.Context, d mortise.Delivery, id int64,
) (r Run, due time.Time, verdict mortise.Verdict, err error) {
	s := w.service
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	org := d.Job.Organization
	var left Run
	change := func(ending bool) func(*Run) ([]mortise.Job, error) {
		return func(stored *Run) (jobs []mortise.Job, _ error) {
			now := latest(s.now(), stored.UpdatedAt)
			r = *stored
			if isStored(&left, stored) {
				return nil, nil
			}
			due = stored.DueAt
			switch {
			case stored.State == StateTerminated:
				return nil, errDrop
			case stored.State == StateRunning && d.Deliveries == 1 && stored.DueAt.After(now):
				return nil, errRunning // the job was added anew
			case stored.State == StateTerminating:
				stored.end(now, ClientError, messageCancelled)
			case stored.Attempts >= w.opts.MaxAttempts:
				stored.end(now, InternalError, messageGivenUp)
			default:
				stored.State, stored.StartedAt, stored.UpdatedAt = StateRunning, now, now
				stored.Attempts++
				stored.Sound = SoundProgress{}
				stored.alive(now)
				if s.tx == nil {
					stored.wake(now.Add(s.opts.LostAfter))
				}
			}
			switch ends := stored.State == StateTerminated; {
			case ends && !ending:
				return nil, errEnds
			case ending && !ends:
				return nil, errRunning // others have changed it meanwhile
			case ends:
				jobs = s.ended(stored)
			}
			r, left = *stored, *stored
			return jobs, nil
		}
	}
	if err = s.update(ctx, org, id, jobless(change(false))); errors.Is(err, errEnds) {
		if verdict, err = w.ending(ctx, d, org, id, change(true)); err == nil {
			s.tellEndSoon(ctx, &r)
		}
	}
	return r, due, verdict, err
}

// isStored reports whether a stored run is as an earlier call of the same update has left it.
// A change is made once more where nobody knows whether it was committed, which a connection
// that is lost at a COMMIT leaves open.
func isStored(left, stored *Run) bool {
	return left.ID == stored.ID && left.Attempts == stored.Attempts && left.State == stored.State &&
		left.StartedAt.Equal(stored.StartedAt) && left.FinishedAt.Equal(stored.FinishedAt)
}

const messageGivenUp = "The search was given up: its worker died, or did not finish, " +
	"each time it was tried. Start a new search; if that ends so too, " +
	"ask the operator to look at the log."

// alive notes a sign of life of an attempt.
func (r *Run) alive(now time.Time) { r.UpdatedAt, r.DueAt = now, now.Add(aliveFor) }

// jobless is a change that adds no jobs, since it ends no run.
func jobless(change func(*Run) ([]mortise.Job, error)) func(*Run) error {
	return func(r *Run) error {
		_, err := change(r)
		return err
	}
}

// ending writes the end of a run, and the end of its job in the same transaction if the
// queue shares the store. The verdict says what is left to do.
func (w *Worker) ending(
	ctx context.Context, d mortise.Delivery, org string, id int64, change func(*Run) ([]mortise.Job, error),
) (mortise.Verdict, error) {
	var lease mortise.Lease
	verdict := mortise.Verdict{Kind: mortise.VerdictDone}
	if w.service.tx != nil && d.Token != uuid.Nil {
		lease, verdict.Kind = d.Lease(), mortise.VerdictEnded
	}
	return verdict, w.service.updateAndJobs(ctx, org, id, change, lease)
}

// attempt is a run that a worker has.
type attempt struct {
	cancel context.CancelCauseFunc
	org    string
}

// attempt searches, while it watches whether the run is to be cancelled and writes how
// far it is.
func (w *Worker) attempt(held, draining context.Context, r *Run, due time.Time) (found Found, err error) {
	s := w.service
	ctx, cancel := context.WithCancelCause(held)
	defer cancel(nil)
	defer context.AfterFunc(draining, func() { cancel(ErrShutdown) })()
	a := &attempt{cancel, r.Organization}
	s.mu.Lock()
	s.running[r.ID] = a
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		if s.running[r.ID] == a { // and not a later attempt
			delete(s.running, r.ID)
		}
		s.mu.Unlock()
	}()
	if due.After(r.StartedAt) { // an earlier attempt, whose worker died, was to be alive until then
		due = r.StartedAt
	}
	ctx, ended := hook.Start(ctx, &s.opts.Env, mortise.Work{
		Op: "audiosearch.run", Kind: JobKind, Organization: r.Organization, ID: strconv.FormatInt(r.ID, 10), Attempt: r.Attempts, Due: due,
	}, r.Trace)
	defer func() { ended(err) }()

	var far progress
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { w.watch(watching, r, &far, cancel) })
	defer watcher.Wait()
	defer stop()
	found, err = w.search(ctx, r, &far)
	return found, watch.Because(ctx, err)
}

// search searches, and puts what is found where the end of the run can name it.
func (w *Worker) search(ctx context.Context, r *Run, far *progress) (Found, error) {
	s, q, set := w.service, r.Query, &resultSet{w: w, run: r}
	src, err := s.source(ctx, r.Organization, &q)
	if err != nil {
		return Found{}, err
	}
	keep := &foundVideos{begin: set.begin, put: set.putVideos}
	if s.moderates(&q) { // Moderate sees the metadata
		keep.metadata = make(map[string]metadata.Map)
	}
	found, err := s.searchIn(ctx, r.Organization, &q, &src, keep, far)
	if err != nil || len(found.Results) == 0 {
		return found, err
	}
	found.set = set.id
	return found, set.putResults(ctx, found.Results)
}
