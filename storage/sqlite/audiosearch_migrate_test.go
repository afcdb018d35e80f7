package sqlite

import (
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestMigrateRuns: the jobs of runs come along from the table that they had to that of
// all jobs: those that wait, for now or for later, with their order, and those that
// somebody holds, with their leases. A run that was stored and not queued gets a job.
func TestMigrateRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	require.NoError(t, create(path))
	conn := connectTo(t, path, url.Values{"_journal": {"WAL"}})
	require.NoError(t, migrate(t.Context(), conn, released(t, 4, "audiosearch")))
	require.Contains(t, schema(t, conn), "audiosearch 4")
	now := time.Now().UTC().Truncate(time.Microsecond)
	soon, later, hold := now.Add(-time.Minute), now.Add(time.Hour), uuid.UUID{9}
	run := func(id int64, org string, state audiosearch.State, finished any) {
		_, err := conn.exec(t.Context(), `INSERT INTO audiosearch_runs
			(id, organization, actor, query, state, termination, message, done, total, attempts,
			created_at, updated_at, started_at, finished_at, trace)
			VALUES (?, ?, 'ada', '{"Dataset":"d","Limit":40}', ?, '', '', 0, 0, 0, ?, ?, NULL, ?, 'k=v')`,
			id, org, string(state), soon.UnixMicro(), soon.UnixMicro(), finished)
		require.NoError(t, err)
	}
	job := func(seq, id int64, org string, at time.Time, token any, deliveries, ready int) {
		_, err := conn.exec(t.Context(), `INSERT INTO audiosearch_jobs
			(seq, run, organization, claimable_at, token, deliveries, ready)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, seq, id, org, at.UnixMicro(), token, deliveries, ready)
		require.NoError(t, err)
	}
	run(4, "acme", audiosearch.StateQueued, nil)
	job(1, 4, "acme", soon, nil, 0, 1)
	run(3, "acme", audiosearch.StateQueued, nil)
	job(2, 3, "acme", soon, nil, 2, 0) // which no claim has made ready yet
	run(5, "acme", audiosearch.StateQueued, nil)
	job(3, 5, "acme", later, nil, 1, 0)
	run(1<<53-1, "other", audiosearch.StateRunning, nil)
	job(4, 1<<53-1, "other", later, hold[:], 3, 0)
	run(6, "other", audiosearch.StatePending, nil)
	run(7, "other", audiosearch.StateTerminated, soon.UnixMicro())
	require.NoError(t, conn.close())

	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tables, jobs := &AudioSearch{db: db}, db.Jobs()
	get := func(org string, id int64) audiosearch.Run {
		r, err := tables.Run(t.Context(), org, id)
		require.NoError(t, err)
		return r
	}
	for id, due := range map[int64]time.Time{3: soon, 4: soon, 5: later} {
		r := get("acme", id)
		require.Equal(t, []any{due, audiosearch.StateQueued}, []any{r.DueAt, r.State})
		require.Zero(t, r.CheckedAt)
	}
	forgotten := get("other", 6)
	require.Equal(t, []any{soon, audiosearch.StateQueued}, []any{forgotten.DueAt, forgotten.State})
	require.Zero(t, get("other", 7).DueAt)

	claim := mortise.Claim{Token: uuid.New(), Kinds: []string{audiosearch.JobKind}, Limit: 10,
		TTL: time.Hour}
	leases, err := jobs.Claim(t.Context(), claim)
	require.NoError(t, err)
	var found []mortise.Lease
	for _, want := range []struct {
		org        string
		id         int64
		deliveries int
	}{{"acme", 4, 1}, {"other", 6, 1}, {"acme", 3, 3}} {
		r := audiosearch.Run{Organization: want.org, ID: want.id, Trace: map[string]string{"k": "v"}}
		found = append(found, mortise.Lease{Job: r.Job(), Deliveries: want.deliveries,
			Token: claim.Token})
	}
	require.Equal(t, found, leases, "organizations in turn, and those of one in their order")

	// Who held a job still does, and who had to wait still has to.
	held := get("other", 1<<53-1)
	require.NoError(t, jobs.Extend(t.Context(), mortise.Lease{Job: held.Job(), Token: hold},
		time.Nanosecond))
	waiting := get("acme", 5)
	require.NoError(t, jobs.Cancel(t.Context(), waiting.Job()))
	leases, err = jobs.Claim(t.Context(), claim)
	require.NoError(t, err)
	require.Len(t, leases, 1)
	require.Equal(t, 4, leases[0].Deliveries)
	leases, err = jobs.Claim(t.Context(), claim)
	require.NoError(t, err)
	require.Empty(t, leases)
}

// TestMigrateRunsWithoutAJob: a run that has not ended and has no job gets one, whatever
// became of the job that it had. Where the queue shares the store, nobody looks for it
// later.
func TestMigrateRunsWithoutAJob(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	require.NoError(t, create(path))
	conn := connectTo(t, path, url.Values{"_journal": {"WAL"}})
	require.NoError(t, migrate(t.Context(), conn, released(t, 4, "audiosearch")))
	at := time.Now().UTC().Add(-time.Minute).UnixMicro()
	states := []audiosearch.State{audiosearch.StatePending, audiosearch.StateQueued,
		audiosearch.StateRunning, audiosearch.StateTerminating}
	var want []string
	for i, state := range states {
		_, err := conn.exec(t.Context(), `INSERT INTO audiosearch_runs
			(id, organization, actor, query, state, termination, message, done, total, attempts,
			created_at, updated_at)
			VALUES (?, 'acme', 'ada', '{"Dataset":"d","Limit":40}', ?, '', '', 0, 0, 0, ?, ?)`,
			int64(i+1), string(state), at, at)
		require.NoError(t, err)
		want = append(want, strconv.Itoa(i+1))
	}
	require.NoError(t, conn.close())

	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	leases, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(),
		Kinds: []string{audiosearch.JobKind}, Limit: 10, TTL: time.Hour})
	require.NoError(t, err)
	var got []string
	for _, l := range leases {
		got = append(got, l.Job.ID)
	}
	require.Equal(t, want, got)
}
