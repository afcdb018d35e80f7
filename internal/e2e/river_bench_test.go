package e2e

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
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/river"
	"github.com/seed-6363c74e/mortise/trigger"
)

// riverJob is a job of River's that names an event.
type riverJob struct {
	ID uuid.UUID `json:"id"`
}

func (riverJob) Kind() string { return "event" }

// riverWorker tells when the job of an event has begun.
type riverWorker struct {
	riverqueue.WorkerDefaults[riverJob]
	begun chan time.Time
}

func (w *riverWorker) Work(context.Context, *riverqueue.Job[riverJob]) error {
	w.begun <- time.Now()
	return nil
}

// besideRiver is a service and a plain client of River's on one database, which syncs to the
// disk.
type besideRiver struct {
	server       *pgserver.Server
	pool         *pgxpool.Pool
	own, onRiver *trigger.Service // with the queue of package postgres, and with River
	client       *riverqueue.Client[pgx.Tx]
	worker       *riverWorker
	completed    chan struct{} // a value for each event, if it is not full
}

func newBesideRiver(b *testing.B, cooldown time.Duration) *besideRiver {
	ctx := context.Background()
	server := pgserver.Start(b, nil)
	pool, err := pgxpool.New(ctx, server.DSN("postgres")+" pool_max_conns=64")
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	conn, err := pgx.Connect(ctx, server.DSN("postgres"))
	require.NoError(b, err)
	require.NoError(b, postgres.Migrate(ctx, conn, nil))
	require.NoError(b, conn.Close(ctx))
	require.NoError(b, river.Migrate(ctx, pool, nil))
	quiet := slog.New(slog.DiscardHandler)
	queue, err := river.New(pool, &river.Options{Tx: postgres.HostTx, Logger: quiet})
	require.NoError(b, err)
	completed := make(chan struct{}, 2000)
	service := func(opts *postgres.Options) *trigger.Service {
		db, err := postgres.New(ctx, pool, opts)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, db.Close()) })
		s, err := trigger.New(db.Trigger(), &trigger.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
			if o.Kind == mortise.KindCompleted {
				select {
				case completed <- struct{}{}:
				default:
				}
			}
		}}})
		require.NoError(b, err)
		return s
	}
	r := &besideRiver{
		server: server, pool: pool, own: service(nil), onRiver: service(&postgres.Options{Queue: queue}),
		worker: &riverWorker{begun: make(chan time.Time, 2000)}, completed: completed,
	}
	workers := riverqueue.NewWorkers()
	riverqueue.AddWorker(workers, r.worker)
	r.client, err = riverqueue.NewClient(riverpgxv5.New(pool), &riverqueue.Config{
		Schema: "mortise_river", Logger: quiet, Workers: workers, FetchCooldown: cooldown, Queues: map[string]riverqueue.QueueConfig{"bare": {MaxWorkers: 64}},
	})
	require.NoError(b, err)
	return r
}

var toBare = &riverqueue.InsertOpts{Queue: "bare"}

func submitTo(ctx context.Context, s *trigger.Service) error {
	_, err := s.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the new endpoint."})
	return err
}

// BenchmarkSubmitBesideRiver submits events by 1, 16 and 64 callers at a time, in turns with
// a bare INSERT of an event and River's InsertTx in one transaction, and with River's Insert
// alone. The metrics are the speed of Submit as a part of theirs, and that of Submit with
// the queue on River.
func BenchmarkSubmitBesideRiver(b *testing.B) {
	r, ctx := newBesideRiver(b, 0), context.Background()
	const bare = "INSERT INTO mortise.trigger_events (id, version, organization, submitted_at, due_at, attempts, generation, status, source, instructions, last_error, submitted_by)" +
		" VALUES ($1, 0, $2, $3, $3, 0, 0, 0, $4, $5, '', '')"
	contenders := [4]func() error{
		func() error { return submitTo(ctx, r.own) },
		func() error { return submitTo(ctx, r.onRiver) },
		func() error {
			return pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
				id := uuid.Must(uuid.NewV7())
				if _, err := tx.Exec(ctx, bare, id, []byte("acme"), time.Now(), []byte("ann"), []byte("Document the new endpoint.")); err != nil {
					return err
				}
				_, err := r.client.InsertTx(ctx, tx, riverJob{id}, toBare)
				return err
			})
		},
		func() error {
			_, err := r.client.Insert(ctx, riverJob{uuid.Must(uuid.NewV7())}, toBare)
			return err
		},
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var took [len(contenders)]pgserver.Spent
			for n := 0; b.Loop(); n++ {
				for k := range contenders {
					i := (n + k) % len(contenders)
					took[i].Add(r.server.Measure(func() { r.byMany(b, callers, 20, contenders[i]) }))
				}
			}
			calls := float64(b.N * callers * 20)
			cpu := func(i int) float64 { return (took[i].Client + took[i].Server).Seconds() }
			b.ReportMetric(calls/took[0].Wall.Seconds(), "events/s")
			b.ReportMetric(took[2].Wall.Seconds()/took[0].Wall.Seconds(), "of-event+InsertTx")
			b.ReportMetric(took[3].Wall.Seconds()/took[0].Wall.Seconds(), "of-Insert")
			b.ReportMetric(took[2].Wall.Seconds()/took[1].Wall.Seconds(), "on-river-of-event+InsertTx")
			b.ReportMetric(cpu(2)/cpu(0), "cpu-of-event+InsertTx")
			b.ReportMetric(cpu(2)/cpu(1), "cpu-on-river-of-event+InsertTx")
			b.ReportMetric(float64(took[0].Client.Microseconds())/calls, "client-us")
			b.ReportMetric(float64(took[0].Server.Microseconds())/calls, "server-us")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// byMany has callers do something, each so many times.
func (r *besideRiver) byMany(b *testing.B, callers, times int, do func() error) {
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
}

// BenchmarkProcessBesideRiver submits 1280 events by 64 callers, and measures until 64 workers
// have completed all of them, whose work is nothing; in turns with jobs and workers of
// River's, each added by itself; its client looks for jobs every 5 ms, which its default of
// 100 ms would hold to 640 a second. of-river is the speed as a part of River's, of-river-cpu
// the same by the processor time of both sides, and begun-of-river the speed until the work of
// the last one has begun: River writes what is completed in batches.
func BenchmarkProcessBesideRiver(b *testing.B) {
	const callers, times = 64, 20
	r := newBesideRiver(b, 5*time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	begun := make(chan time.Time, callers*times)
	worker, err := trigger.NewWorker(r.own, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		begun <- time.Now()
		return trigger.Outcome{}, nil
	}, &trigger.WorkerOptions{Concurrency: 64})
	require.NoError(b, err)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	riverCompleted, unsubscribe := r.client.SubscribeConfig(&riverqueue.SubscribeConfig{
		ChanSize: callers * times, Kinds: []riverqueue.EventKind{riverqueue.EventKindJobCompleted},
	})
	defer unsubscribe()
	require.NoError(b, r.client.Start(ctx))
	contenders := [2]struct {
		submit   func() error
		begun    chan time.Time
		complete func()
	}{
		{func() error { return submitTo(ctx, r.own) }, begun, func() { <-r.completed }},
		{
			func() error { _, err := r.client.Insert(ctx, riverJob{uuid.New()}, toBare); return err }, r.worker.begun,
			func() { <-riverCompleted },
		},
	}
	var took [2]pgserver.Spent
	var toBegin [2]time.Duration
	for n := 0; b.Loop(); n++ {
		for k := range contenders {
			i := (n + k) % len(contenders)
			took[i].Add(r.server.Measure(func() {
				start := time.Now()
				r.byMany(b, callers, times, contenders[i].submit)
				var last time.Time
				for range callers * times {
					if at := <-contenders[i].begun; at.After(last) {
						last = at
					}
				}
				toBegin[i] += last.Sub(start)
				for range callers * times {
					contenders[i].complete()
				}
			}))
			time.Sleep(150 * time.Millisecond) // what ends behind is not the other's
		}
	}
	calls := float64(b.N * callers * times)
	cpu := func(i int) float64 { return (took[i].Client + took[i].Server).Seconds() }
	b.ReportMetric(calls/took[0].Wall.Seconds(), "events/s")
	b.ReportMetric(took[1].Wall.Seconds()/took[0].Wall.Seconds(), "of-river")
	b.ReportMetric(cpu(1)/cpu(0), "of-river-cpu")
	b.ReportMetric(toBegin[1].Seconds()/toBegin[0].Seconds(), "begun-of-river")
	b.ReportMetric(float64(took[0].Client.Microseconds())/calls, "client-us")
	b.ReportMetric(float64(took[0].Server.Microseconds())/calls, "server-us")
	b.ReportMetric(0, "ns/op")
	cancel()
	require.NoError(b, <-ended)
	<-r.client.Stopped()
}

// BenchmarkIdleBesideRiver submits an event to a worker that has nothing to do, and measures
// until it begins; in turns with a job and a worker of River's.
func BenchmarkIdleBesideRiver(b *testing.B) {
	r := newBesideRiver(b, 0)
	ctx, cancel := context.WithCancel(context.Background())
	begun := make(chan time.Time, 1)
	worker, err := trigger.NewWorker(r.own, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		begun <- time.Now()
		return trigger.Outcome{}, nil
	}, nil)
	require.NoError(b, err)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	require.NoError(b, r.client.Start(ctx))
	contenders := [2]struct {
		submit func() error
		begun  chan time.Time
	}{
		{func() error { return submitTo(ctx, r.own) }, begun},
		{func() error { _, err := r.client.Insert(ctx, riverJob{uuid.New()}, toBare); return err }, r.worker.begun},
	}
	var took [2]time.Duration
	once := func() {
		for i, c := range contenders {
			began := time.Now()
			require.NoError(b, c.submit())
			took[i] += (<-c.begun).Sub(began)
			time.Sleep(150 * time.Millisecond) // both are idle again: River fetches every 100 ms at most
		}
	}
	once()
	took = [2]time.Duration{}
	for b.Loop() {
		once()
	}
	b.ReportMetric(took[0].Seconds()*1000/float64(b.N), "ms")
	b.ReportMetric(took[1].Seconds()*1000/float64(b.N), "river-ms")
	b.ReportMetric(0, "ns/op")
	cancel()
	require.NoError(b, <-ended)
	<-r.client.Stopped()
}
