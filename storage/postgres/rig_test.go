package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/internal/testmain"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

func TestMain(m *testing.M) {
	testmain.Parallel(1) // for the database, which may be away
	pgserver.Main(m, checkPlans)
}

// template is a database with the tables, of which the tests have copies.
var template struct {
	once sync.Once
	mu   sync.Mutex // CREATE DATABASE copies one at a time
	n    atomic.Int64
	err  error

	idle []*database // that tests are done with, and that are empty again
}

// database is a database of a test.
type database struct {
	server *pgserver.Server
	name   string
	mode   pgx.QueryExecMode                     // of its pools; 0: pgx's default
	role   string                                // of its pools, which are not kept then; "": the tables' owner
	inTx   bool                                  // each call is made in a transaction of the host's
	keeper *pgx.Conn                             // of giveBack
	pools  map[pgx.QueryExecMode][]*pgxpool.Pool // that nobody uses
}

// newDatabase returns an empty database with the tables, on the server that the tests share.
func newDatabase(t testing.TB) *database {
	t.Helper()
	return takeDatabase(t, false)
}

// execDatabase is newDatabase with pools that prepare nothing, as behind a PgBouncer before
// 1.21: pgx goes by the Go types of the arguments, and results are texts.
func execDatabase(t testing.TB) *database {
	t.Helper()
	d := newDatabase(t)
	d.mode = pgx.QueryExecModeExec
	return d
}

// inTxDatabase is newDatabase for stores whose calls are each made in a transaction of the host's.
func inTxDatabase(t testing.TB) *database {
	t.Helper()
	d := newDatabase(t)
	d.inTx = true
	return d
}

// takeDatabase returns a database, for the test. PostgreSQL keeps what it learned of the
// columns of a table that is emptied: one that is unused it knows nothing of.
func takeDatabase(t testing.TB, unused bool) *database {
	t.Helper()
	server := pgserver.Shared(t)
	template.once.Do(func() {
		template.err = admin(server, func(ctx context.Context, conn *pgx.Conn) error {
			if _, err := conn.Exec(ctx, "CREATE DATABASE mortise_template"); err != nil {
				return err
			}
			conn, err := pgx.Connect(ctx, server.DSN("mortise_template"))
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close(ctx) }()
			return postgres.Migrate(ctx, conn, nil)
		})
	})
	require.NoError(t, template.err)
	template.mu.Lock()
	defer template.mu.Unlock()
	if n := len(template.idle); n > 0 && !unused {
		d := template.idle[n-1]
		template.idle = template.idle[:n-1]
		t.Cleanup(func() { d.giveBack(t) })
		return d
	}
	d := &database{server: server, name: fmt.Sprintf("t%d", template.n.Add(1)), pools: make(map[pgx.QueryExecMode][]*pgxpool.Pool)}
	require.NoError(t, admin(server, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE DATABASE "+d.name+" TEMPLATE mortise_template STRATEGY file_copy")
		return err
	}))
	t.Cleanup(func() { d.giveBack(t) })
	return d
}

// empty makes the database what its template is. To make another one takes far longer, and
// so does it to truncate tables that were not used: each is new files.
const empty = `DO $$
DECLARE used text;
BEGIN
	SELECT string_agg(oid::regclass::text, ', ') INTO used FROM pg_class
	WHERE relnamespace = 'mortise'::regnamespace AND relkind = 'r' AND relname NOT IN ('mortise_scripts', 'revocations') AND pg_relation_size(oid) > 0;
	IF used IS NOT NULL THEN
		EXECUTE 'TRUNCATE ' || used || ' CASCADE';
	END IF;
	DELETE FROM mortise.revocations WHERE database IS NULL; -- the database keeps its name
	PERFORM setval(format('%I.%I', schemaname, sequencename), start_value, false) FROM pg_sequences
	WHERE schemaname = 'mortise' AND last_value IS NOT NULL;
	IF to_regnamespace('other') IS NOT NULL OR EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('public')) THEN
		DROP SCHEMA IF EXISTS public, other CASCADE;
		CREATE SCHEMA public;
	END IF;
END $$`

// leaveAlone ends the connections to the database but for the caller's and those given.
const leaveAlone = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> ALL($1)"

// giveBack empties the database for the next test.
func (d *database) giveBack(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if d.keeper == nil || d.keeper.Ping(ctx) != nil { // a test may have ended its session
		var err error
		d.keeper, err = pgx.Connect(ctx, d.server.DSN(d.name))
		require.NoError(t, err)
	}
	stay := []uint32{d.keeper.PgConn().PID()}
	for _, pools := range d.pools {
		for _, pool := range pools {
			for _, conn := range pool.AcquireAllIdle(ctx) {
				// A plan for empty tables, made by a test before, would not do for the next one.
				if _, err := conn.Exec(ctx, "DISCARD PLANS"); err == nil { // else it is dropped
					stay = append(stay, conn.Conn().PgConn().PID())
				}
				conn.Release()
			}
		}
	}
	for others := int64(1); others > 0; { // PostgreSQL itself looks every 100 ms
		tag, err := d.keeper.Exec(ctx, leaveAlone, stay)
		require.NoError(t, err)
		others = tag.RowsAffected()
		if others > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	_, err := d.keeper.Exec(ctx, empty)
	require.NoError(t, err)
	d.mode, d.role, d.inTx = 0, "", false
	template.mu.Lock()
	defer template.mu.Unlock()
	template.idle = append(template.idle, d)
}

func admin(server *pgserver.Server, do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.DSN("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return do(ctx, conn)
}

// pool returns a pool of the database's, for the test. Its connections may have been those
// of a test before.
func (d *database) pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	mode := d.mode
	if n := len(d.pools[mode]); n > 0 && d.role == "" {
		pool := d.pools[mode][n-1]
		d.pools[mode] = d.pools[mode][:n-1]
		t.Cleanup(func() { d.keepPool(t, mode, pool) })
		return pool
	}
	config, err := pgxpool.ParseConfig(d.server.DSN(d.name))
	require.NoError(t, err)
	config.MaxConns = 8
	if mode != 0 {
		config.ConnConfig.DefaultQueryExecMode = mode
	}
	if d.role != "" {
		config.ConnConfig.RuntimeParams["role"] = d.role
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(t.Context()), config)
	require.NoError(t, err)
	t.Cleanup(func() { d.keepPool(t, mode, pool) })
	return pool
}

// traced returns a pool with a tracer, for the test alone.
func (d *database) traced(t testing.TB, tracer pgx.QueryTracer) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(d.server.DSN(d.name))
	require.NoError(t, err)
	config.ConnConfig.Tracer = tracer
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(t.Context()), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// keepPool keeps a pool for the next test, unless something is still at work with it. A few
// are enough, and the server has so many connections.
func (d *database) keepPool(t testing.TB, mode pgx.QueryExecMode, pool *pgxpool.Pool) {
	if pool.Stat().AcquiredConns() > 0 || len(d.pools[mode]) == 2 || pool.Config().ConnConfig.RuntimeParams["role"] != "" {
		closePool(t, pool)
		return
	}
	d.pools[mode] = append(d.pools[mode], pool)
}

// closePool closes a pool. Close waits for connections that a test has not given back, as
// one does not that failed in the middle.
func closePool(t testing.TB, pool *pgxpool.Pool) {
	closed := make(chan struct{})
	go func() { pool.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Errorf("%d connections were not given back", pool.Stat().AcquiredConns())
	}
}

// awaitListen waits until a program listens to the database.
func (d *database) awaitListen(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		var n int
		err := admin(d.server, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity"+
				" WHERE datname = $1 AND query LIKE 'LISTEN%' AND state = 'idle'", d.name).Scan(&n)
		})
		return err == nil && n > 0
	}, time.Minute, 10*time.Millisecond)
}

// open returns the tables in the database, which the test's end closes.
func (d *database) open(t testing.TB, opts *postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(d.pool(t), opts)
	require.NoError(t, err)
	if d.inTx {
		postgres.CallsInTx(db)
	}
	t.Cleanup(func() {
		postgres.Note(db)
		require.NoError(t, db.Close())
	})
	return db
}

// inTx calls do in a transaction of the host's, which it commits if do returns nil.
func inTx(t testing.TB, pool *pgxpool.Pool, do func(ctx context.Context) error) error {
	return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return do(postgres.InTx(t.Context(), tx)) })
}

// refuse ends the connections to the database and lets nobody in, until heal is called. So
// calls fail at once, where they wait for a lock of [database.lock] for all of their time.
func (d *database) refuse(t testing.TB) (heal func()) {
	t.Helper()
	allow := func(allowed bool) {
		require.NoError(t, admin(d.server, func(ctx context.Context, conn *pgx.Conn) error {
			if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %v", d.name, allowed)); err != nil {
				return err
			}
			_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = $1", d.name)
			return err
		}))
	}
	allow(false)
	return sync.OnceFunc(func() { allow(true) })
}

// lock keeps the database's tables from being read and written, as somebody does who changes
// them, until heal is called.
func (d *database) lock(t testing.TB) (heal func()) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, d.server.DSN(d.name))
	require.NoError(t, err)
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	rows, err := tx.Query(ctx, "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'mortise' ORDER BY 1")
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, name := range names {
		_, err := tx.Exec(ctx, "LOCK TABLE "+name)
		require.NoError(t, err)
	}
	return sync.OnceFunc(func() { require.NoError(t, conn.Close(ctx)) })
}

// atOnce calls do n times at once, and waits for all.
func atOnce(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}
