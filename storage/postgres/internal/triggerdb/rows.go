package triggerdb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/tracetext"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/trigger"
)

// eventColumns are the columns of an event, in the order of eventArgs and of eventRow. Of
// them, those after the third change.
const (
	eventColumns = "id, organization, submitted_at, " + eventChanging

	eventChanging = progressColumns + ", " + contentColumns

	// progressColumns change with every attempt; contentColumns hardly ever do, and may be
	// long.
	progressColumns = "status, started_at, finished_at, attempts, last_error, outcome_summary, outcome_data, generation, due_at, wake_at, failures, superseded_by"
	contentColumns  = "source, submitted_by, instructions, context, collection, idempotency_key, body_digest, trace, supersede_key, supersede_since"
)

// statuses are the statuses by the numbers that are stored. The schema has these, too.
var statuses = [...]trigger.Status{
	trigger.StatusReceived, trigger.StatusProcessing, trigger.StatusCompleted, trigger.StatusFailed,
	trigger.StatusCancelled, trigger.StatusSuperseded,
}

// The numbers that statements name.
const (
	received   = "0"
	processing = "1"
	completed  = "2"
	failed     = "3"
	cancelled  = "4"
)

// numberOf returns the number of a status, -1 if there is no such status.
func numberOf(s trigger.Status) int16 { return int16(slices.Index(statuses[:], s)) }

// eventArgs returns the values of eventColumns. They are copies.
func eventArgs(e *trigger.Event) ([]any, error) {
	args, err := appendProgress([]any{e.ID, e.Organization, sqltext.Bound(e.SubmittedAt)}, e)
	return appendContent(args, e), err
}

// appendProgress appends the values of progressColumns.
func appendProgress(args []any, e *trigger.Event) ([]any, error) {
	status := numberOf(e.Status)
	if status < 0 {
		return nil, fmt.Errorf("postgres: unknown status %q", e.Status)
	}
	var summary, data, failures, supersededBy any
	if e.Outcome != nil {
		summary, data = sqltext.Bytes(e.Outcome.Summary), sqltext.TextIf(e.Outcome.Data, len(e.Outcome.Data) > 0)
	}
	if len(e.Failures) > 0 {
		text, err := json.Marshal(e.Failures)
		if err != nil {
			return nil, fmt.Errorf("postgres: the attempts of an event: %w", err)
		}
		failures = string(text)
	}
	if e.SupersededBy != uuid.Nil {
		supersededBy = e.SupersededBy
	}
	return append(args, status, sqltext.Stamp(e.StartedAt), sqltext.Stamp(e.FinishedAt), int64(e.Attempts), sqltext.Bytes(e.LastError), summary, data,
		int64(e.Generation), sqltext.Stamp(e.DueAt), sqltext.Stamp(e.WakeAt), failures, supersededBy), nil
}

// appendContent appends the values of contentColumns.
func appendContent(args []any, e *trigger.Event) []any {
	var collection any
	if e.Collection != uuid.Nil {
		collection = e.Collection
	}
	return append(args, e.Source, string(e.Actor), sqltext.Bytes(e.Instructions), sqltext.TextIf(e.Context, len(e.Context) > 0), collection,
		sqltext.TextIf(e.IdempotencyKey, e.IdempotencyKey != ""), sqltext.BytesIf(e.BodyDigest[:], e.BodyDigest != [32]byte{}),
		sqltext.TextIf(tracetext.Format(e.Trace), e.Trace != nil),
		sqltext.TextIf(e.SupersedeKey, e.SupersedeKey != ""), sqltext.Stamp(e.SupersedeSince))
}

// sameContent reports whether the values of contentColumns are equal.
func sameContent(a, b *trigger.Event) bool {
	return a.Source == b.Source && a.Actor == b.Actor && a.Instructions == b.Instructions && string(a.Context) == string(b.Context) &&
		a.Collection == b.Collection && a.IdempotencyKey == b.IdempotencyKey && a.BodyDigest == b.BodyDigest &&
		maps.Equal(a.Trace, b.Trace) && (a.Trace == nil) == (b.Trace == nil) &&
		a.SupersedeKey == b.SupersedeKey && a.SupersedeSince.Equal(b.SupersedeSince)
}

// eventRow is a row of eventColumns.
type eventRow struct {
	e      trigger.Event
	status int16

	submitted, started, finished, due, wake, supersedeSince pgtype.Timestamptz
	collection, supersededBy                                pgtype.UUID

	org, lastError, summary, data, failures, source, actor, instructions, context, key, digest, trace, supersedeKey []byte
}

// to is where the row is scanned to.
func (r *eventRow) to() []any {
	return []any{&r.e.ID, &r.org, &r.submitted,
		&r.status, &r.started, &r.finished, &r.e.Attempts, &r.lastError, &r.summary, &r.data,
		&r.e.Generation, &r.due, &r.wake, &r.failures, &r.supersededBy,
		&r.source, &r.actor, &r.instructions, &r.context, &r.collection, &r.key, &r.digest, &r.trace, &r.supersedeKey, &r.supersedeSince}
}

// event returns what was scanned.
func (r *eventRow) event() (e trigger.Event, err error) {
	if r.status < 0 || int(r.status) >= len(statuses) || len(r.digest) != 0 && len(r.digest) != len(e.BodyDigest) {
		return e, fmt.Errorf("postgres: the row of the event %s is damaged", r.e.ID)
	}
	e = r.e
	e.Organization, e.Status = string(r.org), statuses[r.status]
	e.SubmittedAt, e.StartedAt, e.FinishedAt = sqltext.TimeOf(r.submitted), sqltext.TimeOf(r.started), sqltext.TimeOf(r.finished)
	e.DueAt, e.WakeAt, e.SupersedeSince = sqltext.TimeOf(r.due), sqltext.TimeOf(r.wake), sqltext.TimeOf(r.supersedeSince)
	e.LastError, e.Source, e.Actor, e.Instructions = string(r.lastError), string(r.source), mortise.Actor(r.actor), string(r.instructions)
	e.Context, e.IdempotencyKey, e.SupersedeKey = json.RawMessage(r.context), string(r.key), string(r.supersedeKey)
	e.Collection, e.SupersededBy = r.collection.Bytes, r.supersededBy.Bytes
	copy(e.BodyDigest[:], r.digest)
	if r.summary != nil {
		e.Outcome = &trigger.Outcome{Summary: string(r.summary), Data: json.RawMessage(r.data)}
	}
	if r.failures != nil {
		if err := json.Unmarshal(r.failures, &e.Failures); err != nil {
			return e, fmt.Errorf("postgres: the row of the event %s is damaged: its failures: %w", e.ID, err)
		}
	}
	e.Trace, err = sqltext.TraceMap(r.trace)
	return e, err
}
