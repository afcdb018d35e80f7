package audiosearchdb

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// TestListRunsBesideManyOthers: an organization's lists are right and by index, beside
// many runs of another one that are as old, of the same datasets and by the same people.
func TestListRunsBesideManyOthers(t *testing.T) {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const many, few = 30_000, 60
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		_, err := tx.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
			INSERT INTO audiosearch_runs (`+runColumns+`)
			SELECT i, iif(i % ?2, 'other', 'acme'), i, 'user' || (i % 3), '{"Dataset":"d' || (i % 2) || '"}',
			'd' || (i % 2), iif(i % 7, 'TERMINATED', 'RUNNING'), '', '', 0, 0, 0, i, i, NULL, NULL, NULL, NULL, 0, 0, 0
			FROM n`, many, many/few)
		return err
	}))
	whole, err := db.audiosearch.ListRuns(t.Context(), "acme", audiosearch.RunQuery{Limit: many})
	require.NoError(t, err)
	all := whole.Items
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
			page, err := db.audiosearch.ListRuns(t.Context(), "acme", q)
			require.NoError(t, err)
			got = append(got, page.Items...)
			if q.After = page.Next; q.After == "" {
				break
			}
			statement, args, err := listRuns("acme", &q)
			require.NoError(t, err)
			var plan []string
			explain := "EXPLAIN QUERY PLAN " + statement
			require.NoError(t, db.Find(t.Context(), file.NoOrg, explain, args, func(r *file.Row) error {
				plan = append(plan, r.Text(3))
				return nil
			}))
			require.Contains(t, plan[1], "(organization=?")
		}
		require.Equal(t, want, got)
	}
}
