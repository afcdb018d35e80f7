package postgres_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// txQueue is a queue in a table of the database, to which a test adds jobs as it likes.
type txQueue struct {
	mortise.Queue
	add   func(ctx context.Context, tx pgx.Tx, id string) error
	calls int
}

const (
	jobTable = "CREATE TABLE public.host_jobs (id text)"
	addJob   = "INSERT INTO public.host_jobs VALUES ($1) RETURNING id"
)

func (q *txQueue) EnqueueTx(ctx context.Context, tx pgx.Tx, j mortise.Job) error {
	return q.EnqueueManyTx(ctx, tx, []mortise.Job{j})
}

func (q *txQueue) EnqueueManyTx(ctx context.Context, tx pgx.Tx, jobs []mortise.Job) error {
	q.calls++
	for _, j := range jobs {
		if err := q.add(ctx, tx, j.ID); err != nil {
			return err
		}
	}
	return nil
}

// byQuery adds a job as River does.
func byQuery(ctx context.Context, tx pgx.Tx, id string) error {
	rows, err := tx.Query(ctx, addJob, id)
	if err != nil {
		return err
	}
	_, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

// withQueue is a store whose jobs go to a queue of the test's.
type withQueue struct {
	*txQueue
	store *triggerdb.Store
	pool  *pgxpool.Pool
	sends atomic.Int64           // writes to the server
	cut   atomic.Pointer[string] // see cutConn
}

// countConn counts the writes.
type countConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c *countConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

func newWithQueue(t *testing.T, d *database) *withQueue {
	w := &withQueue{txQueue: &txQueue{add: byQuery}}
	config := d.pool(t).Config()
	config.MaxConns = 1
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &countConn{&cutConn{conn, &w.cut}, &w.sends}, err
	}
	var err error
	w.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(t.Context()), config)
	require.NoError(t, err)
	t.Cleanup(func() { closePool(t, w.pool) })
	_, err = w.pool.Exec(t.Context(), jobTable)
	require.NoError(t, err)
	db, err := postgres.New(t.Context(), w.pool, &postgres.Options{Queue: w.txQueue})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	w.store = triggerStore(db)
	return w
}

func (w *withQueue) create(ctx context.Context, e *trigger.Event) (created bool, err error) {
	_, created, err = w.store.CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
	return created, err
}

// stored requires so many events and jobs to be there.
func (w *withQueue) stored(t *testing.T, events, jobs int, about ...any) {
	t.Helper()
	var e, j int
	const count = "SELECT (SELECT count(*) FROM mortise.trigger_events), (SELECT count(*) FROM public.host_jobs)"
	require.NoError(t, w.pool.QueryRow(t.Context(), count).Scan(&e, &j))
	require.Equal(t, [2]int{events, jobs}, [2]int{e, j}, about...)
}

// deafConn is a connection whose server hears nothing any more.
type deafConn struct {
	net.Conn
	deaf *atomic.Bool
}

func (c *deafConn) Write(p []byte) (int, error) {
	if c.deaf.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}
