package trigger

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Status is where an event stands between its acceptance and its end.
type Status string

// The states of an event.
const (
	StatusReceived   Status = "received"   // accepted; waits for its first or its next attempt
	StatusProcessing Status = "processing" // an attempt is running, or its worker died and the lease has not ended yet
	StatusCompleted  Status = "completed"  // the Processor succeeded
	StatusFailed     Status = "failed"     // given up: permanent error, attempts used up, or never queued
)

// Statuses lists every Status in the order of an event's life.
func Statuses() []Status {
	return []Status{StatusReceived, StatusProcessing, StatusCompleted, StatusFailed}
}

// Finished reports whether no further attempt follows by itself.
func (s Status) Finished() bool { return s == StatusCompleted || s == StatusFailed }

// Event is one accepted request and what became of it. Times are UTC with microsecond
// precision; a zero time means "not yet".
type Event struct {
	ID           uuid.UUID
	Organization string
	Status       Status
	Source       string // who submitted it: "api", as over HTTP, or the host's own word
	Instructions string // what to document; never empty
	// Context is the caller's metadata: a JSON object, byte for byte as submitted; nil
	// for none.
	Context    json.RawMessage
	Collection uuid.UUID // the doc collection asked for; uuid.Nil for any

	SubmittedAt time.Time
	StartedAt   time.Time // start of the latest attempt
	FinishedAt  time.Time

	// DueAt is when the event is next due: its submission, its [Service.Retry], or the
	// end of the wait for another attempt. While an attempt runs it is when the attempt
	// must be over.
	DueAt time.Time

	// CheckedAt is when the event's job was last known to be queued. Zero: that is not
	// known. The service leaves it zero where event and job stand in one database.
	CheckedAt time.Time

	Attempts  int      // attempts begun in this generation, those ended by a shutdown not counted
	LastError string   // what the latest failed attempt said; kept when a later one succeeds
	Outcome   *Outcome // set when completed

	Generation int // 0, and one more after each Retry by hand

	// UnqueuedSince is since when the event wants a job that is not known to be queued.
	// Zero: it has one, or needs none.
	UnqueuedSince time.Time

	IdempotencyKey string // "" for none, or released
	// BodyDigest is SHA-256 over what was submitted, to know a repeated request; zero
	// without a key.
	BodyDigest [32]byte
	Trace      map[string]string // trace carrier (W3C trace context, say), at most 1 KiB; never shown
}

// Outcome is what a Processor says of finished work.
type Outcome struct {
	Summary string          // one or two sentences for a person
	Data    json.RawMessage // optional, any JSON value
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
	if e.Trace != nil {
		trace := make(map[string]string, len(e.Trace))
		for k, v := range e.Trace {
			trace[k] = v
		}
		e.Trace = trace
	}
	return e
}
