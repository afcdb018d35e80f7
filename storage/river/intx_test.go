package river_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/river"
)

// beforeEach is a tracer that is called before each statement.
type beforeEach func()

func (f beforeEach) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	f()
	return ctx
}

func (f beforeEach) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

type txKey struct{}

func txOf(ctx context.Context) (pgx.Tx, bool) {
	tx, ok := ctx.Value(txKey{}).(pgx.Tx)
	return tx, ok
}

// TestInTxContextEnds: a call whose context ends before any of its statements is a part of the
// host's transaction as a whole or not at all, as its error says, and the host goes on.
func TestInTxContextEnds(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	q := d.queue(t, &river.Options{Tx: txOf})
	config, err := pgxpool.ParseConfig(d.server.DSN(d.name))
	require.NoError(t, err)
	before := func() {}
	config.ConnConfig.Tracer = beforeEach(func() { before() })
	pool, err := pgxpool.NewWithConfig(ctx, config)
	require.NoError(t, err)
	defer pool.Close()
	j := job("order")
	for _, call := range []struct {
		do     func(context.Context, mortise.Job) error
		begin  func(context.Context, mortise.Job) error // what stands before
		before int                                      // how many jobs that leaves
		after  int
	}{
		{do: q.Enqueue, begin: q.Cancel, before: 0, after: 1},
		{do: q.Cancel, begin: q.Enqueue, before: 1, after: 0},
	} {
		for last, statements := 0, 0; statements >= last; last++ { // until none is left to end it before
			require.NoError(t, call.begin(ctx, j))
			require.Len(t, d.rows(t), call.before)
			statements = 0
			var called error
			require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				within, cancel := context.WithCancel(context.WithValue(ctx, txKey{}, tx))
				defer cancel()
				before = func() {
					if statements == last {
						cancel()
					}
					statements++
				}
				called = call.do(within, j)
				before = func() {}
				_, err := tx.Exec(ctx, "SELECT 1")
				return err
			}), "the host's work ended with a call")
			there := call.before
			if called == nil {
				there = call.after
			}
			require.Len(t, d.rows(t), there, "at statement %d, after %v", last, called)
		}
	}
}

// TestInTxTimeout: a call that waits for a lock for too long fails, and the host's work goes on.
func TestInTxTimeout(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	q, pool := d.queue(t, &river.Options{Tx: txOf, Timeout: 200 * time.Millisecond}), d.pool(t)
	patient := d.queue(t, &river.Options{Tx: txOf}) // a busy machine takes its time
	taken, other := job("order"), job("order")
	holder, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.WithoutCancel(ctx)) }()
	require.NoError(t, d.queue(t, nil).EnqueueTx(ctx, holder, taken))
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		within := context.WithValue(ctx, txKey{}, tx)
		require.ErrorIs(t, q.Enqueue(within, taken), context.DeadlineExceeded)
		return patient.Enqueue(within, other)
	}))
	require.Len(t, d.rows(t), 1)
}

// TestInTxWithoutTimeout: the longest Timeout that there is means that a call may wait for
// ever.
func TestInTxWithoutTimeout(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	q, pool := d.queue(t, &river.Options{Tx: txOf, Timeout: math.MaxInt64}), d.pool(t)
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		return q.Enqueue(context.WithValue(ctx, txKey{}, tx), job("order"))
	}))
	require.Len(t, d.rows(t), 1)
}

// TestEnqueueTxTimeout: so does a transaction that EnqueueTx is given, behind a savepoint, as
// the stores of storage/postgres give it one of the host's.
func TestEnqueueTxTimeout(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	q, pool := d.queue(t, &river.Options{Timeout: 200 * time.Millisecond}), d.pool(t)
	patient := d.queue(t, nil)
	taken, other := job("order"), job("order")
	holder, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.WithoutCancel(ctx)) }()
	require.NoError(t, d.queue(t, nil).EnqueueTx(ctx, holder, taken))
	for _, add := range []func(context.Context, pgx.Tx, mortise.Job) error{
		q.EnqueueTx,
		func(ctx context.Context, tx pgx.Tx, j mortise.Job) error {
			return q.EnqueueManyTx(ctx, tx, []mortise.Job{j})
		},
	} {
		require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error { return add(ctx, inner, taken) })
			require.ErrorContains(t, err, "no answer within Options.Timeout")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return patient.EnqueueTx(ctx, tx, other)
		}))
	}
	require.Len(t, d.rows(t), 1)
}
