package postgres_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/effort"
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
	timeout := time.Duration(effort.Of(2, 3, 3)) * time.Second
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
		within, cancel := context.WithTimeout(ctx, time.Minute) // a call that hangs fails the test, a busy machine does not
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
