package triggerdb

import (
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

// submitted stores events with their jobs.
func submitted(t *testing.T, tables *Store, events ...trigger.Event) {
	t.Helper()
	for i := range events {
		_, created, err := tables.CreateEventAndAdd(t.Context(), events[i], time.Time{}, events[i].Job())
		require.NoError(t, err)
		require.True(t, created)
	}
}

// take claims all jobs of events.
func take(t *testing.T, db *DB) []mortise.Lease {
	t.Helper()
	leases, err := db.jobs.Claim(t.Context(), mortise.Claim{
		Token: uuid.New(), Kinds: []string{trigger.JobKind, "other"}, Limit: 2000, TTL: time.Hour,
	})
	require.NoError(t, err)
	return leases
}

// TestClaimReadsEvents: a claim keeps the events of the jobs that it takes, as a read gives
// them, but those that are large or finished; and only once it is on the disk.
func TestClaimReadsEvents(t *testing.T) {
	path := filetest.EmptyFile(t)
	others := openTrigger(t, path).trigger // so that the events come from another process
	plain, traced, large, ended, answered := someEvent(), someEvent(), someEvent(), someEvent(), someEvent()
	traced.Context, traced.Trace = []byte(`{"n":1}`), map[string]string{"a": "b"}
	traced.DueAt, traced.Generation, traced.LastError = traced.SubmittedAt, 12, "a\x00b"
	large.Instructions = strings.Repeat("x", 5000)
	ended.Status, ended.FinishedAt = trigger.StatusFailed, ended.SubmittedAt
	answered.Outcome = &trigger.Outcome{Summary: "Not yet."}
	submitted(t, others, plain, traced, large, ended, answered)
	for _, j := range []mortise.Job{
		{Kind: trigger.JobKind, Organization: "acme", ID: "short"},
		{Kind: trigger.JobKind, Organization: "acme", ID: strings.Repeat(`"`, 40)},
		{Kind: trigger.JobKind, Organization: "acme", ID: uuid.NewString() + "-0"},
		{Kind: "other", Organization: "acme", ID: plain.ID.String() + "-0"},
	} {
		require.NoError(t, others.jobs.Add(t.Context(), j))
	}

	db := openTrigger(t, path)
	tables := db.trigger
	broken := errors.New("broken")
	require.ErrorIs(t, db.Write(t.Context(), func(tx *file.Tx) error {
		l := mortise.Lease{Job: plain.Job()}
		return errors.Join(ReadAhead(tx, []mortise.Lease{l}), broken)
	}), broken)
	require.Zero(t, recently(db, t), "what was rolled back is not kept")

	require.Len(t, take(t, db), 9)
	require.Equal(t, 2, recently(db, t))
	for _, e := range []trigger.Event{plain, traced} {
		want, err := tables.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
			kept := recentOf(tx).byID[e.ID]
			require.NotNil(t, kept.versionedEvent)
			require.Equal(t, want, kept.event)
			version, err := eventVersion(tx, e.ID)
			require.Equal(t, version, kept.version)
			return err
		}))
	}
	// The other process has the last word.
	attempt(t, others, &plain)
	got, _ := seen(t, tables, plain.ID)
	require.Equal(t, trigger.StatusCompleted, got.Status)
}

// TestClaimOfADamagedEvent: the job of an event that cannot be read is claimed, and so are
// all others.
func TestClaimOfADamagedEvent(t *testing.T) {
	path := filetest.EmptyFile(t)
	others := openTrigger(t, path).trigger
	good, noStatus, noNumber := someEvent(), someEvent(), someEvent()
	submitted(t, others, noStatus, noNumber, good)
	require.NoError(t, others.db.Write(t.Context(), func(tx *file.Tx) error {
		_, err := tx.Exec("UPDATE trigger_events SET status = -7 WHERE id = ?", noStatus.ID[:])
		_, also := tx.Exec("UPDATE trigger_events SET attempts = 'x' WHERE id = ?", noNumber.ID[:])
		return errors.Join(err, also)
	}))
	db := openTrigger(t, path)
	require.Len(t, take(t, db), 3)
	require.Equal(t, 1, recently(db, t))
	got, _ := seen(t, db.trigger, good.ID)
	require.Equal(t, good.ID, got.ID)
}

// TestClaimReadsSoManyEvents: a claim of many jobs reads a bounded number of events.
func TestClaimReadsSoManyEvents(t *testing.T) {
	path := filetest.EmptyFile(t)
	others := openTrigger(t, path).trigger
	for range maxReadAhead + 50 {
		submitted(t, others, someEvent())
	}
	db := openTrigger(t, path)
	require.Len(t, take(t, db), maxReadAhead+50)
	require.Equal(t, maxReadAhead, recently(db, t))
}
