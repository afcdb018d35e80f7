package sqlite_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
)

// TestUpdateOfOneField: there are two statements for an update, and each field has to be in the right one.
func TestUpdateOfOneField(t *testing.T) {
	tables := openAt(t, filepath.Join(t.TempDir(), "test.db"), nil).Trigger()
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
		"UnqueuedSince":  func(e *trigger.Event) { e.UnqueuedSince = at },
		"IdempotencyKey": func(e *trigger.Event) { e.IdempotencyKey = "k" },
		"BodyDigest":     func(e *trigger.Event) { e.BodyDigest = [32]byte{4} },
		"Trace":          func(e *trigger.Event) { e.Trace = map[string]string{"a": "b"} },
		"empty Trace":    func(e *trigger.Event) { e.Trace = map[string]string{} },
	} {
		want := newEvent()
		_, _, err := tables.Create(t.Context(), want, time.Time{})
		require.NoError(t, err)
		require.NoError(t, tables.Update(t.Context(), "acme", want.ID, func(e *trigger.Event) error { change(e); return nil }), name)
		change(&want)
		got, err := tables.Get(t.Context(), "acme", want.ID)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}

// TestReleasedJobGoesBehind: among jobs that are claimable since the same time, one that was given back comes last.
func TestReleasedJobGoesBehind(t *testing.T) {
	tables := openAt(t, filepath.Join(t.TempDir(), "test.db"), nil).Trigger()
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	first, second := newJob(), newJob()
	require.NoError(t, tables.Add(t.Context(), first, at))
	require.NoError(t, tables.Add(t.Context(), second, at))
	claim := func() trigger.Lease {
		leases, err := tables.Claim(t.Context(), uuid.New(), at, at.Add(time.Hour), 1)
		require.NoError(t, err)
		require.Len(t, leases, 1)
		return leases[0]
	}
	l := claim()
	require.Equal(t, first, l.Job)
	require.NoError(t, tables.Release(t.Context(), l, at))
	require.Equal(t, second, claim().Job)
	require.Equal(t, first, claim().Job)
}

// TestPruneJobs: with an event go its dead jobs, however many events there are, and no job that may still run.
func TestPruneJobs(t *testing.T) {
	db := openAt(t, filepath.Join(t.TempDir(), "test.db"), nil)
	tables := db.Trigger()
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	const n = 250
	for range n {
		e := newEvent()
		e.Status, e.FinishedAt = trigger.StatusFailed, at
		_, _, err := tables.CreateAndAdd(t.Context(), e, time.Time{}, e.Job(), at)
		require.NoError(t, err)
	}
	leases, err := tables.Claim(t.Context(), uuid.New(), at, at.Add(time.Hour), n)
	require.NoError(t, err)
	require.Len(t, leases, n)
	for _, l := range leases[1:] {
		require.NoError(t, tables.Remove(t.Context(), l, true))
	}
	kept := newEvent()
	_, _, err = tables.CreateAndAdd(t.Context(), kept, time.Time{}, kept.Job(), at)
	require.NoError(t, err)

	removed, err := tables.Prune(t.Context(), at.Add(time.Microsecond), 1000)
	require.NoError(t, err)
	require.Equal(t, n, removed)
	for _, l := range leases[1:] {
		require.NoError(t, tables.Add(t.Context(), l.Job, at.Add(time.Hour))) // nothing is in its place
	}
	found, err := tables.Claim(t.Context(), uuid.New(), at.Add(time.Hour), at.Add(2*time.Hour), 2*n)
	require.NoError(t, err)
	require.Len(t, found, n+1, "the dead jobs, added again, the job that was held, and that of the event which stays")
}
