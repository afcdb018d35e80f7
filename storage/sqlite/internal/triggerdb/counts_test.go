package triggerdb

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// manyEvents opens a file in which ten organizations have as many events together as are
// asked for. Of ten of each, two wait, of which one is due at no time, one is running,
// two have failed and five are completed.
func manyEvents(t testing.TB, n int) *DB {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const rows = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)" +
		" INSERT INTO trigger_events (id, organization, submitted_at, source, instructions, status," +
		" attempts, last_error, generation, submitted_by, due_at)" +
		" SELECT unhex(printf('%032x', i)), 'org' || (i % 10), 1 + i, 'api', 'Document the --json flag.'," +
		" CASE i / 10 % 10 WHEN 0 THEN 0 WHEN 1 THEN 0 WHEN 2 THEN 1 WHEN 3 THEN 3 WHEN 4 THEN 3 ELSE 2 END," +
		" 0, '', 0, '', iif(i / 10 % 10 = 0, NULL, 2 * i) FROM n"
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		_, err := tx.Exec(rows, n)
		return err
	}))
	return db
}

// TestTriggerCountsOfMany: a number that is just the limit is exact, and beyond it there
// is "at least".
func TestTriggerCountsOfMany(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	db := manyEvents(t, 100_000)
	for most, want := range map[int]trigger.Counts{
		5000: {Waiting: mortise.Count{N: 2000}, Running: mortise.Count{N: 1000},
			Completed: mortise.Count{N: 5000}, Failed: mortise.Count{N: 2000}},
		2000: {Waiting: mortise.Count{N: 2000}, Running: mortise.Count{N: 1000},
			Completed: mortise.Count{N: 2000, More: true}, Failed: mortise.Count{N: 2000}},
		999: {Waiting: mortise.Count{N: 999, More: true}, Running: mortise.Count{N: 999, More: true},
			Completed: mortise.Count{N: 999, More: true}, Failed: mortise.Count{N: 999, More: true}},
	} {
		counts, err := db.trigger.Counts(t.Context(), "org3", most)
		require.NoError(t, err)
		require.Equal(t, want, counts, "up to %d", most)
	}
	backlog, err := db.trigger.Backlog(t.Context(), mortise.MaxCount)
	require.NoError(t, err)
	require.Equal(t, mortise.Backlog{
		Waiting: mortise.Count{N: mortise.MaxCount, More: true}, Running: mortise.Count{N: 10_000},
		Failed: mortise.Count{N: mortise.MaxCount, More: true}, NextDue: time.UnixMicro(20).UTC(),
	}, backlog)
}

// BenchmarkTriggerCounts: what a service asks, where ten organizations have so many
// events.
func BenchmarkTriggerCounts(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := manyEvents(b, n)
			b.Run("Counts", func(b *testing.B) {
				for b.Loop() {
					_, err := db.trigger.Counts(b.Context(), "org3", mortise.MaxCount)
					require.NoError(b, err)
				}
			})
			b.Run("Backlog", func(b *testing.B) {
				for b.Loop() {
					_, err := db.trigger.Backlog(b.Context(), mortise.MaxCount)
					require.NoError(b, err)
				}
			})
		})
	}
}
