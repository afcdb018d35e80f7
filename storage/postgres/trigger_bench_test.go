package postgres_test

import (
	"context"
	"fmt"
	"sync"
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

// BenchmarkSubmit stores events with their jobs on a server that syncs to the disk, by 1, 16
// and 64 callers at a time, in turns with a bare INSERT of the same event, without a job.
// of-bare is the speed as a part of the bare one's.
func BenchmarkSubmit(b *testing.B) {
	store, pool := openToMeasure(b)
	ctx := b.Context()
	const bare = "INSERT INTO mortise.trigger_events (id, version, organization, submitted_at, due_at, attempts, generation, status, source, instructions, last_error)" +
		" VALUES ($1, 0, $2, $3, $3, 0, 0, 0, $4, $5, '') ON CONFLICT DO NOTHING"
	contenders := [2]func() error{
		func() error {
			e := measuredEvent()
			_, _, err := store.CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
			return err
		},
		func() error {
			e := measuredEvent()
			_, err := pool.Exec(ctx, bare, e.ID, []byte(e.Organization), e.SubmittedAt, []byte(e.Source), []byte(e.Instructions))
			return err
		},
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var took [2]time.Duration
			for b.Loop() {
				for i, do := range contenders {
					took[i] += byMany(b, callers, 20, do)
				}
			}
			b.ReportMetric(float64(b.N*callers*20)/took[0].Seconds(), "events/s")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-bare")
		})
	}
}

// BenchmarkAttempt begins and ends attempts at events, as a worker does, by 1, 16 and 64
// callers at a time. The job of each is held and goes with the end.
func BenchmarkAttempt(b *testing.B) {
	store, _ := openToMeasure(b)
	ctx := b.Context()
	begin := func(e *trigger.Event) error {
		e.Status, e.StartedAt, e.Attempts = trigger.StatusProcessing, time.Now(), e.Attempts+1
		return nil
	}
	end := func(e *trigger.Event) error {
		e.Status, e.FinishedAt, e.Outcome = trigger.StatusCompleted, time.Now(), &trigger.Outcome{Summary: "done"}
		return nil
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				claimed := make(chan mortise.Lease, callers*20)
				byMany(b, callers, 20, func() error {
					e := measuredEvent()
					_, _, err := store.CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
					return err
				})
				for len(claimed) < cap(claimed) {
					leases, err := store.jobs.Claim(ctx, mortise.Claim{
						Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: cap(claimed) - len(claimed), TTL: time.Hour,
					})
					require.NoError(b, err)
					for _, l := range leases {
						claimed <- l
					}
				}
				took += byMany(b, callers, 20, func() error {
					l := <-claimed
					id := uuid.MustParse(l.Job.ID[:36])
					if err := store.UpdateEvent(ctx, l.Job.Organization, id, begin); err != nil {
						return err
					}
					return store.UpdateEventAndRemove(ctx, l.Job.Organization, id, end, l, false)
				})
			}
			b.ReportMetric(float64(b.N*callers*20)/took.Seconds(), "attempts/s")
		})
	}
}

// measured is a store with its jobs.
type measured struct {
	*postgres.Trigger
	jobs *postgres.Jobs
}

// openToMeasure returns a store on a server of its own, and the pool.
func openToMeasure(b *testing.B) (measured, *pgxpool.Pool) {
	db, pool := databaseToMeasure(b)
	return measured{db.Trigger().Store.(*postgres.Trigger), db.Jobs()}, pool
}

// databaseToMeasure returns a database on a server of its own, which syncs to the disk, and
// the pool.
func databaseToMeasure(b *testing.B) (*postgres.DB, *pgxpool.Pool) {
	server := pgserver.Start(b, nil)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN("postgres"))
	require.NoError(b, err)
	require.NoError(b, postgres.Migrate(ctx, conn, nil))
	require.NoError(b, conn.Close(ctx))
	pool, err := pgxpool.New(ctx, server.DSN("postgres")+" pool_max_conns=64")
	require.NoError(b, err)
	b.Cleanup(func() { closePool(b, pool) })
	db, err := postgres.New(ctx, pool, nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	return db, pool
}

// measuredEvent returns a new event as a service makes it.
func measuredEvent() *trigger.Event {
	now := time.Now()
	return &trigger.Event{
		ID: uuid.Must(uuid.NewV7()), Organization: "acme", Status: trigger.StatusReceived, Source: "api",
		Instructions: "Document the new endpoint.", SubmittedAt: now, DueAt: now,
	}
}

// byMany has callers do something, each so many times, and returns how long that took.
func byMany(b *testing.B, callers, times int, do func() error) time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range times {
				if err := do(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}
