package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// manyCounted opens a file in which an organization has as many videos as are asked for,
// and runs in every state and of every end.
func manyCounted(t testing.TB, videos, runs int) *DB {
	db, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) INSERT INTO "
	require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
		for statement, n := range map[string]int{
			"audiosearch_datasets SELECT i, 'acme', 'd' || i, i, 1, 0 FROM n":                        3,
			"audiosearch_videos SELECT i, i % 3 + 1, 'v' || i, 'a path of some length', NULL FROM n": videos,
			"audiosearch_runs (" + runColumns + ") SELECT i, 'acme', i, 'ada', '{}', 'd1'," +
				" CASE i % 8 WHEN 0 THEN 'QUEUED' WHEN 1 THEN 'RUNNING' ELSE 'TERMINATED' END," +
				" CASE i % 8 WHEN 0 THEN '' WHEN 1 THEN '' WHEN 2 THEN 'CLIENT_ERROR'" +
				" WHEN 3 THEN 'INTERNAL_ERROR' ELSE 'SUCCESS' END," +
				" '', 0, 0, 0, i, i, NULL, NULL, i * 2, NULL, 0, 0, 0 FROM n": runs,
		} {
			if _, err := tx.exec(rows+statement, n); err != nil {
				return err
			}
		}
		return nil
	}))
	return db
}

// TestStatsOfMany: a number that is just the limit is exact, and beyond it there is "at
// least".
func TestStatsOfMany(t *testing.T) {
	const limit = 500
	db := manyCounted(t, limit+1, 8*limit)
	most, more := mortise.Count{N: limit}, mortise.Count{N: limit, More: true}
	stats, err := db.AudioSearch().Store.Stats(t.Context(), "acme", limit)
	require.NoError(t, err)
	require.Equal(t, audiosearch.Stats{
		Datasets: mortise.Count{N: 3}, Videos: more, Waiting: most, Running: most,
		Succeeded: more, ClientErrors: most, InternalErrors: most, OldestWaiting: time.UnixMicro(8).UTC(),
	}, stats)
	open, err := db.AudioSearch().Store.StatsAll(t.Context(), limit-1)
	require.NoError(t, err)
	more.N--
	want := audiosearch.AllStats{Waiting: more, Running: more, NextDue: time.UnixMicro(16).UTC()}
	require.Equal(t, want, open)
}

// BenchmarkStats: what a service asks, of an organization with so many videos and runs.
func BenchmarkStats(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := manyCounted(b, n, n)
			b.Run("Stats", func(b *testing.B) {
				for b.Loop() {
					_, err := db.AudioSearch().Store.Stats(b.Context(), "acme", mortise.MaxCount)
					require.NoError(b, err)
				}
			})
			b.Run("StatsAll", func(b *testing.B) {
				for b.Loop() {
					_, err := db.AudioSearch().Store.StatsAll(b.Context(), mortise.MaxCount)
					require.NoError(b, err)
				}
			})
		})
	}
}
