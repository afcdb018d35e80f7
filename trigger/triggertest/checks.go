package triggertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

const (
	orgA = "org-a"
	orgB = "org-b"
)

// moment returns a time of the suites' own calendar.
func moment(d time.Duration) time.Time { return conformance.Moment(d) }

// window is a keySince that all moments from 0 on are after.
func window() time.Time { return moment(-24 * time.Hour) }

// plainEvent returns a new event with nothing optional in it.
func plainEvent(org string, submitted time.Duration) trigger.Event {
	return trigger.Event{
		ID: uuid.New(), Organization: org, Status: trigger.StatusReceived, Source: "api",
		Instructions: "Describe the new flag.", SubmittedAt: moment(submitted),
	}
}

// keyedEvent returns a new event with an idempotency key.
func keyedEvent(org, key string, submitted time.Duration) trigger.Event {
	e := plainEvent(org, submitted)
	e.IdempotencyKey, e.BodyDigest = key, [32]byte{1, 2, 3}
	return e
}

// filledEvent returns a new event whose every field is set.
func filledEvent(org string) trigger.Event {
	e := keyedEvent(org, "key-1", 0)
	e.Status = trigger.StatusCompleted
	e.Source = "nightly"
	e.Context = json.RawMessage(`{"repository": "docs", "pull_request": 7}`)
	e.Collection = uuid.New()
	e.Actor = "client:ci"
	e.StartedAt, e.FinishedAt = moment(time.Microsecond), moment(3*time.Second)
	e.DueAt, e.WakeAt = moment(4*time.Second), moment(5*time.Second+time.Microsecond)
	e.Attempts, e.Generation = 3, 2
	e.Failures = []trigger.Attempt{
		{Number: 1, StartedAt: moment(time.Microsecond), EndedAt: moment(time.Second), Error: "no answer <é>"},
		{Number: 2, StartedAt: moment(2 * time.Second)},
	}
	e.SupersedeKey, e.SupersedeSince, e.SupersededBy = "branch/main", moment(-time.Second), uuid.New()
	e.LastError = "the model did not answer"
	e.Outcome = &trigger.Outcome{Summary: "Two pages changed.", Data: json.RawMessage(`[1, "two"]`)}
	for i := range e.BodyDigest {
		e.BodyDigest[i] = byte(255 - i)
	}
	e.Trace = map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": ""}
	return e
}

// create stores an event that must be new.
func (s *subject) create(t *testing.T, e trigger.Event) trigger.Event {
	t.Helper()
	stored, created, err := s.Store.CreateEvent(t.Context(), e, window())
	require.NoError(t, err)
	require.True(t, created,
		"CreateEvent returned created false for a new event of organization %q with key %q",
		e.Organization, e.IdempotencyKey)
	return stored
}

// get reads an event that must be there.
func (s *subject) get(t *testing.T, e trigger.Event) trigger.Event {
	t.Helper()
	stored, err := s.Store.Event(t.Context(), e.Organization, e.ID)
	require.NoError(t, err, "Store.Event of an event that is there")
	return stored
}

// update changes an event that must be there.
func (s *subject) update(t *testing.T, e trigger.Event, change func(*trigger.Event)) {
	t.Helper()
	require.NoError(t, s.Store.UpdateEvent(t.Context(), e.Organization, e.ID, func(e *trigger.Event) error {
		change(e)
		return nil
	}))
}

// sameEvent compares all fields. Times must be the same instant, and in UTC. An
// empty Trace equals a nil one, and so do empty Failures.
func sameEvent(t *testing.T, want, got trigger.Event) {
	t.Helper()
	want, got = want.Clone(), got.Clone()
	conformance.SameTime(t, "SubmittedAt", want.SubmittedAt, &got.SubmittedAt)
	conformance.SameTime(t, "StartedAt", want.StartedAt, &got.StartedAt)
	conformance.SameTime(t, "FinishedAt", want.FinishedAt, &got.FinishedAt)
	conformance.SameTime(t, "DueAt", want.DueAt, &got.DueAt)
	conformance.SameTime(t, "WakeAt", want.WakeAt, &got.WakeAt)
	conformance.SameTime(t, "SupersedeSince", want.SupersedeSince, &got.SupersedeSince)
	require.Len(t, got.Failures, len(want.Failures), "Failures")
	for i := range want.Failures {
		conformance.SameTime(t, "StartedAt of a failure", want.Failures[i].StartedAt, &got.Failures[i].StartedAt)
		conformance.SameTime(t, "EndedAt of a failure", want.Failures[i].EndedAt, &got.Failures[i].EndedAt)
	}
	if len(want.Trace) == 0 && len(got.Trace) == 0 {
		want.Trace, got.Trace = nil, nil
	}
	if len(want.Failures) == 0 && len(got.Failures) == 0 {
		want.Failures, got.Failures = nil, nil
	}
	conformance.Same(t, want, got)
}

// ids returns the IDs of events, in their order.
func ids(events []trigger.Event) []uuid.UUID {
	return conformance.Each(events, func(x *trigger.Event) uuid.UUID { return x.ID })
}

// inOrder requires IDs in this order. A failure names each by its place in want.
func inOrder(t *testing.T, want, got []uuid.UUID, what string, args ...any) {
	t.Helper()
	if slices.Equal(want, got) {
		return
	}
	places := func(list []uuid.UUID) string {
		var names []string
		for _, id := range list {
			name := "another"
			if i := slices.Index(want, id); i >= 0 {
				name = strconv.Itoa(i + 1)
			}
			names = append(names, name)
		}
		return cmp.Or(strings.Join(names, " "), "none")
	}
	t.Fatalf("%s: want %s, got %s", fmt.Sprintf(what, args...), places(want), places(got))
}

// spoil changes everything in an event that a shallow copy shares.
func spoil(e *trigger.Event) {
	for i := range e.Context {
		e.Context[i] = '!'
	}
	if e.Outcome != nil {
		for i := range e.Outcome.Data {
			e.Outcome.Data[i] = '!'
		}
		e.Outcome.Summary = "spoiled"
	}
	for i := range e.Failures {
		e.Failures[i].Error = "spoiled"
	}
	for k := range e.Trace {
		e.Trace[k] = "spoiled"
	}
	if e.Trace != nil {
		e.Trace["spoiled"] = "yes"
	}
}

// sentinels are the errors that say something else than "unavailable".
func sentinels() []error {
	return []error{
		mortise.ErrNotFound, trigger.ErrNotConfigured, trigger.ErrNoEligibleCollection, trigger.ErrIdempotencyKeyReused,
		trigger.ErrEnqueueFailed, trigger.ErrInvalidKey, trigger.ErrNotCancellable, trigger.ErrNotRetryable, trigger.ErrNotRunnable, mortise.ErrLeaseLost, mortise.ErrExists, mortise.ErrDeleted,
	}
}

// isFailure requires an error that callers take for "unavailable".
func isFailure(t *testing.T, call string, err error) {
	t.Helper()
	conformance.IsFailure(t, call, err, sentinels())
}
