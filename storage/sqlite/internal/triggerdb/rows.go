package triggerdb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/tracetext"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/trigger"
)

// eventColumns are the columns of a new event, in the order of eventArgs.
const eventColumns = "id, organization, submitted_at, version, " + contentColumns + ", " + progressColumns

// contentColumns hardly ever change; progressColumns change with every attempt.
const (
	contentColumns  = "source, submitted_by, instructions, context, body, collection, idempotency_key, body_digest, trace, supersede_key, supersede_since"
	progressColumns = "status, attempts, last_error, generation, due_at, wake_at, started_at, finished_at, outcome_summary, outcome_data, failures, superseded_by"
	progressCount   = 12

	// unsetCount is how many columns, at the end of eventColumns, are NULL in an event that is new.
	unsetCount = 6
)

// eventFields are what scanEvent reads, of the table that has this name in a statement.
func eventFields(of string) string {
	columns := strings.Split("id, organization, submitted_at, source, submitted_by, instructions, context, collection, idempotency_key,"+
		" body_digest, trace, supersede_key, supersede_since, "+progressColumns, ", ")
	for i, column := range columns {
		columns[i] = of + "." + column
		if column == "instructions" || column == "context" {
			columns[i] = "iif(" + of + ".body, (SELECT b." + column + " FROM trigger_bodies AS b WHERE b.event = " + of + ".id), " + columns[i] + ")"
		}
	}
	return strings.Join(columns, ", ")
}

// eventSize is trigger.Event.Size of a row of trigger_events. octet_length does not read
// the text.
const eventSize = "octet_length(instructions) + ifnull(octet_length(context), 0) + octet_length(last_error) + ifnull(octet_length(failures), 0)" +
	" + ifnull(octet_length(outcome_summary), 0) + ifnull(octet_length(outcome_data), 0)" +
	" + iif(body, (SELECT octet_length(b.instructions) + ifnull(octet_length(b.context), 0) FROM trigger_bodies AS b WHERE b.event = trigger_events.id), 0)"

// versionField is the column behind eventFields in eventAnyID.
const versionField = 25

// maxInline is how many bytes of instructions and context stand in the row of the event.
// SQLite writes a row anew as a whole, and each attempt changes it twice. So longer ones
// have a row of their own, of trigger_bodies.
const maxInline = 2048

// bodyApart reports whether instructions and context have a row of their own.
func bodyApart(e *trigger.Event) bool { return len(e.Instructions)+len(e.Context) > maxInline }

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

func statusNumber(s trigger.Status) (int, error) {
	if i := slices.Index(statuses[:], s); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("sqlite: unknown status %q", s)
}

// statusOf returns the status in a column.
func statusOf(r *file.Row, column int) (trigger.Status, error) {
	number := r.Number(column)
	if number < 0 || number >= len(statuses) {
		return "", fmt.Errorf("sqlite: a row is damaged: there is no status %d", number)
	}
	return statuses[number], nil
}

// eventArgs returns the values of eventColumns, copies where the event's owner could
// change them.
func eventArgs(e *trigger.Event, version int) ([]any, error) {
	args := make([]any, 0, 27)
	args = append(args, bytes.Clone(e.ID[:]), e.Organization, e.SubmittedAt.UnixMicro(), version)
	args = appendContent(args, e)
	return appendProgress(args, e)
}

// appendContent appends the values of contentColumns.
func appendContent(args []any, e *trigger.Event) []any {
	args = append(args, e.Source, string(e.Actor))
	if bodyApart(e) {
		args = append(args, "", nil, 1)
	} else {
		args = append(args, e.Instructions, file.Text(e.Context, len(e.Context) > 0), 0)
	}
	return append(args, file.Blob(bytes.Clone(e.Collection[:]), e.Collection != uuid.Nil),
		file.Text(e.IdempotencyKey, e.IdempotencyKey != ""), file.Blob(bytes.Clone(e.BodyDigest[:]), e.BodyDigest != [32]byte{}), file.Text(tracetext.Format(e.Trace), e.Trace != nil),
		file.Text(e.SupersedeKey, e.SupersedeKey != ""), file.Micros(e.SupersedeSince))
}

// bodyArgs returns the values of a row of trigger_bodies, nil if the event has none.
func bodyArgs(e *trigger.Event) []any {
	if !bodyApart(e) {
		return nil
	}
	return []any{bytes.Clone(e.ID[:]), e.Instructions, file.Text(e.Context, len(e.Context) > 0)}
}

// appendProgress appends the values of progressColumns.
func appendProgress(args []any, e *trigger.Event) ([]any, error) {
	status, err := statusNumber(e.Status)
	if err != nil {
		return nil, err
	}
	var summary, data, failures any
	if e.Outcome != nil {
		summary, data = e.Outcome.Summary, file.Text(e.Outcome.Data, len(e.Outcome.Data) > 0)
	}
	if len(e.Failures) > 0 {
		text, err := json.Marshal(e.Failures)
		if err != nil {
			return nil, fmt.Errorf("sqlite: the attempts of an event: %w", err)
		}
		failures = string(text)
	}
	return append(args, status, e.Attempts, e.LastError, e.Generation, file.Micros(e.DueAt), file.Micros(e.WakeAt),
		file.Micros(e.StartedAt), file.Micros(e.FinishedAt), summary, data, failures,
		file.Blob(bytes.Clone(e.SupersededBy[:]), e.SupersededBy != uuid.Nil)), nil
}

// sameValue reports whether values of progressColumns are equal.
func sameValue(a, b any) bool {
	if id, ok := a.([]byte); ok {
		other, ok := b.([]byte)
		return ok && bytes.Equal(id, other)
	}
	return a == b
}

// sameContent reports whether the values of contentColumns are equal.
func sameContent(a, b *trigger.Event) bool {
	return a.Source == b.Source && a.Actor == b.Actor && a.Instructions == b.Instructions &&
		bytes.Equal(a.Context, b.Context) && (a.Context == nil) == (b.Context == nil) &&
		a.Collection == b.Collection && a.IdempotencyKey == b.IdempotencyKey && a.BodyDigest == b.BodyDigest &&
		maps.Equal(a.Trace, b.Trace) && (a.Trace == nil) == (b.Trace == nil) &&
		a.SupersedeKey == b.SupersedeKey && a.SupersedeSince.Equal(b.SupersedeSince)
}

// scanEvent reads a row of eventFields.
func scanEvent(r *file.Row, e *trigger.Event) (err error) {
	r.Blob(0, e.ID[:])
	e.Organization, e.SubmittedAt = r.Text(1), r.Moment(2)
	e.Source, e.Actor, e.Instructions, e.Context = r.Text(3), mortise.Actor(r.Text(4)), r.Text(5), r.Bytes(6)
	r.Blob(7, e.Collection[:])
	e.IdempotencyKey = r.Text(8)
	r.Blob(9, e.BodyDigest[:])
	if !r.Null(10) {
		if e.Trace, err = tracetext.Parse(r.Text(10)); err != nil {
			return err
		}
	}
	e.SupersedeKey, e.SupersedeSince = r.Text(11), r.Moment(12)
	if e.Status, err = statusOf(r, 13); err != nil {
		return err
	}
	e.Attempts, e.LastError, e.Generation = r.Number(14), r.Text(15), r.Number(16)
	e.DueAt, e.WakeAt, e.StartedAt, e.FinishedAt = r.Moment(17), r.Moment(18), r.Moment(19), r.Moment(20)
	if !r.Null(21) {
		e.Outcome = &trigger.Outcome{Summary: r.Text(21), Data: r.Bytes(22)}
	}
	if !r.Null(23) {
		if err := json.Unmarshal(r.Bytes(23), &e.Failures); err != nil {
			return fmt.Errorf("sqlite: a row is damaged: its failures: %w", err)
		}
	}
	r.Blob(24, e.SupersededBy[:])
	return nil
}
