package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// TestBounded: what the URL says stands, and the configuration itself is not changed.
func TestBounded(t *testing.T) {
	config, err := pgxpool.ParseConfig("postgres://user@host/name?lock_timeout=1s&application_name=host")
	require.NoError(t, err)
	bounded := postgres.Bounded(config)
	require.Equal(t, map[string]string{
		"lock_timeout": "1s", "application_name": "host", "statement_timeout": "10s", "idle_in_transaction_session_timeout": "10s",
	}, bounded.ConnConfig.RuntimeParams)
	require.IsType(t, new(pgconn.CancelRequestContextWatcherHandler), bounded.ConnConfig.BuildContextWatcherHandler(nil))
	require.Equal(t, map[string]string{"lock_timeout": "1s", "application_name": "host"}, config.ConnConfig.RuntimeParams)
}

// TestBoundedOptions: what PGOPTIONS says stands, too.
func TestBoundedOptions(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for options, want := range map[string][3]string{
		"-c statement_timeout=1min -clock_timeout=2s":                              {"1min", "2s", "10s"},
		"--idle-in-transaction-session-timeout=3s -c  STATEMENT_TIMEOUT=0":         {"0", "5s", "3s"},
		"-c deadlock_timeout=4s -c search_path=public -c application_name=a-c-b=c": {"10s", "5s", "10s"},
	} {
		config, err := pgxpool.ParseConfig(d.server.DSN(d.name))
		require.NoError(t, err)
		config.ConnConfig.RuntimeParams["options"] = options
		conn, err := pgx.ConnectConfig(t.Context(), postgres.Bounded(config).ConnConfig)
		require.NoError(t, err)
		var limits [3]string
		const show = "SELECT current_setting('statement_timeout'), current_setting('lock_timeout')," +
			" current_setting('idle_in_transaction_session_timeout')"
		require.NoError(t, conn.QueryRow(t.Context(), show).Scan(&limits[0], &limits[1], &limits[2]))
		require.Equal(t, want, limits, options)
		require.NoError(t, conn.Close(t.Context()))
	}
}

// TestListenIsNotCancelled: the connection that waits for notices has no statement that could
// be cancelled on the server. So Close does not wait, as the handler of Bounded would have it,
// for the end of one.
func TestListenIsNotCancelled(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	config, err := pgxpool.ParseConfig(d.server.DSN(d.name))
	require.NoError(t, err)
	listen := postgres.Bounded(config).ConnConfig
	build, built := listen.BuildContextWatcherHandler, new(atomic.Int32)
	listen.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		built.Add(1)
		return build(c)
	}
	db := d.open(t, &postgres.Options{Listen: listen})
	defer db.Jobs().(leases.JobNotifier).NotifyJobs(func(string) {})()
	d.awaitListen(t)
	require.NoError(t, db.Close())
	require.Zero(t, built.Load())
}

func ExampleBounded() {
	config, err := pgxpool.ParseConfig("postgres://user@host/name?sslmode=require&statement_timeout=5s")
	if err != nil {
		panic(err)
	}
	config = postgres.Bounded(config) // for pgxpool.NewWithConfig
	fmt.Println(config.ConnConfig.RuntimeParams["statement_timeout"], config.ConnConfig.RuntimeParams["lock_timeout"])
	// Output:
	// 5s 5s
}
