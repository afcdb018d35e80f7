package sqlite

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestPlansOfListRuns: whichever filters are combined, a page is read from an index in
// its order, from its position on, and within the organization.
func TestPlansOfListRuns(t *testing.T) {
	db := plannedAudioSearch(t)
	at := time.UnixMicro(2000).UTC()
	seen := make(map[string]int)
	for _, state := range []audiosearch.State{"", audiosearch.StateRunning, audiosearch.StateTerminated} {
		for bits := range 1 << 5 {
			q := audiosearch.RunQuery{State: state, Open: bits&1 != 0, Limit: 50}
			index, within := "audiosearch_runs_created", "organization=?"
			if bits&2 != 0 {
				q.Dataset, index, within = "dataset1", "audiosearch_runs_dataset", "organization=? AND dataset=?"
			}
			if bits&4 != 0 {
				q.Actor, index, within = "ada", "audiosearch_runs_actor", "organization=? AND actor=?"
			}
			if q.Open || state == audiosearch.StateRunning {
				index, within = "audiosearch_runs_waiting", "organization=?"
			}
			if bits&8 != 0 {
				q.From = at
				within += " AND created_at>?"
			}
			if bits&16 != 0 { // or each page would read again what the pages before it have shown
				q.After = (&audiosearch.Run{CreatedAt: at.Add(time.Millisecond), ID: 3000}).Position()
				within += " AND created_at<?"
			}
			statement, args := listRuns("org1", &q)
			// Once for all rows.
			plan := slices.DeleteFunc(db.planOf(t, statement, args), func(line string) bool {
				return line == "SCALAR SUBQUERY 1" || line == "SEARCH audiosearch_deleted USING PRIMARY KEY (organization=?)"
			})
			require.Equal(t, "MATERIALIZE page", plan[0], statement)
			require.NotContains(t, plan[1], "SCAN", statement)
			requireNoSort(t, statement, plan)
			assert.Contains(t, plan[1], "INDEX "+index+" ("+within+")", statement)
			require.Equal(t, []string{"SCAN page", "SEARCH audiosearch_runs USING INTEGER PRIMARY KEY (rowid=?)"},
				plan[2:4], statement)
			// Lists of all runs, and those of one actor over one dataset, pass over index
			// entries alone.
			if state == "" && !q.Open {
				assert.Contains(t, plan[1], "COVERING", statement)
			}
			seen[plan[1]]++
		}
	}
	for line, n := range seen {
		t.Logf("%3d %s", n, line)
	}
}

// planOf is plan for a statement whose arguments have numbers.
func (db *DB) planOf(t *testing.T, statement string, args []any) []string {
	t.Helper()
	var lines []string
	require.NoError(t, db.find(t.Context(), noOrg, "EXPLAIN QUERY PLAN "+statement, args, func(r *row) error {
		lines = append(lines, r.text(3))
		return nil
	}), statement)
	return lines
}

// TestListRunsBesideManyOthers: an organization's lists are right and by index, beside
// many runs of another one that are as old, of the same datasets and by the same people.
func TestListRunsBesideManyOthers(t *testing.T) {
	db, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const many, few = 30_000, 60
	require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
		_, err := tx.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
			INSERT INTO audiosearch_runs (`+runColumns+`)
			SELECT i, iif(i % ?2, 'other', 'acme'), i, 'user' || (i % 3), '{"Dataset":"d' || (i % 2) || '"}',
			'd' || (i % 2), iif(i % 7, 'TERMINATED', 'RUNNING'), '', '', 0, 0, 0, i, i, NULL, NULL, NULL, NULL, 0, 0, 0
			FROM n`, many, many/few)
		return err
	}))
	all, err := db.AudioSearch().Store.ListRuns(t.Context(), "acme", audiosearch.RunQuery{Limit: many})
	require.NoError(t, err)
	require.Len(t, all, few)
	for _, q := range []audiosearch.RunQuery{
		{}, {Dataset: "d0"}, {Actor: "user0"}, {Open: true}, {State: audiosearch.StateTerminated},
		{Dataset: "d0", Actor: "user0", Open: true}, {Dataset: "d1"}, {From: time.UnixMicro(many / 2)},
	} {
		q.Limit = 7
		var got, want []audiosearch.Run
		for i := range all {
			if q.Matches(&all[i]) {
				want = append(want, all[i])
			}
		}
		for {
			page, err := db.AudioSearch().Store.ListRuns(t.Context(), "acme", q)
			require.NoError(t, err)
			got = append(got, page...)
			if len(page) < q.Limit {
				break
			}
			q.After = page[len(page)-1].Position()
			statement, args := listRuns("acme", &q)
			require.Contains(t, db.planOf(t, statement, args)[1], "(organization=?")
		}
		require.Equal(t, want, got)
	}
}
