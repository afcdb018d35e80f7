package triggerdb

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// seen returns the event as an update sees it, which it leaves as it is.
func seen(t *testing.T, tables *Store, id uuid.UUID) (e trigger.Event, calls int) {
	t.Helper()
	require.NoError(t, tables.UpdateEvent(t.Context(), "acme", id, func(stored *trigger.Event) error {
		e, calls = stored.Clone(), calls+1
		stored.Attempts++
		return nil
	}))
	return e, calls
}

// recently returns how many events the writer keeps.
func recently(db *DB, t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		n = len(recentOf(tx).byID)
		return nil
	}))
	return n
}

// TestRecentEventsAreAsRead: what an update sees is what a read gives, whether the event
// is kept or not.
func TestRecentEventsAreAsRead(t *testing.T) {
	db := openTrigger(t, filetest.EmptyFile(t))
	tables := db.trigger
	at := time.Date(2026, 11, 22, 1, 2, 3, 456_789, time.FixedZone("", 3600)) // 456.789 microseconds
	for name, change := range map[string]func(e *trigger.Event){
		"nothing":      func(*trigger.Event) {},
		"SubmittedAt":  func(e *trigger.Event) { e.SubmittedAt = at },
		"StartedAt":    func(e *trigger.Event) { e.StartedAt = at },
		"DueAt":        func(e *trigger.Event) { e.DueAt = at },
		"WakeAt":       func(e *trigger.Event) { e.WakeAt = at },
		"Actor":        func(e *trigger.Event) { e.Actor = "ann\x00\xff" },
		"SupersedeKey": func(e *trigger.Event) { e.SupersedeKey, e.SupersedeSince = "k\x00", at },
		"SupersededBy": func(e *trigger.Event) { e.SupersededBy = uuid.UUID{5} },
		"Failures": func(e *trigger.Event) {
			e.Failures = []trigger.Attempt{{Number: 1, StartedAt: at, Error: "a\x00\xff"}, {Number: 2, EndedAt: at.UTC()}}
		},
		"empty Failures": func(e *trigger.Event) { e.Failures = []trigger.Attempt{} },
		"FinishedAt":     func(e *trigger.Event) { e.FinishedAt = at },
		"Status":         func(e *trigger.Event) { e.Status = trigger.StatusProcessing },
		"Context":        func(e *trigger.Event) { e.Context = json.RawMessage(`{"m":2}`) },
		"empty Context":  func(e *trigger.Event) { e.Context = json.RawMessage{} },
		"Collection":     func(e *trigger.Event) { e.Collection = uuid.UUID{3} },
		"IdempotencyKey": func(e *trigger.Event) { e.IdempotencyKey = "k" },
		"BodyDigest":     func(e *trigger.Event) { e.BodyDigest = [32]byte{4} },
		"Trace":          func(e *trigger.Event) { e.Trace = map[string]string{"a": "b\x00", "": "\xff"} },
		"empty Trace":    func(e *trigger.Event) { e.Trace = map[string]string{} },
		"LastError":      func(e *trigger.Event) { e.LastError = "a\x00b" },
		"Outcome":        func(e *trigger.Event) { e.Outcome = &trigger.Outcome{Data: json.RawMessage{}} },
		"large":          func(e *trigger.Event) { e.Instructions = strings.Repeat("x", 5000) },
		"finished":       func(e *trigger.Event) { e.Status, e.FinishedAt = trigger.StatusFailed, at },
	} {
		e := someEvent()
		change(&e)
		_, _, err := tables.CreateEvent(t.Context(), e, time.Time{})
		require.NoError(t, err)
		for range 3 { // as it was created, and as an update left it
			want, err := tables.Event(t.Context(), "acme", e.ID)
			require.NoError(t, err)
			got, calls := seen(t, tables, e.ID)
			require.Equal(t, want, got, name)
			require.Equal(t, 1, calls, name)
		}
		require.NoError(t, tables.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error { change(e); e.Attempts++; return nil }))
		want, err := tables.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		got, _ := seen(t, tables, e.ID)
		require.Equal(t, want, got, name)
		// Of the same key there is one event only.
		require.NoError(t, tables.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error { e.IdempotencyKey = ""; return nil }))
	}
}

// TestRecentEventOfAnotherProcess: an event that another process has changed is read, and
// the update called again, whatever the first call did.
func TestRecentEventOfAnotherProcess(t *testing.T) {
	path := filetest.EmptyFile(t)
	db, other := openTrigger(t, path), openTrigger(t, path)
	tables, others := db.trigger, other.trigger
	refused := errors.New("refused")
	for name, update := range map[string]func(e *trigger.Event) error{
		"writes":       func(e *trigger.Event) error { e.LastError = "mine"; return nil },
		"is content":   func(e *trigger.Event) error { e.Source = "cron"; return nil },
		"does nothing": func(*trigger.Event) error { return nil },
		"fails": func(e *trigger.Event) error {
			if e.Attempts == 7 {
				return nil
			}
			return refused
		},
	} {
		e := someEvent()
		_, _, err := tables.CreateEvent(t.Context(), e, time.Time{})
		require.NoError(t, err)
		require.Equal(t, 1, recently(db, t), name)
		require.NoError(t, others.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error { e.Attempts = 7; return nil }))
		var saw []int
		require.NoError(t, tables.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error {
			saw = append(saw, e.Attempts)
			return update(e)
		}), name)
		require.Equal(t, []int{0, 7}, saw, name)
		got, err := tables.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		require.Equal(t, 7, got.Attempts, name)
		if name == "writes" {
			require.Equal(t, "mine", got.LastError)
		}
		require.NoError(t, others.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error {
			e.Status, e.FinishedAt = trigger.StatusFailed, e.SubmittedAt
			return nil
		}))
		_, _, err = others.Prune(t.Context(), trigger.StatusFailed, e.SubmittedAt.Add(time.Second), e.SubmittedAt.Add(time.Second), 10)
		require.NoError(t, err)
		err = tables.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error { e.Attempts++; return nil })
		require.ErrorIs(t, err, mortise.ErrNotFound, "%s: it was removed meanwhile", name)
	}
}

// TestJobsOfTheLastUpdate: of an update that is called again, because another process has
// changed the event, the jobs of the last call are added.
func TestJobsOfTheLastUpdate(t *testing.T) {
	path := filetest.EmptyFile(t)
	db, others := openTrigger(t, path), openTrigger(t, path).trigger
	e := someEvent()
	_, _, err := db.trigger.CreateEvent(t.Context(), e, time.Time{})
	require.NoError(t, err)
	require.NoError(t, others.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error { e.Generation = 7; return nil }))
	require.NoError(t, db.trigger.UpdateEventAndJobs(t.Context(), "acme", e.ID, func(e *trigger.Event) ([]mortise.Job, error) {
		e.Generation++
		return []mortise.Job{e.Job()}, nil
	}, mortise.Lease{}, false))
	leases := take(t, db)
	require.Len(t, leases, 1)
	e.Generation = 8
	require.Equal(t, e.Job().ID, leases[0].Job.ID)
}

// TestRecentEventCreatedAgain: an event that another process has removed, and then created
// again with the same ID, is not taken for the one that is kept.
func TestRecentEventCreatedAgain(t *testing.T) {
	path := filetest.EmptyFile(t)
	tables, others := openTrigger(t, path).trigger, openTrigger(t, path).trigger
	e := someEvent()
	_, _, err := tables.CreateEvent(t.Context(), e, time.Time{})
	require.NoError(t, err)
	attempt(t, others, &e)
	removed, _, err := others.Prune(t.Context(), trigger.StatusCompleted, e.SubmittedAt.Add(time.Second), e.SubmittedAt.Add(time.Second), 10)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	e.Instructions = "Document something else."
	_, created, err := others.CreateEvent(t.Context(), e, time.Time{})
	require.NoError(t, err)
	require.True(t, created)
	var saw string
	require.NoError(t, tables.UpdateEvent(t.Context(), "acme", e.ID, func(stored *trigger.Event) error {
		saw, stored.Attempts = stored.Instructions, 1
		return nil
	}))
	require.Equal(t, e.Instructions, saw)
}

// TestRecentEventsAreThoseOnTheDisk: what was rolled back is not kept, nor what is
// finished, nor more than so many.
func TestRecentEventsAreThoseOnTheDisk(t *testing.T) {
	db := openTrigger(t, filetest.EmptyFile(t))
	tables := db.trigger
	e := someEvent()
	_, _, err := tables.CreateEvent(t.Context(), e, time.Time{})
	require.NoError(t, err)
	broken := errors.New("broken")
	require.ErrorIs(t, db.Write(t.Context(), func(tx *file.Tx) error {
		err := updateEvent(tx, "acme", e.ID, func(e *trigger.Event) error { e.LastError = "never"; return nil })
		return errors.Join(err, broken)
	}), broken)
	got, _ := seen(t, tables, e.ID)
	require.Empty(t, got.LastError)

	calls := 0
	require.ErrorIs(t, tables.UpdateEvent(t.Context(), "acme", e.ID, func(*trigger.Event) error { calls++; return broken }), broken)
	require.Equal(t, 1, calls, "nobody has changed it")

	attempt(t, tables, &e)
	require.Zero(t, recently(db, t), "it is finished")
	for range 1500 {
		_, _, err := tables.CreateEvent(t.Context(), someEvent(), time.Time{})
		require.NoError(t, err)
	}
	require.Equal(t, 1024, recently(db, t))
	got, _ = seen(t, tables, e.ID)
	require.Equal(t, trigger.StatusCompleted, got.Status)
}
