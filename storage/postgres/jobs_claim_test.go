package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
)

// rounds work on events of a database.
type rounds struct {
	*database
	db            *postgres.DB
	conns         *pgxpool.Pool // of db
	organizations int

	ran  sync.Map // how often each attempt ran: *atomic.Int64, by an attempt
	runs atomic.Int64
}

// patient: rounds count reads. A slow disk is not their matter.
var patient = &postgres.Options{Timeout: 5 * time.Minute}

// newRounds makes rounds over an empty database. If held is true, another session has a
// snapshot of it, so that PostgreSQL keeps each row that is gone.
func newRounds(t *testing.T, organizations int, held bool) *rounds {
	r := &rounds{database: takeDatabase(t, true), organizations: organizations}
	if held {
		conn, err := pgx.Connect(t.Context(), r.server.DSN(r.name))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		_, err = conn.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM mortise.jobs")
		require.NoError(t, err)
	}
	var err error
	r.conns, err = pgxpool.New(t.Context(), r.server.DSN(r.name)+" pool_max_conns=16")
	require.NoError(t, err)
	t.Cleanup(func() { closePool(t, r.conns) })
	r.db, err = postgres.New(t.Context(), r.conns, patient)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.db.Close()) })
	return r
}

// attempt is one of an event.
type attempt struct {
	event  uuid.UUID
	number int
}

// work stores so many events and runs a worker until they have ended. Each eighth event has
// a second attempt, a little later. It returns how many entries of the indexes of jobs and
// events were read for each event, looks at all jobs apart.
func (r *rounds) work(t *testing.T, events int) float64 {
	ctx := t.Context()
	before := r.entries(t)
	other, err := postgres.New(ctx, r.conns, patient)
	require.NoError(t, err)
	r.claimNothing(t, other)
	require.NoError(t, other.Close())
	look := r.entries(t) - before

	store := triggerStore(r.db)
	byMany(t, 16, events/16, func() error {
		e := measuredEvent()
		e.Organization = fmt.Sprint("org", r.runs.Add(1)%int64(r.organizations))
		_, _, err := store.CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
		return err
	})
	looks := 0
	all := make(chan struct{})
	var count atomic.Int64
	service, err := trigger.New(r.db.Trigger(), nil)
	require.NoError(t, err)
	worker, err := trigger.NewWorker(service, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		n, _ := r.ran.LoadOrStore(attempt{e.ID, e.Attempts}, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		if e.Attempts == 1 && e.ID[0]%8 == 0 {
			return trigger.Outcome{}, trigger.RetryAfter(errors.New("busy"), 20*time.Millisecond)
		}
		if count.Add(1) == int64(events) {
			close(all)
		}
		return trigger.Outcome{}, nil
	}, &trigger.WorkerOptions{Concurrency: 16})
	require.NoError(t, err)
	working, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { _ = worker.Run(working) })
	last := r.db.LookedAtAll(trigger.JobKind)
	for waiting := true; waiting; {
		select {
		case <-all:
			waiting = false
		case <-time.After(50 * time.Millisecond):
		}
		if !waiting { // a look may come in the last moment
			stop()
			running.Wait()
		}
		if at := r.db.LookedAtAll(trigger.JobKind); !at.Equal(last) {
			last = at
			looks++
		}
	}
	return float64(r.entries(t)-before-int64(looks+1)*look) / float64(events)
}

func (r *rounds) claimNothing(t *testing.T, db *postgres.DB) {
	leases, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 1, TTL: time.Hour})
	require.NoError(t, err)
	require.Empty(t, leases)
}

// entries returns how many entries of the indexes were read. Sessions tell of theirs when they
// are idle, or are told to.
func (r *rounds) entries(t *testing.T) (n int64) {
	for _, conn := range r.conns.AcquireAllIdle(t.Context()) {
		_, err := conn.Exec(t.Context(), "SELECT pg_stat_force_next_flush()")
		conn.Release()
		require.NoError(t, err)
	}
	row := r.conns.QueryRow(t.Context(), "SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes"+
		" WHERE relname IN ('jobs', 'trigger_events') AND indexrelname <> 'trigger_events_open'")
	require.NoError(t, row.Scan(&n))
	return n
}

// once checks that no attempt ran twice.
func (r *rounds) once(t *testing.T) {
	r.ran.Range(func(a, n any) bool {
		return assert.EqualValues(t, 1, n.(*atomic.Int64).Load(), "runs of %v", a)
	})
}

// TestClaimsUnderASnapshot: while another session holds a snapshot, a claim passes each job
// that is gone once.
func TestClaimsUnderASnapshot(t *testing.T) {
	t.Parallel()
	free, held := newRounds(t, 1, false), newRounds(t, 1, true)
	for range 2 {
		want, got := free.work(t, 512), held.work(t, 512)
		require.Less(t, got, 3*want, "entries of indexes that were read for an event")
	}
	held.once(t)
}

// TestManyClaimsUnderASnapshot is TestClaimsUnderASnapshot with so many events that dead rows
// fill most of the table. By the worker's clock it takes an hour.
func TestManyClaimsUnderASnapshot(t *testing.T) {
	nightly.Only(t)
	for _, organizations := range []int{1, 1000} {
		t.Run(fmt.Sprint("organizations=", organizations), func(t *testing.T) {
			t.Parallel()
			free, held := newRounds(t, organizations, false), newRounds(t, organizations, true)
			var passed atomic.Int64
			held.db.SetNow(func() time.Time { return time.Now().Add(time.Duration(passed.Load())) })
			want := 0.0
			for range 3 {
				want = max(want, free.work(t, 4096))
			}
			for i := range 13 {
				got := held.work(t, 4096)
				t.Logf("round %d: %.1f entries an event, and without a snapshot %.1f", i, got, want)
				require.Less(t, got, 3*want, "round %d", i)
				passed.Add(int64(5 * time.Minute))
			}
			held.once(t)
		})
	}
}

// TestClaimBesideLocks: a claim takes jobs behind jobs that others hold locked.
func TestClaimBesideLocks(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := d.open(t, nil)
	for i := range 20 {
		require.NoError(t, db.Jobs().Add(t.Context(), mortise.Job{Kind: "k", Organization: fmt.Sprint("org", i%2), ID: fmt.Sprint(i)}))
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), d.pool(t), func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SELECT FROM mortise.jobs ORDER BY claimable_at, seq LIMIT 14 FOR UPDATE")
		require.NoError(t, err)
		leases, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{"k"}, Limit: 3, TTL: time.Hour})
		require.Len(t, leases, 3)
		return err
	}))
	leases, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{"k"}, Limit: 20, TTL: time.Hour})
	require.NoError(t, err)
	require.Len(t, leases, 17)
}

// TestLateJobs: a job that is committed long after it was added is claimed within ten seconds,
// by a worker that finds nothing else, and by one that always does, without a notice.
func TestLateJobs(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprint("busy=", busy), func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			worker, other := d.open(t, nil), d.open(t, nil)
			now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
			worker.SetNow(func() time.Time { return now })
			other.SetNow(func() time.Time { return now })
			job := func(id string) mortise.Job { return mortise.Job{Kind: "k", Organization: "acme", ID: id} }
			claim := func() (ids []string) {
				leases, err := worker.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{"k"}, Limit: 10, TTL: time.Hour})
				require.NoError(t, err)
				for _, l := range leases {
					ids = append(ids, l.Job.ID)
				}
				return ids
			}
			second := func() []string {
				now = now.Add(time.Second)
				if busy {
					require.NoError(t, worker.Jobs().Add(t.Context(), job(uuid.NewString())))
				}
				return claim()
			}
			require.Empty(t, claim())
			require.NoError(t, inTx(t, d.pool(t), func(ctx context.Context) error {
				if err := other.Jobs().Add(ctx, job("late")); err != nil {
					return err
				}
				for range 15 {
					require.NotContains(t, second(), "late")
				}
				return nil
			}))
			for range 10 {
				if slices.Contains(second(), "late") {
					return
				}
			}
			t.Error("the job was not claimed")
		})
	}
}

// TestDeadRows: DeadRows counts the rows that a transaction keeps, and tells for how long it
// has run: a transaction with a snapshot, and one that has only written.
func TestDeadRows(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"snapshot": "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM mortise.jobs", "written": "BEGIN; SELECT txid_current()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRounds(t, 1, false)
			conn, err := pgx.Connect(t.Context(), r.server.DSN(r.name))
			require.NoError(t, err)
			defer func() { _ = conn.Close(context.Background()) }()
			_, err = conn.Exec(t.Context(), begin)
			require.NoError(t, err)
			require.NoError(t, r.db.Jobs().Add(t.Context(), mortise.Job{Kind: "k", Organization: "acme", ID: "1"}))
			require.NoError(t, r.db.Jobs().Cancel(t.Context(), mortise.Job{Kind: "k", Organization: "acme", ID: "1"}))
			time.Sleep(10 * time.Millisecond)
			r.entries(t) // has the sessions tell of their changes
			rows, oldest, err := r.db.DeadRows(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 1, rows)
			require.GreaterOrEqual(t, oldest, 10*time.Millisecond)
		})
	}
}
