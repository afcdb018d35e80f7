package file

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkOpen measures the opening of a file with events, after it was closed in peace
// and after a crash, beside a check of the whole file. The file has 20 MB; 600 MB with
// MORTISE_SOAK=1. left-behind is in how many of the openings after a crash something was
// left to check behind, and ms-close how long Close takes while the events are checked.
//
//	MORTISE_SOAK=1 go test ./storage/sqlite/internal/file -run '^$' -bench Open$ -benchtime 3x
func BenchmarkOpen(b *testing.B) {
	path := EmptyFile(b)
	db, err := Open(b.Context(), path, defaults)
	require.NoError(b, err)
	size := int64(20 << 20)
	if os.Getenv("MORTISE_SOAK") != "" {
		size = 600 << 20
	}
	const rows = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 10000)" +
		" INSERT INTO trigger_events (id, organization, submitted_at, source, submitted_by, instructions, context, status, attempts, last_error, outcome_summary, generation, due_at)" +
		" SELECT randomblob(16), 'org' || (i % 10), i, 'api', '', hex(randomblob(200)), hex(randomblob(200)), 2, 1, '', '', 0, i FROM n"
	for bytes := int64(0); bytes < size; {
		require.NoError(b, db.Write(b.Context(), func(tx *Tx) error {
			if _, err := tx.Exec(rows); err != nil {
				return err
			}
			return tx.Query("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", nil, func(r *Row) error {
				bytes = int64(r.Number(0))
				return nil
			})
		}))
	}
	require.NoError(b, db.Close())
	var clean, killed, all, closing time.Duration
	left := 0
	timed := func(total *time.Duration, do func() error) {
		begun := time.Now()
		require.NoError(b, do())
		*total += time.Since(begun)
	}
	for b.Loop() {
		timed(&clean, func() (err error) { db, err = Open(b.Context(), path, defaults); return err })
		require.NoError(b, db.Close())
		require.NoError(b, os.WriteFile(path+"-wal", nil, 0o600)) // as a crash leaves it
		timed(&killed, func() (err error) { db, err = Open(b.Context(), path, defaults); return err })
		if db.checker.unchecked.Load() {
			left++
		}
		timed(&all, func() error {
			return db.List(b.Context(), NoOrg, "PRAGMA quick_check(1)", nil, func(*Row) error { return nil })
		})
		require.NoError(b, db.Close())
		for _, suffix := range []string{"-wal", "-shm"} { // there if the check behind was cut off
			require.NoError(b, os.RemoveAll(path+suffix))
		}

		require.NoError(b, os.WriteFile(path+"-wal", nil, 0o600))
		checking := make(chan struct{})
		db, err = openWith(b.Context(), path, defaults, checks{table: func(ctx context.Context, c *Conn, name string) error {
			if name == "trigger_events" {
				time.AfterFunc(20*time.Millisecond, func() { close(checking) })
			}
			return checkTable(ctx, c, name)
		}})
		require.NoError(b, err)
		<-checking
		timed(&closing, db.Close)
		for _, suffix := range []string{"-wal", "-shm"} {
			require.NoError(b, os.RemoveAll(path+suffix))
		}
	}
	report := func(d time.Duration, unit string) { b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), unit) }
	report(clean, "ms-closed")
	report(killed, "ms-killed")
	report(all, "ms-whole-check")
	report(closing, "ms-close")
	b.ReportMetric(float64(left)/float64(b.N), "left-behind")
	b.ReportMetric(0, "ns/op")
}
