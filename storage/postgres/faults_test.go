package postgres_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// TestServerAway: while the database pauses, is shut down or has crashed, calls end with an
// error within their time. Once it is back they succeed, without a new pool, and every job
// is there whose Add had succeeded.
func TestServerAway(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t, nil) // syncs to the disk
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, server.DSN("postgres"))
	require.NoError(t, err)
	require.NoError(t, postgres.Migrate(ctx, conn, nil))
	require.NoError(t, conn.Close(ctx))
	pool, err := pgxpool.New(ctx, server.DSN("postgres"))
	require.NoError(t, err)
	t.Cleanup(func() { closePool(t, pool) })
	timeout := 3 * time.Second
	db, err := postgres.New(ctx, pool, &postgres.Options{Timeout: timeout})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	jobs := db.Jobs()
	acknowledged := make(map[string]bool)
	add := func() error {
		j := mortise.Job{Kind: "k", Organization: "acme", ID: uuid.NewString()}
		err := jobs.Add(ctx, j)
		if err == nil {
			acknowledged[j.ID] = true
		}
		return err
	}
	for name, fault := range map[string]struct{ away, back func() error }{
		"pause":    {func() error { return server.Signal(syscall.SIGSTOP) }, func() error { return server.Signal(syscall.SIGCONT) }},
		"shutdown": {func() error { return server.Down(pgserver.Terminate) }, server.Up},
		"crash":    {func() error { return server.Down(pgserver.Crash) }, server.Up},
	} {
		require.NoError(t, add(), name)
		require.NoError(t, fault.away(), name)
		within, cancel := context.WithTimeout(ctx, 7*timeout) // a call that takes many times as long fails the test, a busy machine does not
		calls := []func() error{func() error { return db.Ping(within) }, add, func() error {
			_, err := jobs.Claim(within, mortise.Claim{Token: uuid.New(), Kinds: []string{"none"}, Limit: 1, TTL: time.Second})
			return err
		}}
		errs := make([]error, len(calls))
		atOnce(len(calls), func(i int) { errs[i] = calls[i]() }) // each takes all of its time
		for _, err := range errs {
			require.Error(t, err, name)
		}
		require.NoError(t, within.Err(), name)
		cancel()
		require.NoError(t, fault.back(), name)
		require.Eventually(t, func() bool { return db.Ping(ctx) == nil && add() == nil }, time.Minute, 10*time.Millisecond, name)
	}
	found := 0
	for {
		leases, err := jobs.Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{"k"}, Limit: 100, TTL: time.Hour})
		require.NoError(t, err)
		if len(leases) == 0 {
			break
		}
		for _, l := range leases {
			if acknowledged[l.Job.ID] {
				found++
			}
		}
	}
	require.Equal(t, len(acknowledged), found, "jobs whose Add had succeeded are gone")
}

// failing tells of the error of each statement.
type failing func(err error)

func (f failing) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (f failing) TraceQueryEnd(_ context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) { f(d.Err) }

func (f failing) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (f failing) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	f(d.Err)
}

func (f failing) TraceBatchEnd(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchEndData) { f(d.Err) }

// TestStandby: calls that have met a standby, of which a pool has connections, are made again
// on new ones until there is a primary. A host's pool need not say what server it wants.
func TestStandby(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	readOnly := func(is string) {
		require.NoError(t, admin(d.server, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "ALTER DATABASE "+d.name+" SET default_transaction_read_only = "+is)
			return err
		}))
	}
	refused := make(chan struct{}, 1)
	pool := d.traced(t, failing(func(err error) {
		if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && pg.Code == "25006" {
			select {
			case refused <- struct{}{}:
			default:
			}
		}
	}))
	db, err := postgres.New(ctx, pool, &postgres.Options{Timeout: time.Minute})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for name, call := range map[string]func() error{
		"alone": func() error {
			return db.AuthMgmt().Store.CreateClient(ctx, authmgmt.Client{Organization: "acme", ID: uuid.NewString(), CreatedAt: time.Now()}, authmgmt.AuditEvent{})
		},
		"in a group": func() error { return db.Jobs().Add(ctx, mortise.Job{Kind: "k", Organization: "acme", ID: "1"}) },
	} {
		readOnly("on")
		t.Cleanup(func() { readOnly("off") })
		pool.Reset()
		done := make(chan error, 1)
		go func() { done <- call() }()
		select {
		case <-refused:
		case err := <-done:
			require.Fail(t, "it was not refused", "%s: %v", name, err)
		}
		readOnly("off")
		require.NoError(t, <-done, name)
		for len(refused) > 0 {
			<-refused
		}
	}
}

// TestSynchronousStandby: what a synchronous standby has not confirmed is not said to be
// stored. Its wait is cancelled when a call's time is over, and PostgreSQL then answers that
// the transaction is committed, with a warning.
func TestSynchronousStandby(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	server := pgserver.Start(t, nil)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, server.DSN("postgres"))
	require.NoError(t, err)
	require.NoError(t, postgres.Migrate(ctx, conn, nil))
	config, err := pgxpool.ParseConfig(server.DSN("postgres"))
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(ctx, postgres.Bounded(config))
	require.NoError(t, err)
	t.Cleanup(func() { closePool(t, pool) })
	db, err := postgres.New(ctx, pool, &postgres.Options{Timeout: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'away'", "SELECT pg_reload_conf()"} {
		_, err := conn.Exec(ctx, statement)
		require.NoError(t, err)
	}
	require.NoError(t, conn.Close(ctx))
	create := func() error {
		return db.AuthMgmt().Store.CreateClient(ctx, authmgmt.Client{Organization: "acme", ID: uuid.NewString(), CreatedAt: time.Now()}, authmgmt.AuditEvent{})
	}
	for begun := time.Now(); create() == nil; { // until all of the server's processes know
		require.Less(t, time.Since(begun), time.Minute)
	}
	errs := make([]error, 6)
	atOnce(len(errs), func(i int) {
		switch e := measuredEvent(); i {
		case 0: // in a transaction
			errs[i] = create()
		default: // alone, and in a group
			_, _, errs[i] = triggerStore(db).CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
		}
	})
	for i, err := range errs {
		require.Error(t, err, i)
	}
}
