package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
)

// beforeEach is a tracer that is called before each statement.
type beforeEach func()

func (f beforeEach) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	f()
	return ctx
}

func (f beforeEach) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestInTxContextEnds: a call whose context ends before any of its statements is a part of
// the host's transaction as a whole or not at all, as its error says, and the host goes on.
func TestInTxContextEnds(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	db := d.open(t, nil)
	before := func() {}
	pool := d.traced(t, beforeEach(func() { before() }))
	events := db.Trigger().Store
	for last := 0; ; last++ {
		e := trigger.Event{ID: uuid.New(), Organization: "acme", SubmittedAt: time.Now(), Source: "host", Status: trigger.StatusReceived, Instructions: "Describe it."}
		j := mortise.Job{Kind: "order", Organization: "acme", ID: e.ID.String()}
		statements := 0
		var called error
		require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			within, cancel := context.WithCancel(postgres.InTx(ctx, tx))
			defer cancel()
			before = func() {
				if statements == last {
					cancel()
				}
				statements++
			}
			_, _, called = events.(trigger.TxStore).CreateEventAndAdd(within, e, time.Time{}, j)
			before = func() {}
			_, err := tx.Exec(ctx, "SELECT 1")
			return err
		}), "the host's work ended with a call")
		_, err := events.Event(ctx, "acme", e.ID)
		leases, claimErr := db.Jobs().Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{"order"}, Limit: 10, TTL: time.Minute})
		require.NoError(t, claimErr)
		if called == nil {
			require.NoError(t, err)
			require.Len(t, leases, 1)
		} else {
			require.ErrorIs(t, called, context.Canceled)
			require.ErrorIs(t, err, mortise.ErrNotFound, "a part of a call that failed was committed, at statement %d", last)
			require.Empty(t, leases, "a part of a call that failed was committed, at statement %d", last)
		}
		if statements <= last { // none was left to end it before
			require.NoError(t, called)
			return
		}
	}
}

// TestInTxTimeout: a call that waits for a lock for too long, or for longer than its caller,
// fails, and the host's work goes on.
func TestInTxTimeout(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	db, pool := d.open(t, &postgres.Options{Timeout: 200 * time.Millisecond}), d.pool(t)
	patient := d.open(t, &postgres.Options{Timeout: time.Minute})
	_, err := pool.Exec(ctx, "CREATE TABLE orders (id int PRIMARY KEY)")
	require.NoError(t, err)
	taken := mortise.Job{Kind: "order", Organization: "acme", ID: "taken"}
	holder, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.WithoutCancel(ctx)) }()
	require.NoError(t, patient.Jobs().Add(postgres.InTx(ctx, holder), taken))
	left := errors.New("the caller has left")
	for i, wait := range []struct {
		db   *postgres.DB
		ends func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{db, context.WithCancel, postgres.ErrTimeout},
		{patient, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, 200*time.Millisecond, left)
		}, left},
	} {
		require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO orders VALUES ($1)", i); err != nil {
				return err
			}
			within, cancel := wait.ends(postgres.InTx(ctx, tx))
			defer cancel()
			require.ErrorIs(t, wait.db.Jobs().Add(within, taken), wait.want)
			return wait.db.Jobs().Add(postgres.InTx(ctx, tx), mortise.Job{Kind: "order", Organization: "acme", ID: fmt.Sprint(i)})
		}))
	}
	var orders, jobs int
	require.NoError(t, pool.QueryRow(ctx, "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM mortise.jobs)").Scan(&orders, &jobs))
	require.Equal(t, []int{2, 2}, []int{orders, jobs})
}
