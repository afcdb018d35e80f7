package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

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
