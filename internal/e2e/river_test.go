package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/river"
	"github.com/seed-6363c74e/mortise/trigger"
)

// sharedWithRiver returns a pool of a database that has our tables and those of River.
func sharedWithRiver(t *testing.T) *pgxpool.Pool {
	t.Helper()
	ctx, database := t.Context(), sharedDatabase(t)
	pool, err := pgxpool.New(ctx, database)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	conn, err := pgx.Connect(ctx, database)
	require.NoError(t, err)
	require.NoError(t, postgres.Migrate(ctx, conn, nil))
	require.NoError(t, conn.Close(ctx))
	require.NoError(t, river.Migrate(ctx, pool, nil))
	return pool
}

// A store on PostgreSQL and a queue on River share transactions: an event has its job in
// River's tables or there is no event, in the store's transaction and in the host's. The
// worker of triggers runs on it, and what people see there is no instruction.
func TestRiverSharesTransactions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool := sharedWithRiver(t)
	queue, err := river.New(pool, &river.Options{Tx: postgres.HostTx, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	db, err := postgres.New(ctx, pool, &postgres.Options{Queue: queue})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	backend := db.Trigger()
	require.True(t, queue.Shares(backend.Store))
	plain, err := river.New(pool, nil)
	require.NoError(t, err)
	require.False(t, plain.Shares(backend.Store), "the store adds its jobs to another queue")
	require.False(t, db.Jobs().(mortise.Sharer).Shares(backend.Store), "the store adds its jobs elsewhere")
	service, err := trigger.New(backend, nil)
	require.NoError(t, err)

	count := func(table string) (n int) {
		require.NoError(t, pool.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n))
		return n
	}
	same := func(n int, why string) {
		t.Helper()
		require.Equal(t, n, count("mortise.trigger_events"), why)
		require.Equal(t, n, count("mortise_river.river_job"), why)
		require.Zero(t, count("mortise.jobs"), why)
	}
	submit := func(ctx context.Context, key string) error {
		_, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "the instruction", IdempotencyKey: key})
		return err
	}
	require.NoError(t, submit(ctx, "one"))
	require.NoError(t, submit(ctx, "one"))
	same(1, "the store's own transaction")

	undone := errors.New("no money")
	within := func(key string, fail error) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			return errors.Join(submit(postgres.InTx(ctx, tx), key), fail)
		})
	}
	require.ErrorIs(t, within("two", undone), undone)
	same(1, "a host's transaction that was rolled back")
	require.NoError(t, within("two", nil))
	same(2, "a host's transaction")

	// The queue's own calls are part of the host's transaction, too.
	job := mortise.Job{Kind: "order", Organization: "acme", ID: "42"}
	orders := func() (n int) {
		require.NoError(t, pool.QueryRow(ctx, "SELECT count(*) FROM mortise_river.river_job WHERE queue = 'order'").Scan(&n))
		return n
	}
	for i, step := range []struct {
		do   func(context.Context, mortise.Job) error
		fail error
		left int
	}{{queue.Enqueue, undone, 0}, {queue.Enqueue, nil, 1}, {queue.Cancel, undone, 1}, {queue.Cancel, nil, 0}} {
		require.ErrorIs(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			require.NoError(t, step.do(postgres.InTx(ctx, tx), job), "step %d", i)
			return step.fail
		}), step.fail)
		require.Equal(t, step.left, orders(), "step %d", i)
	}

	// River refuses: there is no event either.
	_, err = pool.Exec(ctx, "ALTER TABLE mortise_river.river_job ADD CONSTRAINT refused CHECK (false) NOT VALID")
	require.NoError(t, err)
	require.Error(t, submit(ctx, "three"))
	_, err = pool.Exec(ctx, "ALTER TABLE mortise_river.river_job DROP CONSTRAINT refused")
	require.NoError(t, err)
	same(2, "a job that River's tables refuse")

	// Of many that share a transaction, it refuses some: those alone are not there.
	_, err = pool.Exec(ctx, "ALTER TABLE mortise_river.river_job ADD CONSTRAINT refused CHECK (args->>'organization' <> 'refused') NOT VALID")
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			org, key := "other", fmt.Sprint(i/2) // each twice
			if i%5 == 0 {
				org = "refused"
			}
			_, err := service.Submit(ctx, org, "ann", trigger.Submission{Instructions: "the instruction", IdempotencyKey: key})
			assert.Equal(t, org == "refused", err != nil, "%s: %v", org, err)
		})
	}
	all.Wait()
	const kept = 30 // of each key one at least is not refused
	same(2+kept, "jobs of many callers")
	for _, table := range []string{"mortise.trigger_events WHERE organization = 'other'", "mortise_river.river_job WHERE args->>'organization' = 'other'"} {
		require.Equal(t, kept, count(table))
		_, err = pool.Exec(ctx, "DELETE FROM "+table)
		require.NoError(t, err)
	}
	same(2, "what is left")
	var shown string
	require.NoError(t, pool.QueryRow(ctx, "SELECT string_agg(j::text, ' ') FROM mortise_river.river_job j").Scan(&shown))
	require.NotContains(t, shown, "the instruction")

	processed := make(chan string, 10)
	worker, err := trigger.NewWorker(service, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		processed <- e.IdempotencyKey
		return trigger.Outcome{}, nil
	}, nil)
	require.NoError(t, err)
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(running) }()
	for range 2 {
		select {
		case <-processed:
		case <-time.After(time.Minute):
			t.Fatal("an event is not processed")
		}
	}
	cancel()
	require.NoError(t, <-ended)
	var completed int
	require.NoError(t, pool.QueryRow(ctx, "SELECT count(*) FROM mortise_river.river_job WHERE state = 'completed'").Scan(&completed))
	require.Equal(t, 2, completed)
}
