package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
)

// BenchmarkAdd adds jobs on a server that syncs to the disk, by 1, 16 and 64 callers at a
// time, in turns with a bare INSERT of the same row. of-bare is the speed as a part of the
// bare one's.
func BenchmarkAdd(b *testing.B) {
	server := pgserver.Start(b, nil)
	ctx := b.Context()
	conn, err := pgx.Connect(ctx, server.DSN("postgres"))
	require.NoError(b, err)
	require.NoError(b, postgres.Migrate(ctx, conn, nil))
	require.NoError(b, conn.Close(ctx))
	pool, err := pgxpool.New(ctx, server.DSN("postgres")+" pool_max_conns=64")
	require.NoError(b, err)
	defer pool.Close()
	db, err := postgres.New(ctx, pool, nil)
	require.NoError(b, err)
	defer func() { _ = db.Close() }()
	const bare = "INSERT INTO mortise.jobs (id, kind, organization, claimable_at, deliveries, dead)" +
		" VALUES ($1, $2, $3, now(), 0, false) ON CONFLICT DO NOTHING"
	contenders := []func() error{
		func() error {
			return db.Jobs().Add(ctx, mortise.Job{Kind: "k", Organization: "acme", ID: uuid.NewString()})
		},
		func() error {
			_, err := pool.Exec(ctx, bare, uuid.NewString(), "k", "acme")
			return err
		},
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var took [2]time.Duration
			for b.Loop() {
				for i, add := range contenders {
					began := time.Now()
					var all sync.WaitGroup
					for range callers {
						all.Go(func() {
							for range 20 {
								if err := add(); err != nil {
									b.Error(err)
								}
							}
						})
					}
					all.Wait()
					took[i] += time.Since(began)
				}
			}
			calls := float64(b.N * callers * 20)
			b.ReportMetric(calls/took[0].Seconds(), "adds/s")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-bare")
		})
	}
}

// BenchmarkPrograms works on a backlog of one organization's events, by 1, 2, 4 and 8 programs
// with 16 attempts at a time of 20 ms each. speedup is over one program.
func BenchmarkPrograms(b *testing.B) {
	const events = 8000
	alone := 0.0
	for _, programs := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("programs=%d", programs), func(b *testing.B) {
			m, ctx := openToMeasure(b), context.Background()
			store := triggerStore(m.DB)
			var took time.Duration
			for b.Loop() {
				byMany(b, 16, events/16, func() error {
					e := measuredEvent()
					_, _, err := store.CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
					return err
				})
				var ended atomic.Int64
				all := make(chan struct{})
				working, stop := context.WithCancel(ctx)
				var running sync.WaitGroup
				began := time.Now()
				for range programs {
					pool, err := pgxpool.New(ctx, m.server.DSN("postgres")+" pool_max_conns=20")
					require.NoError(b, err)
					db, err := postgres.New(ctx, pool, nil)
					require.NoError(b, err)
					service, err := trigger.New(db.Trigger(), nil)
					require.NoError(b, err)
					worker, err := trigger.NewWorker(service, func(context.Context, trigger.Event) (trigger.Outcome, error) {
						time.Sleep(20 * time.Millisecond)
						if ended.Add(1) == events {
							close(all)
						}
						return trigger.Outcome{}, nil
					}, &trigger.WorkerOptions{Concurrency: 16})
					require.NoError(b, err)
					running.Go(func() {
						_ = worker.Run(working)
						_ = db.Close()
						pool.Close()
					})
				}
				<-all
				took += time.Since(began)
				stop()
				running.Wait()
			}
			rate := float64(b.N*events) / took.Seconds()
			if programs == 1 {
				alone = rate
			}
			b.ReportMetric(rate, "events/s")
			b.ReportMetric(rate/alone, "speedup")
			b.ReportMetric(0, "ns/op")
		})
	}
}
