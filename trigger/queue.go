package trigger

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

// Queue hands out the jobs of events ([Event.Job]). All domains have the same one:
// [mortise.Queue] says what it promises, and package storage/queuetest proves it.
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

// jobAt is Job, not to be delivered before the event is due.
func (e *Event) jobAt(now time.Time) mortise.Job {
	j := e.Job()
	if e.DueAt.After(now) {
		j.At = e.DueAt
	}
	return j
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
