package triggerdb

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// bodies returns how many events have a body of their own.
func bodies(db *DB, t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, db.Find(t.Context(), file.NoOrg, "SELECT count(*) FROM trigger_bodies", nil, func(r *file.Row) error {
		n = r.Number(0)
		return nil
	}))
	return n
}

// largeEvent has a submission of over a megabyte.
func largeEvent() trigger.Event {
	e := someEvent()
	e.Instructions = strings.Repeat("Document it. ", 80_000)
	e.Context = json.RawMessage(`"` + strings.Repeat("c", 100_000) + `"`)
	return e
}

// attempt changes an event as an attempt does that ends well.
func attempt(t *testing.T, tables *Store, e *trigger.Event) {
	t.Helper()
	require.NoError(t, tables.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error {
		e.Status, e.StartedAt = trigger.StatusProcessing, e.SubmittedAt
		e.Attempts++
		return nil
	}))
	require.NoError(t, tables.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error {
		e.Status, e.FinishedAt = trigger.StatusCompleted, e.SubmittedAt
		e.Outcome = &trigger.Outcome{Summary: "Done."}
		return nil
	}))
}

// TestAttemptLeavesTheBody: an attempt writes no submission again, however long it is.
func TestAttemptLeavesTheBody(t *testing.T) {
	path := filetest.EmptyFile(t)
	db := openTrigger(t, path)
	tables := db.trigger
	want := largeEvent()
	_, _, err := tables.CreateEvent(t.Context(), want, time.Time{})
	require.NoError(t, err)
	before, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.Greater(t, before.Size(), int64(len(want.Instructions)), "the submission is in the log, which was not begun anew")
	attempt(t, tables, &want)
	after, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.Less(t, after.Size()-before.Size(), int64(200_000), "bytes that an attempt wrote")

	got, err := tables.Event(t.Context(), "acme", want.ID)
	require.NoError(t, err)
	require.Equal(t, want.Instructions, got.Instructions)
	require.Equal(t, want.Context, got.Context)
	page, err := tables.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []trigger.Event{got}, page.Items)
}

// TestBodiesGoWithTheirEvents: a body is stored once, moves with its event's size, and
// goes when that goes.
func TestBodiesGoWithTheirEvents(t *testing.T) {
	db := openTrigger(t, filetest.EmptyFile(t))
	tables := db.trigger
	e := largeEvent()
	e.IdempotencyKey = "k"
	for range 2 { // the second one is the same event
		_, _, err := tables.CreateEvent(t.Context(), e, time.Time{})
		require.NoError(t, err)
	}
	require.Equal(t, 1, bodies(db, t))
	other := largeEvent()
	other.IdempotencyKey, other.SubmittedAt = "k", e.SubmittedAt.Add(time.Hour)
	_, created, err := tables.CreateEvent(t.Context(), other, other.SubmittedAt) // takes the key over
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, 2, bodies(db, t))

	for _, size := range []int{maxInline, maxInline + 1, 1 << 20, 1, 0} {
		require.NoError(t, tables.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error {
			e.Instructions, e.Context = strings.Repeat("x", size), nil
			return nil
		}))
		got, err := tables.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		require.Len(t, got.Instructions, size)
		require.Nil(t, got.Context)
		want := 1
		if size > maxInline {
			want = 2
		}
		require.Equal(t, want, bodies(db, t), size)
	}

	attempt(t, tables, &other)
	removed, _, err := tables.Prune(t.Context(), trigger.StatusCompleted, other.SubmittedAt.Add(time.Second), other.SubmittedAt.Add(time.Second), 10)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.Zero(t, bodies(db, t))

	// The sizes of bodies count: they go in steps.
	for range 20 {
		_, _, err := tables.CreateEvent(t.Context(), largeEvent(), time.Time{})
		require.NoError(t, err)
	}
	_, err = tables.MarkDeleted(t.Context(), "acme", e.SubmittedAt)
	require.NoError(t, err)
	step := &triggerRemoval{org: "acme", rows: file.PruneStep}
	require.NoError(t, db.Write(t.Context(), step.do))
	require.Less(t, bodies(db, t), 20)
	require.Greater(t, bodies(db, t), 5, "8 MB at a time")
	for more := true; more; {
		_, more, err = tables.RemoveDeleted(t.Context(), "acme", 1000)
		require.NoError(t, err)
	}
	require.Zero(t, bodies(db, t))
}

// TestProgressIsNamedOnce: an update writes each column of the progress in one part of it,
// and names no column of an index besides those that have changed. Its statements are few.
func TestProgressIsNamedOnce(t *testing.T) {
	db := openTrigger(t, filetest.EmptyFile(t))
	indexed := make(map[string]bool)
	const columns = "SELECT c.name FROM pragma_index_list('trigger_events') AS i, pragma_index_xinfo(i.name) AS c WHERE c.key AND c.name IS NOT NULL"
	require.NoError(t, db.Find(t.Context(), file.NoOrg, columns, nil, func(r *file.Row) error {
		indexed[r.Text(0)] = true
		return nil
	}))
	require.True(t, indexed["due_at"])
	var named []int
	for _, part := range progressParts {
		named = append(named, part...)
		require.True(t, len(part) == 1 || !slices.ContainsFunc(part, func(c int) bool { return indexed[progressNames[c]] }), part)
	}
	for _, c := range progressAlways {
		named = append(named, c)
		require.False(t, indexed[progressNames[c]], progressNames[c])
	}
	slices.Sort(named)
	for i, c := range named {
		require.Equal(t, i, c)
	}
	require.Len(t, named, len(progressNames))
	require.Len(t, progressStatements, 64)
}
