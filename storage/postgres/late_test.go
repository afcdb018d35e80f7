package postgres_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// TestLateTx: whatever a queue does with the transaction that it is given, event and job are
// there, or, where the event is there before, no job comes. One query is one round trip with all
// that stands before it, and COMMIT is one.
func TestLateTx(t *testing.T) {
	t.Parallel()
	uses := map[string]func(ctx context.Context, tx pgx.Tx, id string) error{
		"Query": byQuery,
		"Query with an option": func(ctx context.Context, tx pgx.Tx, id string) error {
			rows, err := tx.Query(ctx, addJob, pgx.QueryExecModeExec, id)
			if err != nil {
				return err
			}
			rows.Close()
			return rows.Err()
		},
		"Query, of which one row is read": func(ctx context.Context, tx pgx.Tx, id string) error {
			rows, err := tx.Query(ctx, addJob+", 1", id)
			if err != nil {
				return err
			}
			defer rows.Close()
			rows.Next()
			return rows.Err()
		},
		"Query, whose row is not what was thought": func(ctx context.Context, tx pgx.Tx, id string) error {
			rows, err := tx.Query(ctx, addJob, id)
			if err != nil {
				return err
			}
			rows.Next()
			var n int
			require.Error(t, rows.Scan(&n)) // and so the rows are closed
			return nil
		},
		"QueryRow": func(ctx context.Context, tx pgx.Tx, id string) error { return tx.QueryRow(ctx, addJob, id).Scan(&id) },
		"Exec": func(ctx context.Context, tx pgx.Tx, id string) error {
			_, err := tx.Exec(ctx, addJob, id)
			return err
		},
		"Exec behind a Query": func(ctx context.Context, tx pgx.Tx, id string) error {
			rows, err := tx.Query(ctx, "SELECT 1")
			if err != nil {
				return err
			}
			if _, err := pgx.CollectRows(rows, pgx.RowTo[int]); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, addJob, id)
			return err
		},
		"SendBatch": func(ctx context.Context, tx pgx.Tx, id string) error {
			b := new(pgx.Batch)
			b.Queue(addJob, id)
			return tx.SendBatch(ctx, b).Close()
		},
		"CopyFrom": func(ctx context.Context, tx pgx.Tx, id string) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"public", "host_jobs"}, []string{"id"}, pgx.CopyFromRows([][]any{{id}}))
			return err
		},
		"Begin": func(ctx context.Context, tx pgx.Tx, id string) error {
			return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return byQuery(ctx, tx, id) })
		},
		"LargeObjects": func(ctx context.Context, tx pgx.Tx, id string) error {
			objects := tx.LargeObjects()
			made, err := objects.Create(ctx, 0)
			if err != nil {
				return err
			}
			return errors.Join(objects.Unlink(ctx, made), byQuery(ctx, tx, id))
		},
		"Prepare": func(ctx context.Context, tx pgx.Tx, id string) error {
			if _, err := tx.Prepare(ctx, id, addJob); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, id, id)
			return err
		},
	}
	for _, exec := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol,
	} {
		d, mode := newDatabase(t), exec.String()
		d.mode = exec
		w, ctx, n := newWithQueue(t, d), t.Context(), 0
		for name, use := range uses {
			w.add = use
			e := triggerEvent("acme")
			for _, want := range []bool{true, false} {
				created, err := w.create(ctx, e)
				require.NoError(t, err, "%s, %s", name, mode)
				require.Equal(t, want, created, "%s, %s", name, mode)
			}
			n++
			w.stored(t, n, n, name, mode)
		}
		w.add = func(context.Context, pgx.Tx, string) error { return nil }
		_, err := w.create(ctx, triggerEvent("acme"))
		require.NoError(t, err)
		w.stored(t, n+1, n, "a queue that does nothing with it, %s", mode)

		w.add = byQuery
		before := w.sends.Load()
		_, err = w.create(ctx, triggerEvent("acme"))
		require.NoError(t, err)
		if exec == pgx.QueryExecModeCacheStatement {
			require.Equal(t, int64(2), w.sends.Load()-before, "round trips")
		}
	}
}

// TestLateTxFails: of an event and a job of which one fails nothing is stored, and the
// connection goes on.
func TestLateTxFails(t *testing.T) {
	t.Parallel()
	w, ctx := newWithQueue(t, newDatabase(t)), t.Context()
	e := triggerEvent("acme")
	_, err := w.create(ctx, e)
	require.NoError(t, err)

	refusal := errors.New("no more jobs")
	for name, refuse := range map[string]func(ctx context.Context, tx pgx.Tx, id string) error{
		"at once": func(context.Context, pgx.Tx, string) error { return refusal },
		"behind a query": func(ctx context.Context, tx pgx.Tx, id string) error {
			return errors.Join(byQuery(ctx, tx, id), refusal)
		},
	} {
		w.add = refuse
		_, err := w.create(ctx, triggerEvent("acme"))
		require.ErrorIs(t, err, refusal, name)
		created, err := w.create(ctx, e)
		require.NoError(t, err, "%s, of an event that is there", name)
		require.False(t, created)
		w.stored(t, 1, 1, name)
	}
	w.add = func(ctx context.Context, tx pgx.Tx, id string) error {
		rows, _ := tx.Query(ctx, "SELECT 1 / ($1 || '0')::int", "")
		rows.Close()
		require.Error(t, rows.Err())
		return nil // and has not looked
	}
	_, err = w.create(ctx, triggerEvent("acme"))
	require.ErrorIs(t, err, pgx.ErrTxCommitRollback)
	w.add = func(ctx context.Context, tx pgx.Tx, id string) error {
		_, err := tx.Query(ctx, "SELECT FROM nowhere")
		return errors.Join(refusal, err)
	}
	_, err = w.create(ctx, triggerEvent("acme"))
	require.ErrorIs(t, err, refusal, "what the queue says of a query that cannot be prepared")
	w.stored(t, 1, 1, "a query that fails")

	w.add = byQuery
	for _, statement := range []string{
		"CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not here'; END $$",
		"CREATE TRIGGER refuse BEFORE INSERT ON mortise.trigger_events EXECUTE FUNCTION public.refuse()",
	} {
		_, err := w.pool.Exec(ctx, statement)
		require.NoError(t, err)
	}
	_, err = w.create(ctx, triggerEvent("acme"))
	require.ErrorContains(t, err, "not here")
	require.NotContains(t, err.Error(), "the queue", "which has not been asked")
	_, err = w.pool.Exec(ctx, "DROP FUNCTION public.refuse() CASCADE")
	require.NoError(t, err)
	w.stored(t, 1, 1, "an event that fails")

	created, err := w.create(ctx, triggerEvent("acme"))
	require.NoError(t, err)
	require.True(t, created)
	w.stored(t, 2, 2)
}

// TestLateTxUnanswered: a server that is silent is not asked a second time, by another
// connection, for which its caller would wait as long again.
func TestLateTxUnanswered(t *testing.T) {
	t.Parallel()
	w := newWithQueue(t, newDatabase(t))
	config := w.pool.Config()
	config.MaxConns = 2
	var deaf atomic.Bool
	var mu sync.Mutex
	var conns []net.Conn
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, conn)
		return &deafConn{conn, &deaf}, nil
	}
	var connected atomic.Int64 // of the pool's: pgx itself makes one that asks for a statement to be cancelled
	config.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		connected.Add(1)
		return nil
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(t.Context()), config)
	require.NoError(t, err)
	t.Cleanup(func() { closePool(t, pool) })
	db, err := postgres.New(t.Context(), pool, &postgres.Options{Queue: w.txQueue, Timeout: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	w.store = triggerStore(db)
	_, err = w.create(t.Context(), triggerEvent("acme"))
	require.NoError(t, err)

	deaf.Store(true)
	_, err = w.create(t.Context(), triggerEvent("acme"))
	mu.Lock()
	defer mu.Unlock()
	for _, c := range conns { // for which pgx would wait
		_ = c.Close()
	}
	deaf.Store(false)
	require.ErrorContains(t, err, "no answer within Options.Timeout")
	require.Equal(t, int64(1), connected.Load())
}

// TestLateTxEnded: what a queue commits is there, and what it rolls back is not. That it has ended
// the transaction, which is not its own, is an error.
func TestLateTxEnded(t *testing.T) {
	t.Parallel()
	w, ctx := newWithQueue(t, newDatabase(t)), t.Context()
	commit, rollback := pgx.Tx.Commit, pgx.Tx.Rollback
	events, jobs := 0, 0
	for name, c := range map[string]struct {
		before func(context.Context, pgx.Tx, string) error // nil: nothing
		end    func(pgx.Tx, context.Context) error
		events int
		jobs   int
	}{
		"commit at once": {end: commit, events: 1}, "commit behind a query": {before: byQuery, end: commit, events: 1, jobs: 1},
		"roll back at once": {end: rollback}, "roll back behind a query": {before: byQuery, end: rollback},
	} {
		w.add = func(ctx context.Context, tx pgx.Tx, id string) error {
			if c.before != nil {
				assert.NoError(t, c.before(ctx, tx, id), name)
			}
			assert.NoError(t, c.end(tx, ctx), name)
			return nil
		}
		_, err := w.create(ctx, triggerEvent("acme"))
		require.ErrorIs(t, err, pgx.ErrTxClosed, name)
		events, jobs = events+c.events, jobs+c.jobs
		w.stored(t, events, jobs, name)
	}
}

// TestLateTxEnds: while an event waits for a lock, its caller leaves.
func TestLateTxEnds(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	w := newWithQueue(t, d)
	_, err := w.create(t.Context(), triggerEvent("acme"))
	require.NoError(t, err)
	heal := d.lock(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := w.create(ctx, triggerEvent("acme"))
		ended <- err
	}()
	d.awaitLock(t)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	heal()
	require.Equal(t, 2, w.calls)
	w.stored(t, 1, 1)
}

// TestLateTxReady: a queue hears when the time of its own statement begins: behind what
// the event waits for, once, and not at all if the event is there before.
func TestLateTxReady(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	w, ctx := newWithQueue(t, d), t.Context()
	var ready atomic.Int64
	w.add = func(ctx context.Context, tx pgx.Tx, id string) error {
		if late, is := tx.(interface{ WhenReady(func()) }); is {
			late.WhenReady(func() { ready.Add(1) })
		}
		return byQuery(ctx, tx, id)
	}
	e := triggerEvent("acme")
	heal := d.lock(t)
	ended := make(chan error, 1)
	go func() {
		_, err := w.create(ctx, e)
		ended <- err
	}()
	d.awaitLock(t)
	require.Zero(t, ready.Load(), "it waits for a lock")
	heal()
	require.NoError(t, <-ended)
	require.Equal(t, int64(1), ready.Load())
	created, err := w.create(ctx, e)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, int64(1), ready.Load())

	w.add = func(ctx context.Context, tx pgx.Tx, id string) error {
		require.NoError(t, byQuery(ctx, tx, id))
		tx.(interface{ WhenReady(func()) }).WhenReady(func() { ready.Add(1) })
		require.Equal(t, int64(2), ready.Load(), "it is ready")
		return nil
	}
	_, err = w.create(ctx, triggerEvent("acme"))
	require.NoError(t, err)
}

// TestLateTxLost: an event whose connection is lost before COMMIT is sent is stored by another
// one. If it is lost behind that, only the caller can find out, and nothing is tried again.
func TestLateTxLost(t *testing.T) {
	t.Parallel()
	w, ctx := newWithQueue(t, newDatabase(t)), t.Context()
	_, err := w.create(ctx, triggerEvent("acme"))
	require.NoError(t, err)
	w.calls = 0
	answer := "INSERT 0 1\x00"
	w.cut.Store(&answer)
	created, err := w.create(ctx, triggerEvent("acme"))
	require.NoError(t, err)
	require.Nil(t, w.cut.Load(), "no answer was lost")
	require.True(t, created)
	require.Equal(t, 2, w.calls)
	w.stored(t, 2, 2)

	answer = "COMMIT\x00"
	w.cut.Store(&answer)
	_, err = w.create(ctx, triggerEvent("acme"))
	require.Error(t, err)
	require.Nil(t, w.cut.Load(), "no answer was lost")
	require.Equal(t, 3, w.calls)
	w.stored(t, 3, 3)
}

// TestLateTxNotSent: a queue whose first query pgx cannot send is told so as in a
// transaction of pgx's, and goes on as there.
func TestLateTxNotSent(t *testing.T) {
	t.Parallel()
	queries := map[string]func(ctx context.Context, tx pgx.Tx) (pgx.Rows, error){
		"a value that no parameter takes": func(ctx context.Context, tx pgx.Tx) (pgx.Rows, error) {
			return tx.Query(ctx, addJob, struct{}{})
		},
		"too many values": func(ctx context.Context, tx pgx.Tx) (pgx.Rows, error) {
			return tx.Query(ctx, addJob, "a", "b")
		},
		"a name without a value": func(ctx context.Context, tx pgx.Tx) (pgx.Rows, error) {
			return tx.Query(ctx, "SELECT @id::text", pgx.StrictNamedArgs{})
		},
	}
	for _, exec := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol,
	} {
		d := newDatabase(t)
		d.mode = exec
		w, ctx, n := newWithQueue(t, d), t.Context(), 0
		for name, query := range queries {
			about := name + ", " + exec.String()
			var told error
			w.add = func(ctx context.Context, tx pgx.Tx, id string) error {
				var rows pgx.Rows
				if rows, told = query(ctx, tx); told == nil {
					rows.Close()
					told = rows.Err()
				}
				return byQuery(ctx, tx, id)
			}
			plain, err := w.pool.Begin(ctx)
			require.NoError(t, err)
			want := w.add(ctx, plain, "job")
			require.NoError(t, plain.Rollback(ctx))
			require.Error(t, told, about)
			wantTold := told.Error()

			created, err := w.create(ctx, triggerEvent("acme"))
			require.EqualError(t, told, wantTold, about)
			if want != nil { // the server has refused it
				require.ErrorContains(t, err, want.Error(), about)
			} else {
				require.NoError(t, err, about)
				require.True(t, created, about)
				n++
			}
			w.stored(t, n, n, about)

			goOn := w.add
			w.add = func(ctx context.Context, tx pgx.Tx, id string) error {
				_ = goOn(ctx, tx, id)
				return told
			}
			_, err = w.create(ctx, triggerEvent("acme"))
			require.ErrorContains(t, err, wantTold, about)
			w.stored(t, n, n, about)
		}
		require.GreaterOrEqual(t, n, len(queries)-1, exec.String())
	}
}
