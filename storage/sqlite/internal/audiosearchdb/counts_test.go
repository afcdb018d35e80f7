package audiosearchdb

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// manyRuns opens a file in which an organization has so many runs, in every state and of
// every end.
func manyRuns(t testing.TB, n int) *DB {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)" +
		" INSERT INTO audiosearch_runs (" + runColumns + ") SELECT i, 'acme', i, 'ada', '{}', 'd1'," +
		" CASE i % 8 WHEN 0 THEN 'QUEUED' WHEN 1 THEN 'RUNNING' ELSE 'TERMINATED' END," +
		" CASE i % 8 WHEN 0 THEN '' WHEN 1 THEN '' WHEN 2 THEN 'CLIENT_ERROR'" +
		" WHEN 3 THEN 'INTERNAL_ERROR' ELSE 'SUCCESS' END," +
		" '', 0, 0, 0, i, i, NULL, NULL, i * 2, NULL, 0, 0, 0 FROM n"
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		_, err := tx.Exec(rows, n)
		return err
	}))
	return db
}

// TestCountsOfMany: a number that is just the limit is exact, and beyond it there is "at
// least".
func TestCountsOfMany(t *testing.T) {
	const limit = 500
	db := manyRuns(t, 8*limit)
	most, more := mortise.Count{N: limit}, mortise.Count{N: limit, More: true}
	counts, err := db.audiosearch.Counts(t.Context(), "acme", limit)
	require.NoError(t, err)
	require.Equal(t, audiosearch.Counts{
		Waiting: most, Running: most, Succeeded: more, ClientErrors: most, InternalErrors: most,
	}, counts)
	backlog, err := db.audiosearch.Backlog(t.Context(), limit-1)
	require.NoError(t, err)
	more.N--
	want := mortise.Backlog{Waiting: more, Running: more, NextDue: time.UnixMicro(16).UTC()}
	require.Equal(t, want, backlog)
}

// BenchmarkCounts: what a service asks, of an organization with so many runs.
func BenchmarkCounts(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := manyRuns(b, n)
			b.Run("Counts", func(b *testing.B) {
				for b.Loop() {
					_, err := db.audiosearch.Counts(b.Context(), "acme", mortise.MaxCount)
					require.NoError(b, err)
				}
			})
			b.Run("Backlog", func(b *testing.B) {
				for b.Loop() {
					_, err := db.audiosearch.Backlog(b.Context(), mortise.MaxCount)
					require.NoError(b, err)
				}
			})
		})
	}
}
