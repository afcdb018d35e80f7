package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// TestListenAsPool: listening connects by what the pool's BeforeConnect says, as the pool does.
func TestListenAsPool(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	config, err := pgxpool.ParseConfig(d.server.DSN("nowhere"))
	require.NoError(t, err)
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.Database = d.name // or a password that is good for some minutes
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	require.NoError(t, err)
	defer pool.Close()
	db, err := postgres.New(ctx, pool, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	defer db.Jobs().(leases.JobNotifier).NotifyJobs(func(string) {})()
	d.awaitListen(t)
}
