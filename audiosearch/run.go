package audiosearch

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// maxRunID is the greatest ID of a run: 2^53-1, which JavaScript can hold.
const maxRunID = 1<<53 - 1

// State is where a run stands.
type State string

// The states.
const (
	StatePending     State = "PENDING"     // stored, not queued yet
	StateQueued      State = "QUEUED"      // waits for a worker, or for another attempt
	StateRunning     State = "RUNNING"     // a worker has it
	StateTerminating State = "TERMINATING" // to be cancelled; its worker has yet to let go
	StateTerminated  State = "TERMINATED"  // has ended: Termination says how
)

// Termination is how a run ended.
type Termination string

// The ways to end.
const (
	Success       Termination = "SUCCESS"
	ClientError   Termination = "CLIENT_ERROR"   // the request cannot be met, or was cancelled
	InternalError Termination = "INTERNAL_ERROR" // given up
)

// Run is a search in the background.
type Run struct {
	Organization string
	ID           int64 // 1 to 2^53-1, not to be guessed
	Actor        mortise.Actor
	Query        Query

	State       State
	Termination Termination // "" before the end

	// Message is for who asked: why the run ended so, or which videos could not be
	// searched, or not all of them; it may be "".
	Message string

	Done, Total int // videos that are scored, or cannot be, of those that match

	// Sound is that of the videos among them that had no scores when the latest attempt
	// began. A run that ended with Success has scored all of it.
	Sound SoundProgress

	Attempts   int       // how often a worker began it
	CreatedAt  time.Time // all times: microseconds, UTC
	UpdatedAt  time.Time // of the latest sign of life
	StartedAt  time.Time // of the latest attempt; zero: none yet
	FinishedAt time.Time // zero: not yet

	// DueAt is when the run is next due: its creation, or the end of the wait for another
	// attempt. While an attempt runs it is when that is over unless it shows another sign
	// of life: a minute after the latest one. Zero once the run has ended.
	DueAt time.Time

	// WakeAt: a worker should have the run by then. Of a run that has ended: by then the
	// jobs of [Options].OnEnd should be queued. Zero: its job is in the same database, or
	// the run has ended and that is told.
	WakeAt time.Time

	Trace map[string]string // carries a trace to the worker; nil: none

	ResultSet uuid.UUID // names what it found, see [ResultStore]; zero: nothing yet

	// Results are what it found. [Service.Results] fills them in; stores neither take nor
	// return them.
	Results []Result
}

// Clone returns a deep copy.
func (r Run) Clone() Run {
	r.Query.Filters = slices.Clone(r.Query.Filters)
	r.Trace = maps.Clone(r.Trace)
	r.Results = cloneResults(r.Results)
	return r
}

// cloneResults returns a deep copy. Results that share their Metadata share a copy of it.
func cloneResults(results []Result) []Result {
	results = slices.Clone(results)
	copies := make(map[uintptr]metadata.Map)
	for i := range results {
		r := &results[i]
		if r.Metadata != nil {
			at := reflect.ValueOf(r.Metadata).Pointer()
			if copies[at] == nil {
				copies[at] = maps.Clone(r.Metadata)
			}
			r.Metadata = copies[at]
		}
		if r.Moderation != nil {
			score := *r.Moderation
			r.Moderation = &score
		}
	}
	return results
}
