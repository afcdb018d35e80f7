package trigger

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

// Status is where an event stands between its acceptance and its end.
type Status string

// The states of an event.
const (
	StatusReceived   Status = "received"   // accepted; waits for its first or its next attempt
	StatusProcessing Status = "processing" // an attempt is running, or its worker died and the lease has not ended yet
	StatusCompleted  Status = "completed"  // the Processor succeeded
	StatusFailed     Status = "failed"     // given up: permanent error, attempts used up, or never queued
	StatusCancelled  Status = "cancelled"  // ended by [Service.Cancel]
	StatusSuperseded Status = "superseded" // ended by a newer event, whose ID is in SupersededBy
)

// Statuses lists every Status in the order of an event's life.
func Statuses() []Status {
	return []Status{StatusReceived, StatusProcessing, StatusCompleted, StatusFailed, StatusCancelled, StatusSuperseded}
}

// Finished reports whether no further attempt follows by itself.
func (s Status) Finished() bool { return s != StatusReceived && s != StatusProcessing }

// retryable reports whether an event can be sent back by hand.
func (s Status) retryable() bool { return s.Finished() && s != StatusCompleted }

// Event is one accepted request and what became of it. Times are UTC with microsecond
// precision; a zero time means "not yet".
type Event struct {
	ID           uuid.UUID
	Organization string
	Status       Status
	Source       string        // its channel: "api", as over HTTP, or the host's own word
	Actor        mortise.Actor // the caller that submitted it; "" if the host named none
	Instructions string        // what to document; never empty
	// Context is the caller's metadata: a JSON object, byte for byte as submitted; nil
	// for none.
	Context    json.RawMessage
	Collection uuid.UUID // the doc collection asked for; uuid.Nil for any

	SubmittedAt time.Time
	StartedAt   time.Time // start of the latest attempt
	FinishedAt  time.Time

	// DueAt is when the next attempt may begin: the submission, [Submission.NotBefore], the
	// [Service.Retry] or [Service.RunNow], or the end of the wait for another attempt. While
	// an attempt runs it is when the attempt must be over. Zero once the event has ended.
	DueAt time.Time

	// WakeAt is when a worker should have the event by. A [Sweeper] then queues its job; of an
	// event that has ended, the jobs of [Options].OnEnd. Zero: its job is in the same
	// database, or the event has ended and that is told.
	WakeAt time.Time

	Attempts  int      // attempts begun in this generation, those ended by a shutdown not counted
	LastError string   // what the latest failed attempt said; kept when a later one succeeds
	Outcome   *Outcome // set when completed

	// Failures are the attempts that did not succeed, of all generations, oldest first: at
	// most the newest [MaxAttemptsLog]. [Event.AttemptsLog] has the others, too.
	Failures []Attempt

	Generation int // 0, and one more after each Retry and RunNow by hand

	// Reserved: no event has these fields set, or the status superseded, in this version.
	SupersedeKey   string    // a newer event with it may end this one while it waits; "" for none
	SupersedeSince time.Time // when the first of the events that wait under the key was submitted
	SupersededBy   uuid.UUID // the event that ended this one; uuid.Nil for none

	IdempotencyKey string // "" for none, or released
	// BodyDigest is SHA-256 over what was submitted, to know a repeated request; zero
	// without a key.
	BodyDigest [32]byte
	Trace      map[string]string // trace carrier (W3C trace context, say), at most 1 KiB; never shown
}

// Attempt is one attempt at an event. Databases store its JSON.
type Attempt struct {
	Number    int       `json:"attempt"` // from 1 in each generation; one that a shutdown cut off has the number of the next
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"` // zero: it still runs, or its worker died
	Error     string    `json:"error"`    // what PublicError says of its failure, or "cancelled"; "" if it still runs, or succeeded
}

// MaxAttemptsLog is the number of attempts that an event keeps.
const MaxAttemptsLog = 10

// AttemptsLog returns the newest attempts of the event, at most [MaxAttemptsLog], oldest
// first: its Failures, and the attempt that runs or has succeeded.
func (e *Event) AttemptsLog() []Attempt {
	log := append([]Attempt(nil), e.Failures...)
	if e.Status == StatusProcessing || e.Status == StatusCompleted {
		log = append(log, Attempt{Number: e.Attempts, StartedAt: e.StartedAt, EndedAt: e.FinishedAt})
	}
	return log[max(len(log)-MaxAttemptsLog, 0):]
}

// submittedForLater reports whether an event waits for its NotBefore. Another one that waits
// may be due by another clock.
func (e *Event) submittedForLater() bool {
	return e.Generation == 0 && e.Attempts == 0 && e.Status == StatusReceived && e.DueAt.After(e.SubmittedAt)
}

// noteFailure adds the latest attempt to Failures, once.
func (e *Event) noteFailure(at time.Time, text string) {
	kept := slices.DeleteFunc(slices.Clone(e.Failures), func(a Attempt) bool {
		return a.Number == e.Attempts && a.StartedAt.Equal(e.StartedAt)
	})
	kept = append(kept, Attempt{Number: e.Attempts, StartedAt: e.StartedAt, EndedAt: latest(at, e.StartedAt), Error: text})
	e.Failures = kept[max(len(kept)-MaxAttemptsLog, 0):]
}

// finish ends the event.
func (e *Event) finish(at time.Time, how Status) {
	e.Status, e.FinishedAt = how, latest(latest(at, e.StartedAt), e.SubmittedAt)
	e.DueAt, e.WakeAt = time.Time{}, time.Time{}
}

// Outcome is what a Processor says of finished work.
type Outcome struct {
	Summary string          // one or two sentences for a person
	Data    json.RawMessage // optional, any JSON value

	// Apply, if it is set, writes to tables of the host's in the transaction that ends the
	// event as completed: exactly once, also where the queue is elsewhere.
	// [WorkerOptions].Apply must be set. The host's transaction comes with ctx (HostTx of
	// storage/sqlite and of storage/postgres), and calls of the store's database under ctx
	// are part of it.
	//
	// Apply is called if its attempt is the newest one and the event has not ended. It may be
	// called again after a rollback (a deadlock, say), and is never called after a commit.
	// An error, or a panic, rolls the transaction back and fails the attempt, and so does a
	// COMMIT that the database refuses. The Tracer has heard of the Processor's success by
	// then. ctx ends after 5 s, or after the time that the database gives a transaction
	// (TxTime of storage/sqlite, Timeout of storage/postgres), the wait for the
	// transaction included: then the attempt fails. Apply must return soon after that, and
	// must not end its goroutine. Events do not store Apply.
	Apply func(ctx context.Context) error
}

// Clone returns a deep copy. Backends that keep events in memory use it at their
// boundary.
func (e Event) Clone() Event {
	e.Context = append(json.RawMessage(nil), e.Context...)
	if e.Outcome != nil {
		o := *e.Outcome
		o.Data = append(json.RawMessage(nil), o.Data...)
		e.Outcome = &o
	}
	e.Failures = append([]Attempt(nil), e.Failures...)
	e.Trace = maps.Clone(e.Trace)
	return e
}
