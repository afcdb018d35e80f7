package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// TestCloseBesideAfterCommit: Close waits for a function of the host's that runs after a commit,
// and ends the listening for jobs before.
func TestCloseBesideAfterCommit(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	pool := d.pool(t)
	db := d.open(t, nil)
	db.Jobs().(leases.JobNotifier).NotifyJobs(func(string) {})
	d.awaitListen(t)
	began, release := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(release) })
	defer end()
	require.NoError(t, inTx(t, pool, func(ctx context.Context) error {
		db.Trigger().Store.(mortise.HostTx).AfterCommit(ctx, func(context.Context) { close(began); <-release })
		return nil
	}))
	<-began
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = db.Close()
	}()
	require.Eventually(t, func() bool {
		var n int
		err := pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity"+
			" WHERE datname = current_database() AND query LIKE 'LISTEN%\\_jobs%'").Scan(&n)
		return err == nil && n == 0
	}, 20*time.Second, 10*time.Millisecond) // a connection that listens asks something else after a while
	select {
	case <-closed:
		t.Error("Close did not wait for the host's function")
	default:
	}
	end()
	<-closed
}

// afterQueries calls a function when a query has ended.
type afterQueries struct{ call func() }

func (afterQueries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (a *afterQueries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {
	if a.call != nil {
		a.call()
	}
}

// TestAbsentForALeaver: a caller whose context ends while nothing is found hears of both.
func TestAbsentForALeaver(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	queries := new(afterQueries)
	pool := d.traced(t, queries)
	db, err := postgres.Open(pool, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, get := range []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := db.Trigger().Keys.KeyByDigest(ctx, [32]byte{1}); return err },
		func(ctx context.Context) error { _, err := db.AuthMgmt().Store.Invitation(ctx, "o", "x"); return err },
		func(ctx context.Context) error {
			_, err := db.AuthMgmt().Store.TokenByDigest(ctx, [32]byte{1})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		queries.call = cancel
		err := get(ctx)
		queries.call = nil
		require.ErrorIs(t, err, mortise.ErrNotFound)
		require.ErrorIs(t, err, context.Canceled)
	}
}
