package sqlite_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestUpdateOfOneField: there are two statements for an update, and each field has to be
// in the right one.
func TestUpdateOfOneField(t *testing.T) {
	tables := openAt(t, filetest.EmptyFile(t), nil).Trigger().Store.(*triggerdb.Store)
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for name, change := range map[string]func(e *trigger.Event){
		"Status":         func(e *trigger.Event) { e.Status = trigger.StatusFailed },
		"Source":         func(e *trigger.Event) { e.Source = "cron" },
		"Instructions":   func(e *trigger.Event) { e.Instructions = "Other." },
		"Context":        func(e *trigger.Event) { e.Context = json.RawMessage(`{"m":2}`) },
		"no Context":     func(e *trigger.Event) { e.Context = nil },
		"Collection":     func(e *trigger.Event) { e.Collection = uuid.UUID{3} },
		"StartedAt":      func(e *trigger.Event) { e.StartedAt = at },
		"FinishedAt":     func(e *trigger.Event) { e.FinishedAt = at },
		"Attempts":       func(e *trigger.Event) { e.Attempts = 7 },
		"LastError":      func(e *trigger.Event) { e.LastError = "no" },
		"Outcome":        func(e *trigger.Event) { e.Outcome = &trigger.Outcome{Data: json.RawMessage(`1`)} },
		"Generation":     func(e *trigger.Event) { e.Generation = 2 },
		"DueAt":          func(e *trigger.Event) { e.DueAt = at },
		"WakeAt":         func(e *trigger.Event) { e.WakeAt = at },
		"Actor":          func(e *trigger.Event) { e.Actor = "ann" },
		"Failures":       func(e *trigger.Event) { e.Failures = []trigger.Attempt{{Number: 1, StartedAt: at, Error: "no"}} },
		"SupersedeKey":   func(e *trigger.Event) { e.SupersedeKey = "k" },
		"SupersedeSince": func(e *trigger.Event) { e.SupersedeSince = at },
		"SupersededBy":   func(e *trigger.Event) { e.SupersededBy = uuid.UUID{5} },
		"IdempotencyKey": func(e *trigger.Event) { e.IdempotencyKey = "k" },
		"BodyDigest":     func(e *trigger.Event) { e.BodyDigest = [32]byte{4} },
		"Trace":          func(e *trigger.Event) { e.Trace = map[string]string{"a": "b"} },
		"empty Trace":    func(e *trigger.Event) { e.Trace = map[string]string{} },
	} {
		want := newEvent()
		want.SupersededBy = uuid.UUID{4} // which one change replaces
		_, _, err := tables.CreateEvent(t.Context(), want, time.Time{})
		require.NoError(t, err)
		require.NoError(t, tables.UpdateEvent(t.Context(), "acme", want.ID, func(e *trigger.Event) error { change(e); return nil }), name)
		change(&want)
		got, err := tables.Event(t.Context(), "acme", want.ID)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}

// TestPruneJobs: with an event go its dead jobs, however many events there are, and no
// job that may still run.
func TestPruneJobs(t *testing.T) {
	db := openAt(t, filetest.EmptyFile(t), nil)
	tables := db.Trigger().Store.(*triggerdb.Store)
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	const n = 250
	for range n {
		e := newEvent()
		e.Status, e.FinishedAt = trigger.StatusFailed, at
		_, _, err := tables.CreateEventAndAdd(t.Context(), e, time.Time{}, e.Job())
		require.NoError(t, err)
	}
	leases, err := db.Jobs().Claim(t.Context(), triggerClaim(n))
	require.NoError(t, err)
	require.Len(t, leases, n)
	for _, l := range leases[1:] {
		require.NoError(t, db.Jobs().Remove(t.Context(), l, true))
	}
	kept := newEvent()
	_, _, err = tables.CreateEventAndAdd(t.Context(), kept, time.Time{}, kept.Job())
	require.NoError(t, err)

	removed := 0
	for more := true; more; {
		var did int
		did, more, err = tables.Prune(t.Context(), trigger.StatusFailed, at.Add(time.Microsecond), at, 1000)
		require.NoError(t, err)
		removed += did
	}
	require.Equal(t, n, removed)
	for _, l := range leases[1:] {
		require.NoError(t, db.Jobs().Add(t.Context(), l.Job)) // nothing is in its place
	}
	found, err := db.Jobs().Claim(t.Context(), triggerClaim(2*n))
	require.NoError(t, err)
	require.Len(t, found, n, "the dead jobs, added again, and that of the event which stays")
}
