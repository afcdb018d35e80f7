package audiosearch

import (
	"context"
	"strconv"
	"time"
)

// Job asks for one run to be carried out. It names the run and carries nothing of it.
type Job struct {
	Organization string
	RunID        int64
}

// ID identifies the job.
func (j Job) ID() string { return strconv.FormatInt(j.RunID, 10) }

// Delivery is a job handed to a consumer.
type Delivery struct {
	Job        Job
	Deliveries int // how often this job has been handed out, this time included
}

// Verdict is a consumer's answer to a Delivery. The zero value gives the job back, due at once, so that nothing is lost by omission.
type Verdict struct {
	Done  bool          // never deliver it again
	After time.Duration // if not Done: not before this long from now
}

// Queue delivers jobs at least once: a job is delivered until a verdict ends it, again after its consumer died, and possibly to two
// consumers in a row if the first one stalls. Jobs come roughly in order of becoming due; a job that is retried never holds up others.
// All methods are safe for concurrent use.
type Queue interface {
	// Enqueue adds a job, due at once. It is idempotent: a job whose ID is in the queue, waiting or running, is not added a second time. An
	// error means that the job may or may not be there.
	Enqueue(ctx context.Context, j Job) error

	// Consume hands jobs to handle until ctx ends: as many as are due at a time, but never more than workers. Then it takes no more, waits for
	// the running calls of handle, applies their verdicts and returns nil. It returns an error only if it cannot go on; a passing failure of
	// the backend is waited out.
	//
	// A queue that can tell organizations apart, as that of [LeaseQueue] can, serves them
	// in turn. While one organization has all of several workers, one job of another is
	// handed out besides, so that it need not wait for a long one to end.
	//
	// The context given to handle carries ctx's values. It does not end with ctx, but with the delivery: when the lease is lost, its cause is
	// [ErrLeaseLost], and the verdict is ignored.
	Consume(ctx context.Context, workers int, handle func(context.Context, Delivery) Verdict) error
}

// StepQueue is a Queue that can be driven by hand. [Worker.RunOnce] needs it; queues made by [LeaseQueue] have it.
type StepQueue interface {
	Queue

	// ConsumeOne takes one job that is due now, calls handle on the caller's goroutine, and applies the verdict. It reports false if no job was
	// due.
	ConsumeOne(ctx context.Context, handle func(context.Context, Delivery) Verdict) (bool, error)
}
