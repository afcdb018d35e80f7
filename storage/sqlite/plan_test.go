package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// planned opens a database with some thousands of rows, as one has that runs for a while.
// It never ran ANALYZE, as none does.
func planned(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	begun := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
		for i := range 4000 {
			e := trigger.Event{
				ID: uuid.New(), Organization: fmt.Sprint("org", i%3), Status: trigger.StatusCompleted, Source: "api",
				Instructions: "Document the --json flag.", SubmittedAt: begun.Add(time.Duration(i) * time.Second),
				FinishedAt: begun.Add(time.Duration(i+1) * time.Second), Generation: i % 2,
			}
			if i%50 == 0 {
				e.Status, e.FinishedAt = trigger.StatusReceived, time.Time{}
				e.UnqueuedSince = e.SubmittedAt
			}
			if i%10 == 0 {
				e.IdempotencyKey = fmt.Sprint("key", i)
			}
			args, err := eventArgs(&e, 0)
			if err != nil {
				return err
			}
			if _, err := tx.exec(insertEvent, args...); err != nil {
				return err
			}
			j := e.Job()
			if err := tx.addJob(db, newJobOf(&j)); err != nil {
				return err
			}
		}
		return nil
	}))
	return db
}

// plan returns the plan of a statement, a line for each node.
func (db *DB) plan(t *testing.T, statement string) []string {
	t.Helper()
	var lines []string
	args := make([]any, strings.Count(statement, "?"))
	if statement == staleChecked || statement == staleTogether { // whose arguments have numbers
		args = args[:3]
	}
	require.NoError(t, db.find(t.Context(), noOrg, "EXPLAIN QUERY PLAN "+statement, args, func(r *row) error {
		lines = append(lines, r.text(3))
		return nil
	}), statement)
	return lines
}

func requireNoScan(t *testing.T, statement string, plan []string) {
	t.Helper()
	for _, line := range plan {
		// This constant belongs to no table.
		scan := strings.HasPrefix(line, "SCAN") && line != "SCAN CONSTANT ROW"
		require.Falsef(t, scan, "%s\n%s", statement, strings.Join(plan, "\n"))
	}
}

func requireNoSort(t *testing.T, statement string, plan []string) {
	t.Helper()
	for _, line := range plan {
		require.NotContainsf(t, line, "TEMP B-TREE", "%s\n%s", statement, strings.Join(plan, "\n"))
	}
}

// TestPlans: no statement reads a whole table, and those that take the first of many rows
// find them in the order of an index.
func TestPlans(t *testing.T) {
	db := planned(t)
	for _, c := range []struct {
		statement string
		uses      string // which index
		sorts     string // why it may sort
	}{
		{eventByID, "sqlite_autoindex_trigger_events_1", ""},
		{eventByKey, "trigger_events_key", ""},
		{versionOfEvent, "sqlite_autoindex_trigger_events_1", ""},
		{releaseKey, "sqlite_autoindex_trigger_events_1", ""},
		{insertBody, "", ""},
		{removeBody, "sqlite_autoindex_trigger_bodies_1", ""},
		{updateContent, "sqlite_autoindex_trigger_events_1", ""},
		{unqueuedEvents, "trigger_events_unqueued", "only among those that wait since the same moment"},
		{pruned, "trigger_events_finished", "only among those that ended at the same moment"},
		{pruneEvents, "trigger_events_finished", "only among those that ended at the same moment"},
		{pruneJobs, "mortise_jobs_id", "only among those that ended at the same moment"},
		{staleChecked, "trigger_events_checked", ""},
		{staleTogether, "sqlite_autoindex_trigger_events_1", ""},
		{readyJobs, "mortise_jobs_later", ""},
		{nextOrg, "mortise_jobs_ready", ""},
		{firstOrg, "mortise_jobs_ready", ""},
		{firstJobs, "mortise_jobs_ready", ""},
		{takeJob, "PRIMARY KEY", ""},
		{cancelJob, "mortise_jobs_id", ""},
		{extendJob, "mortise_jobs_id", ""},
		{releaseJob, "mortise_jobs_id", ""},
		{buryJob, "mortise_jobs_id", ""},
		{removeJob, "mortise_jobs_id", ""},
		{organizationByID, "PRIMARY KEY", ""},
		{deleteCollections, "PRIMARY KEY", ""},
		{markTriggerDeleted, "", ""},
		{triggerDeletedSince, "PRIMARY KEY", ""},
		{removeAPIKeys, "trigger_api_keys_listing", ""},
		{removeCollections, "PRIMARY KEY (organization=?)", ""},
		{removeTriggerOrg, "PRIMARY KEY", ""},
		{triggerEventsToRemove, "trigger_events_status (organization=?)", ""},
		{removeEvent, "PRIMARY KEY", ""},
		{removeEventJobs, "mortise_jobs_id (id>? AND id<?)", ""},
		{keyByDigest, "PRIMARY KEY", ""},
		{keyByID, "sqlite_autoindex_trigger_api_keys_2", ""},
		{updateKey, "sqlite_autoindex_trigger_api_keys_2", ""},
		{keysOf, "trigger_api_keys_listing (organization=?)", ""},
		{keysAfter, "trigger_api_keys_listing (organization=? AND (created_at,id)>(?,?))", ""},
		{insertEvent, "", ""},
		{insertJob, "", ""},
	} {
		plan := db.plan(t, c.statement)
		t.Log(c.statement, "\n    ", strings.Join(plan, "\n     "))
		// max(seq) of release is the last row; SQLite calls it a search. Jobs that were
		// stored with their events are few where somebody asks for staleTogether, and
		// what pruneJobs scans is the events of one step.
		if c.statement != staleTogether && c.statement != pruneJobs {
			requireNoScan(t, c.statement, plan)
		}
		require.Contains(t, strings.Join(plan, "\n"), c.uses, c.statement)
		if c.sorts == "" {
			requireNoSort(t, c.statement, plan)
		} else {
			require.NotContains(t, plan, "USE TEMP B-TREE FOR ORDER BY", "%s sorts everything", c.statement)
		}
	}
}

// TestPlansOfList: whichever filters are combined, a page is read from an index in its
// order, as far as it goes, and nothing in between is left out.
func TestPlansOfList(t *testing.T) {
	db := planned(t)
	at := time.Date(2026, 11, 21, 12, 30, 0, 0, time.UTC)
	statuses := append([]trigger.Status{""}, trigger.Statuses()...)
	seen := make(map[string]int)
	for _, status := range statuses {
		for bits := range 1 << 5 {
			q := trigger.EventQuery{Status: status, Limit: 50}
			if bits&1 != 0 {
				q.From = at
			}
			if bits&2 != 0 {
				q.To = at.Add(time.Hour)
			}
			if bits&4 != 0 {
				q.After = mortise.Position{At: at.Add(30 * time.Minute), ID: uuid.UUID{1}}
			}
			if bits&8 != 0 {
				q.Source = "api"
			}
			if bits&16 != 0 {
				q.IdempotencyKey = "key10"
			}
			statement, _ := listStatement("org1", &q)
			plan := db.plan(t, statement)
			_, where, _ := strings.Cut(statement, " WHERE ")
			require.Equal(t, "MATERIALIZE page", plan[0], statement)
			tail := len(plan) - 8
			require.Equal(t, "SCAN page", plan[tail])
			require.Contains(t, plan[tail+1], "SCALAR SUBQUERY") // once for the statement
			require.Equal(t, []string{
				"SEARCH d USING PRIMARY KEY (organization=?)", "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)",
			}, plan[tail+2:tail+4])
			for i := tail + 4; i < len(plan); i += 2 { // instructions and context that stand apart
				require.Contains(t, plan[i], "CORRELATED SCALAR SUBQUERY")
				require.Equal(t, "SEARCH b USING INDEX sqlite_autoindex_trigger_bodies_1 (event=?)", plan[i+1])
			}
			var searches []string // one for each status that is asked for
			for _, line := range plan[1:tail] {
				if !strings.HasPrefix(line, "MERGE") && line != "LEFT" && line != "RIGHT" {
					searches = append(searches, line)
				}
			}
			requireNoScan(t, statement, searches)
			if q.IdempotencyKey != "" {
				// At most one event has the key. Whether its row is then "sorted" does
				// not matter.
				assert.Containsf(t, searches[0], "trigger_events_key ", "%s", where)
				seen[searches[0]]++
				continue
			}
			requireNoSort(t, statement, plan)
			index := "COVERING INDEX trigger_events_status (organization=? AND status=?"
			if q.Source != "" {
				index = "COVERING INDEX trigger_events_source (organization=? AND source=? AND status=?"
			}
			want := 1
			if status == "" {
				want = len(trigger.Statuses())
			}
			assert.Len(t, searches, want, where)
			for _, line := range searches {
				seen[line]++
				assert.Containsf(t, line, index, "%s", where)
				switch {
				// Otherwise each page would read again what the pages before it have shown.
				case !q.After.IsZero():
					assert.Containsf(t, line, "(submitted_at,id)<(?,?)", "%s does not begin after the last page", where)
				case !q.To.IsZero():
					assert.Containsf(t, line, "submitted_at<?", "%s does not begin at its bound", where)
				}
				if !q.From.IsZero() {
					assert.Containsf(t, line, "submitted_at>?", "%s does not end at its bound", where)
				}
			}
		}
	}
	for line, n := range seen {
		t.Logf("%3d %s", n, line)
	}
}

// TestNoBareLimits: see stmt.
func TestNoBareLimits(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.Greater(t, len(files), 100)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotRegexp(t, "LIMIT (\\?|\" \\+ bind)", string(text), "%s: SQLite compiles such a statement for each call", file)
	}
}
