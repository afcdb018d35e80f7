package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// BenchmarkInTx stores an order and its event in one transaction, in turns with a bare
// transaction of two rows of the host's, and with a Submit that is not in one, which
// shares its sync of the disk with others. of-bare and of-submit are the speed as a part
// of theirs.
func BenchmarkInTx(b *testing.B) {
	s := newShop(b, nil)
	bare, err := sql.Open("sqlite", s.path+"?_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)&_txlock=immediate")
	require.NoError(b, err)
	defer func() { _ = bare.Close() }()
	ctx := b.Context()
	submit := func(ctx context.Context) error {
		_, err := s.events.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Describe the order."})
		return err
	}
	const insert = "INSERT INTO orders (note) VALUES ('x')"
	contenders := []func() error{
		func() error {
			return s.db.InTx(ctx, func(ctx context.Context, tx *sqlite.Tx) error {
				if _, err := tx.ExecContext(ctx, insert); err != nil {
					return err
				}
				return submit(ctx)
			})
		},
		func() error {
			tx, err := bare.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }()
			for range 2 {
				if _, err := tx.ExecContext(ctx, insert); err != nil {
					return err
				}
			}
			return tx.Commit()
		},
		func() error { return submit(ctx) },
	}
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var took [3]time.Duration
			for b.Loop() {
				for i, do := range contenders {
					began := time.Now()
					var all sync.WaitGroup
					for range callers {
						all.Go(func() {
							for range 10 {
								if err := do(); err != nil {
									b.Error(err)
								}
							}
						})
					}
					all.Wait()
					took[i] += time.Since(began)
				}
			}
			b.ReportMetric(float64(b.N*callers*10)/took[0].Seconds(), "tx/s")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-bare")
			b.ReportMetric(took[2].Seconds()/took[0].Seconds(), "of-submit")
		})
	}
}
