package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// BenchmarkEnd ends events alone; with a row of the host's in the same transaction, as
// Outcome.Apply; and with the row in a transaction of its own, which comes first. The three
// take turns.
func BenchmarkEnd(b *testing.B) {
	db := openAt(b, filepath.Join(b.TempDir(), "ends.db"), nil)
	store := db.Trigger().Store
	insert := func(ctx context.Context) error {
		tx, _ := sqlite.HostTx(ctx)
		_, err := tx.ExecContext(ctx, "INSERT INTO host_rows (event) VALUES (?)", uuid.NewString())
		return err
	}
	alone := func(ctx context.Context, do func(ctx context.Context) error) error {
		return db.InTx(ctx, func(ctx context.Context, _ *sqlite.Tx) error { return do(ctx) })
	}
	require.NoError(b, db.InTx(b.Context(), func(ctx context.Context, tx *sqlite.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE host_rows (event TEXT NOT NULL)")
		return err
	}))
	end := func(ctx context.Context, id uuid.UUID) error {
		return store.UpdateEvent(ctx, "acme", id, func(e *trigger.Event) error {
			e.Status, e.FinishedAt, e.Outcome = trigger.StatusCompleted, time.Now(), &trigger.Outcome{Summary: "done"}
			return nil
		})
	}
	ways := []func(ctx context.Context, id uuid.UUID) error{
		end,
		func(ctx context.Context, id uuid.UUID) error {
			return store.(mortise.Transactor).Transact(ctx, "acme", func(ctx context.Context) error {
				if err := end(ctx, id); err != nil {
					return err
				}
				return insert(ctx)
			})
		},
		func(ctx context.Context, id uuid.UUID) error {
			if err := alone(ctx, insert); err != nil {
				return err
			}
			return end(ctx, id)
		},
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			const each = 20
			var took [3]time.Duration
			for b.Loop() {
				for way, call := range ways {
					ids := make([]uuid.UUID, callers*each)
					for i := range ids {
						e := trigger.Event{ID: uuid.New(), Organization: "acme", Status: trigger.StatusProcessing, Instructions: benchInstructions,
							SubmittedAt: time.Now(), StartedAt: time.Now(), Attempts: 1}
						ids[i] = e.ID
						_, _, err := store.CreateEvent(b.Context(), e, time.Time{})
						require.NoError(b, err)
					}
					var next atomic.Int64
					took[way] += turn(b, callers, len(ids), func(ctx context.Context) error { return call(ctx, ids[next.Add(1)-1]) })
				}
			}
			n := float64(b.N * callers * each)
			b.ReportMetric(n/took[0].Seconds(), "ends/s")
			b.ReportMetric(n/took[1].Seconds(), "applied/s")
			b.ReportMetric(n/took[2].Seconds(), "apart/s")
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "applied-of-ends")
			b.ReportMetric(took[2].Seconds()/took[1].Seconds(), "applied-of-apart")
			b.ReportMetric(0, "ns/op")
		})
	}
}
