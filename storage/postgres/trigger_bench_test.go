package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
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

// BenchmarkSubmit stores events with their jobs, in turns with a bare INSERT of the same
// event, without a job.
func BenchmarkSubmit(b *testing.B) {
	m, ctx := openToMeasure(b), context.Background()
	store := triggerStore(m.DB)
	const bare = "INSERT INTO mortise.trigger_events (id, version, organization, submitted_at, due_at, attempts, generation, status, source, instructions, last_error, submitted_by)" +
		" VALUES ($1, 0, $2, $3, $3, 0, 0, 0, $4, $5, '', '') ON CONFLICT DO NOTHING"
	m.besideBare(b, func() error {
		e := measuredEvent()
		_, _, err := store.CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
		return err
	}, func() error {
		e := measuredEvent()
		_, err := m.pool.Exec(ctx, bare, e.ID, e.Organization, e.SubmittedAt, e.Source, []byte(e.Instructions))
		return err
	})
}

// BenchmarkAttempt begins and ends attempts at events, as a worker does, by 1, 16 and 64
// callers at a time. The job of each is held and goes with the end.
func BenchmarkAttempt(b *testing.B) {
	m, ctx := openToMeasure(b), context.Background()
	store := triggerStore(m.DB)
	begin := func(e *trigger.Event) error {
		e.Status, e.StartedAt, e.Attempts = trigger.StatusProcessing, time.Now(), e.Attempts+1
		return nil
	}
	end := func(e *trigger.Event) ([]mortise.Job, error) {
		e.Status, e.FinishedAt, e.Outcome = trigger.StatusCompleted, time.Now(), &trigger.Outcome{Summary: "done"}
		return nil, nil
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
					leases, err := m.Jobs().Claim(ctx, mortise.Claim{
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
					return store.UpdateEventAndJobs(ctx, l.Job.Organization, id, end, l, false)
				})
			}
			b.ReportMetric(float64(b.N*callers*20)/took.Seconds(), "attempts/s")
		})
	}
}

// BenchmarkEnd ends events alone; with a row of the host's in the same transaction, as
// Outcome.Apply; and with the row in a statement of its own, which comes first. The three take
// turns.
func BenchmarkEnd(b *testing.B) {
	m, ctx := openToMeasure(b), context.Background()
	store := triggerStore(m.DB)
	_, err := m.pool.Exec(ctx, "CREATE TABLE host_rows (event text NOT NULL)")
	require.NoError(b, err)
	const insert = "INSERT INTO host_rows (event) VALUES ($1)"
	end := func(ctx context.Context, id uuid.UUID) error {
		return store.UpdateEvent(ctx, "acme", id, func(e *trigger.Event) error {
			e.Status, e.FinishedAt, e.Outcome = trigger.StatusCompleted, time.Now(), &trigger.Outcome{Summary: "done"}
			return nil
		})
	}
	ways := []func(id uuid.UUID) error{
		func(id uuid.UUID) error { return end(ctx, id) },
		func(id uuid.UUID) error {
			return store.Transact(ctx, "acme", func(ctx context.Context) error {
				if err := end(ctx, id); err != nil {
					return err
				}
				tx, _ := postgres.HostTx(ctx)
				_, err := tx.Exec(ctx, insert, id.String())
				return err
			})
		},
		func(id uuid.UUID) error {
			if _, err := m.pool.Exec(ctx, insert, id.String()); err != nil {
				return err
			}
			return end(ctx, id)
		},
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var took [3]time.Duration
			for b.Loop() {
				for way, call := range ways {
					ids := make(chan uuid.UUID, callers*20)
					byMany(b, callers, 20, func() error {
						e := measuredEvent()
						e.Organization = "acme"
						_, _, err := store.CreateEvent(ctx, *e, time.Time{})
						ids <- e.ID
						return err
					})
					took[way] += byMany(b, callers, 20, func() error { return call(<-ids) })
				}
			}
			n := float64(b.N * callers * 20)
			b.ReportMetric(n/took[0].Seconds(), "ends/s")
			b.ReportMetric(n/took[1].Seconds(), "applied/s")
			b.ReportMetric(n/took[2].Seconds(), "apart/s")
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "applied-of-ends")
			b.ReportMetric(took[2].Seconds()/took[1].Seconds(), "applied-of-apart")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// measured is a database on a server of its own, which syncs to the disk.
type measured struct {
	*postgres.DB
	pool   *pgxpool.Pool
	server *pgserver.Server
}

func openToMeasure(b *testing.B) measured {
	m := measured{server: pgserver.Start(b, nil)}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, m.server.DSN("postgres"))
	require.NoError(b, err)
	require.NoError(b, postgres.Migrate(ctx, conn, &postgres.Options{Logger: slog.New(slog.DiscardHandler)}))
	require.NoError(b, conn.Close(ctx))
	m.pool, err = pgxpool.New(ctx, m.server.DSN("postgres")+" pool_max_conns=64")
	require.NoError(b, err)
	b.Cleanup(func() { closePool(b, m.pool) })
	m.DB, err = postgres.New(ctx, m.pool, nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, m.Close()) })
	return m
}

// besideBare measures ours and a bare contender by 1, 16 and 64 callers at a time, in turns.
// of-bare is the speed as a part of the bare one's, and of-bare-cpu the same by the
// processor time of both sides. The rest is ours: calls a second, and processor time of a
// call, here and on the server.
func (m *measured) besideBare(b *testing.B, ours, bare func() error) {
	contenders := [2]func() error{ours, bare}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var took [2]pgserver.Spent
			for n := 0; b.Loop(); n++ {
				for k := range contenders {
					i := (n + k) % 2
					took[i].Add(m.server.Measure(func() { byMany(b, callers, 20, contenders[i]) }))
				}
			}
			calls := float64(b.N * callers * 20)
			b.ReportMetric(calls/took[0].Wall.Seconds(), "calls/s")
			b.ReportMetric(took[1].Wall.Seconds()/took[0].Wall.Seconds(), "of-bare")
			b.ReportMetric((took[1].Client+took[1].Server).Seconds()/(took[0].Client+took[0].Server).Seconds(), "of-bare-cpu")
			b.ReportMetric(float64(took[0].Client.Microseconds())/calls, "client-us")
			b.ReportMetric(float64(took[0].Server.Microseconds())/calls, "server-us")
			b.ReportMetric(0, "ns/op")
		})
	}
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
func byMany(b testing.TB, callers, times int, do func() error) time.Duration {
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
