package trigger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

// Queue is the queue of the jobs of events.
type Queue = mortise.Queue

// JobKind is the kind of the jobs of events.
const JobKind = "trigger"

// Job returns the job of the event's present generation. Its ID is the event's, a hyphen,
// and the generation.
func (e *Event) Job() mortise.Job {
	return mortise.Job{
		Kind: JobKind, Organization: e.Organization, ID: e.ID.String() + "-" + strconv.Itoa(e.Generation),
		Trace: e.Trace,
	}
}

// parseJobID returns the event and the generation of a job.
func parseJobID(id string) (event uuid.UUID, generation int, err error) {
	const length = 36
	if len(id) > length+1 && id[length] == '-' {
		if event, err = uuid.Parse(id[:length]); err == nil {
			generation, err = strconv.Atoi(id[length+1:])
		}
		if err == nil && event.String()+"-"+strconv.Itoa(generation) == id {
			return event, generation, nil
		}
	}
	return uuid.Nil, 0, fmt.Errorf("trigger: %.80q is not the ID of an event's job", id)
}

// TxStore is the optional ability of a [Store] to add and remove jobs in its own
// transaction. The service uses it if the queue is a [mortise.Sharer] that says so.
// Otherwise it stores first and enqueues then, and the sweeper looks for what a crash
// left between.
type TxStore interface {
	// CreateEventAndAdd does [Store.CreateEvent] and, if that created the event,
	// [mortise.Leases].Add, in one transaction.
	CreateEventAndAdd(ctx context.Context, e Event, keySince time.Time, j mortise.Job) (stored Event, created bool, err error)

	// UpdateEventAndRemove does [Store.UpdateEvent] and, if that succeeded,
	// [mortise.Holder].Remove, in one transaction. That the lease is lost is not an
	// error: the event is changed all the same, and the job stays with its holder.
	UpdateEventAndRemove(ctx context.Context, org string, id uuid.UUID, update func(*Event) error, l mortise.Lease, dead bool) error
}
