package trigger

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Job asks for one event to be processed. It names the event and carries nothing of it.
type Job struct {
	Organization string
	EventID      uuid.UUID
	Generation   int
}

// ID identifies the job: event and generation, as "UUID/N".
func (j Job) ID() string { return j.EventID.String() + "/" + strconv.Itoa(j.Generation) }

// Delivery is a job handed to a consumer.
type Delivery struct {
	Job        Job
	Deliveries int // how often this job has been handed out, this time included
}

// VerdictKind says what a consumer made of a delivery.
type VerdictKind uint8

// The verdicts.
const (
	VerdictRetry VerdictKind = iota // deliver it again after Verdict.After; the zero value, so that nothing is lost by omission
	VerdictDone                     // never deliver it again
	VerdictDead                     // never deliver it again, and keep it as a dead letter where the queue can
)

// Verdict is a consumer's answer to a Delivery.
type Verdict struct {
	Kind  VerdictKind
	After time.Duration // with VerdictRetry: not before this long from now
}

// Queue delivers jobs at least once: a job is delivered until a verdict ends it, again after its consumer died, and possibly to
// two consumers in a row if the first one stalls. Jobs come roughly in order of becoming due; a job that is retried never holds
// up others. All methods are safe for concurrent use.
type Queue interface {
	// Enqueue adds a job, due at once. It is idempotent: a job whose ID is in the queue, waiting or running, is not added a second
	// time. An error means that the job may or may not be there.
	Enqueue(ctx context.Context, j Job) error

	// Consume hands jobs to handle until ctx ends: as many as are due at a time, but never more than workers. Then it takes no more, waits for the running calls
	// of handle, applies their verdicts and returns nil. It returns an error only if it cannot go on; a passing failure of the
	// backend is waited out.
	//
	// A queue that knows organizations apart, as those of [LeaseQueue] do, serves them in
	// turn. While one organization has all workers, of which there are two or more, one
	// job of another organization is handed out besides them, so that it need not wait
	// for a long one to end.
	//
	// The context given to handle carries ctx's values. It does not end with ctx, but with the delivery: when the lease is lost,
	// its cause is [ErrLeaseLost], and the verdict is ignored.
	Consume(ctx context.Context, workers int, handle func(context.Context, Delivery) Verdict) error
}

// TxQueue is a Queue that can add a job in the same transaction in which an event is stored.
type TxQueue interface {
	Queue

	// Shares reports whether s keeps its events where this queue keeps its jobs. A store that a host has wrapped in a type of its own
	// is not recognized: then events are stored first and queued then, and the sweeper closes the gap.
	Shares(s Store) bool

	// CreateAndEnqueue does [Store.Create] and, if that created the event, [Queue.Enqueue], both or neither.
	CreateAndEnqueue(ctx context.Context, e Event, keySince time.Time, j Job) (stored Event, created bool, err error)
}

// StepQueue is a Queue that can be driven by hand. [Worker.RunOnce] needs it; queues made by [LeaseQueue] have it.
type StepQueue interface {
	Queue

	// ConsumeOne takes one job that is due now, calls handle on the caller's goroutine, and applies the verdict. It reports false
	// if no job was due.
	ConsumeOne(ctx context.Context, handle func(context.Context, Delivery) Verdict) (bool, error)
}
