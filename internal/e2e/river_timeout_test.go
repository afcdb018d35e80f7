package e2e

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/river"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestRiverTimeoutAlone: a submission that waits for another one, of the same idempotency key,
// is not told that River has given no answer: River was not asked yet.
func TestRiverTimeoutAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool := sharedWithRiver(t)
	service := func(opts river.Options) *trigger.Service {
		opts.Tx, opts.Logger = postgres.HostTx, slog.New(slog.DiscardHandler)
		queue, err := river.New(pool, &opts)
		require.NoError(t, err)
		db, err := postgres.New(ctx, pool, &postgres.Options{Queue: queue, Timeout: time.Minute})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		s, err := trigger.New(db.Trigger(), nil)
		require.NoError(t, err)
		return s
	}
	const timeout = time.Millisecond
	hurried, patient := service(river.Options{Timeout: timeout}), service(river.Options{Timeout: time.Minute})
	same := trigger.Submission{Instructions: "the instruction", IdempotencyKey: "one"}

	host, err := pool.Begin(ctx)
	require.NoError(t, err)
	first, err := patient.Submit(postgres.InTx(ctx, host), "acme", "ann", same)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		again, err := hurried.Submit(ctx, "acme", "ann", same)
		if err == nil && again.ID != first.ID {
			err = errors.New("another event")
		}
		ended <- err
	}()
	for waited := time.Duration(0); waited < 100*timeout; { // by the clock of the server
		select {
		case err := <-ended:
			require.NoError(t, host.Rollback(ctx))
			t.Fatalf("it did not wait for the other one: %v", err)
		case <-time.After(timeout):
		}
		require.NoError(t, pool.QueryRow(ctx, "SELECT coalesce(max(now() - query_start), '0') FROM pg_stat_activity"+
			" WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waited))
	}
	require.NoError(t, host.Commit(ctx))
	require.NoError(t, <-ended, "and there is no job to add")
}
