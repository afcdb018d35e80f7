package triggerdb

import (
	"fmt"
	"path/filepath"
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

// openTrigger opens a database that the test's end closes.
func openTrigger(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// fillTrigger puts one of each thing into an organization, and so many events with their
// jobs. It returns the API key.
func fillTrigger(t *testing.T, db *DB, org string, events int) trigger.APIKey {
	t.Helper()
	tables := db.trigger
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i := range events {
		e := trigger.Event{
			ID: uuid.New(), Organization: org, Status: trigger.StatusReceived, Source: "api", Instructions: "x",
			SubmittedAt: at, IdempotencyKey: fmt.Sprint(i),
		}
		_, created, err := tables.CreateEventAndAdd(t.Context(), e, at, e.Job())
		require.NoError(t, err)
		require.True(t, created)
	}
	require.NoError(t, tables.UpdateOrganization(t.Context(), org, func(o *trigger.Organization) error {
		o.SetupComplete = true
		o.SetCollection(uuid.UUID{1}, true)
		o.SetCollection(uuid.UUID{2}, false)
		return nil
	}))
	id := uuid.New()
	k := trigger.APIKey{ID: id, Organization: org, Digest: [32]byte(append(id[:], id[:]...)), CreatedAt: at}
	require.NoError(t, tables.CreateKey(t.Context(), k))
	return k
}

// triggerRowsOf returns how many rows name an organization, by table.
func triggerRowsOf(t *testing.T, db *DB, org string) map[string]int {
	t.Helper()
	rows := make(map[string]int)
	for table, column := range map[string]string{
		"trigger_events": "organization", "trigger_organizations": "id", "trigger_collections": "organization",
		"trigger_api_keys": "organization", "trigger_deleted": "organization", "mortise_jobs": "organization",
	} {
		query := "SELECT count(*) FROM " + table + " WHERE " + column + " = ?"
		require.NoError(t, db.Find(t.Context(), file.NoOrg, query, []any{org}, func(r *file.Row) error {
			if n := r.Number(0); n > 0 {
				rows[table] = n
			}
			return nil
		}))
	}
	return rows
}

// TestTriggerTablesOfRowsOf: triggerRowsOf knows every table of package trigger.
func TestTriggerTablesOfRowsOf(t *testing.T) {
	db := openTrigger(t, filetest.EmptyFile(t))
	fillTrigger(t, db, "acme", 1)
	_, err := db.trigger.MarkDeleted(t.Context(), "acme", time.Now())
	require.NoError(t, err)
	known := triggerRowsOf(t, db, "acme")
	require.Len(t, known, 6)
	const tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'trigger%'"
	require.NoError(t, db.Find(t.Context(), file.NoOrg, tables, nil, func(r *file.Row) error {
		if r.Text(0) != "trigger_bodies" { // whose rows go with their events
			require.Contains(t, known, r.Text(0))
		}
		return nil
	}))
}

// TestTriggerRemoveDeleted: at the end nothing is left but the mark, also of a held job,
// and what another organization has is whole.
func TestTriggerRemoveDeleted(t *testing.T) {
	db := openTrigger(t, filetest.EmptyFile(t))
	const events = 2*file.PruneStep + 7
	fillTrigger(t, db, "acme", events)
	fillTrigger(t, db, "acme2", 3)
	other := triggerRowsOf(t, db, "acme2")
	claim := mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Hour}
	_, err := db.jobs.Claim(t.Context(), claim)
	require.NoError(t, err)
	_, err = db.trigger.MarkDeleted(t.Context(), "acme", time.Now())
	require.NoError(t, err)
	left := 2*events + 1 + 2 + 1
	for more := true; more; {
		_, more, err = db.trigger.RemoveDeleted(t.Context(), "acme", file.PruneStep+50) // which does a part
		require.NoError(t, err)
		n := 0
		for table, rows := range triggerRowsOf(t, db, "acme") {
			if table != "trigger_deleted" {
				n += rows
			}
		}
		require.Equal(t, max(0, left-file.PruneStep), n)
		left = n
	}
	require.Equal(t, map[string]int{"trigger_deleted": 1}, triggerRowsOf(t, db, "acme"))
	require.Equal(t, other, triggerRowsOf(t, db, "acme2"))
}

// TestTriggerRemoveDeletedBytes: a transaction takes few large events, and one at least.
func TestTriggerRemoveDeletedBytes(t *testing.T) {
	db := openTrigger(t, filetest.EmptyFile(t))
	large := strings.Repeat("x", removeEventBytes/4+1)
	for i := range 10 {
		e := trigger.Event{
			ID: uuid.New(), Organization: "acme", Status: trigger.StatusReceived, Instructions: large,
			SubmittedAt: time.Unix(int64(i), 0),
		}
		_, _, err := db.trigger.CreateEvent(t.Context(), e, time.Time{})
		require.NoError(t, err)
	}
	_, err := db.trigger.MarkDeleted(t.Context(), "acme", time.Now())
	require.NoError(t, err)
	for _, want := range []triggerRemoval{{removed: 4, more: true}, {removed: 4, more: true}, {removed: 2}} {
		r := &triggerRemoval{org: "acme", rows: file.PruneStep}
		require.NoError(t, db.Write(t.Context(), r.do))
		want.org, want.rows = r.org, r.rows
		require.Equal(t, want, *r)
	}
}

// TestTriggerDeletedElsewhere: another handle on the file, as another process has, sees a
// mark at once, whatever it has read before.
func TestTriggerDeletedElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	var handles [2]*DB
	for i := range handles {
		handles[i] = openTrigger(t, path)
	}
	here, there := handles[0].trigger, handles[1].trigger
	k := fillTrigger(t, handles[1], "acme", 2)
	page, err := there.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	_, err = there.KeyByDigest(t.Context(), k.Digest)
	require.NoError(t, err)

	since, err := here.MarkDeleted(t.Context(), "acme", time.Unix(1, 0))
	require.NoError(t, err)
	_, err = there.KeyByDigest(t.Context(), k.Digest)
	require.ErrorIs(t, err, mortise.ErrNotFound)
	_, err = there.Event(t.Context(), "acme", page.Items[0].ID)
	require.ErrorIs(t, err, mortise.ErrNotFound)
	_, _, err = there.CreateEvent(t.Context(), page.Items[0], time.Time{})
	require.ErrorIs(t, err, mortise.ErrDeleted)
	again, err := there.MarkDeleted(t.Context(), "acme", time.Unix(2, 0))
	require.NoError(t, err)
	require.Equal(t, since, again)
	_, more, err := there.RemoveDeleted(t.Context(), "acme", 1000)
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, map[string]int{"trigger_deleted": 1}, triggerRowsOf(t, handles[0], "acme"))
}
