package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	riverqueue "github.com/riverqueue/river"

	"github.com/seed-6363c74e/mortise"
)

// NewWorker returns the worker that a host adds to the workers of its own client, with
// riverqueue.AddWorker: it hands jobs of all kinds to handle, such as the Handle of
// trigger.Worker. Of Options, which may be nil, RescueAfter counts, and is not over the
// client's RescueStuckJobsAfter, and Logger.
func NewWorker(handle mortise.Handler, opts *Options) riverqueue.Worker[Args] {
	return &worker{handle: handle, opts: opts.withDefaults()}
}

// worker implements River's Worker.
type worker struct {
	riverqueue.WorkerDefaults[Args]
	handle mortise.Handler
	opts   Options

	// take waits for the turn of a job that River has handed out. It reports false if the
	// job is to be given back. Nil: it is a job's turn at once.
	take func(ctx context.Context) (release func(), ok bool)
}

// Timeout implements River's Worker: when it has passed, the handler's context ends. It must
// not be -1, for none: River never rescues the jobs of such a worker.
func (w *worker) Timeout(*riverqueue.Job[Args]) time.Duration { return w.opts.longest() }

// longest is how long a job may be handled: shortly less than the time after which it may be
// handed out to another worker.
func (o *Options) longest() time.Duration {
	return o.RescueAfter - min(o.RescueAfter/10, time.Minute)
}

// counts is what the metadata of a job has of its deliveries. River takes back the attempt of
// a job that is snoozed, and counts that there.
type counts struct {
	Snoozes  int `json:"snoozes"`
	Returned int `json:"mortise_returned"` // snoozes of jobs that no handler was given
}

const returnedKey = "mortise_returned"

var (
	errDead  = errors.New("a dead letter: the work has failed for good")
	errPanic = errors.New("the handler has panicked: see the log")
	errEnded = errors.New("the handler has ended its goroutine")
)

// Work implements River's Worker. A retry is a snooze, and never an error: River's own
// attempts and their backoff would compete with those of the domain.
func (w *worker) Work(ctx context.Context, job *riverqueue.Job[Args]) error {
	j, err := job.Args.job()
	if err != nil { // nobody can do anything with it, ever
		return riverqueue.JobCancel(err)
	}
	var n counts
	if err := json.Unmarshal(job.Metadata, &n); err != nil {
		return riverqueue.JobCancel(fmt.Errorf("river: the metadata of a job: %w", err))
	}
	if w.take != nil {
		release, ok := w.take(ctx)
		if !ok {
			_ = riverqueue.MetadataSet(ctx, returnedKey, n.Returned+1)
			return riverqueue.JobSnooze(givenBack)
		}
		defer release()
	}
	v, err := w.call(ctx, mortise.Delivery{Job: j, Deliveries: job.Attempt + n.Snoozes - n.Returned})
	switch {
	case ctx.Err() != nil: // River has taken the job away: see Options.RescueAfter
		return riverqueue.JobSnooze(0)
	case err != nil:
		return err
	}
	switch v.Kind {
	case mortise.VerdictDone, mortise.VerdictEnded:
		return nil
	case mortise.VerdictDead:
		return riverqueue.JobCancel(errDead)
	default:
		return riverqueue.JobSnooze(max(v.After, 0))
	}
}

// call calls the handler on a goroutine of its own, which it may end (runtime.Goexit), with
// a context that ends with River's, by the cause of a lost lease.
func (w *worker) call(ctx context.Context, d mortise.Delivery) (v mortise.Verdict, err error) {
	handling, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	defer context.AfterFunc(ctx, func() { lose(mortise.ErrLeaseLost) })()
	ended := make(chan struct{})
	err = errEnded
	go func() {
		defer close(ended)
		defer func() {
			if p := recover(); p != nil { // which may hold what does not belong in River's tables
				w.opts.Logger.ErrorContext(ctx, "a handler has panicked; the job will come again",
					"job", d.Job.String(), "panic", p, "stack", string(debug.Stack()))
				err = errPanic
			}
		}()
		v = w.handle(handling, d)
		err = nil
	}()
	<-ended
	return v, err
}
