package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// TestMigrateAtOnce: of several programs that migrate at the same time, one does the work,
// and the others find it done.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	opts := &postgres.Options{Schema: "other"}
	pool := d.pool(t)
	_, err := postgres.New(t.Context(), pool, opts)
	require.ErrorIs(t, err, postgres.ErrNoTables)
	require.EqualError(t, err, `postgres: no tables of trigger in schema "other": run postgres.Migrate`)

	var all errgroup.Group
	for range 4 {
		all.Go(func() error {
			ctx := context.Background()
			conn, err := pgx.Connect(ctx, pgserver.Shared(t).DSN(d.name))
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close(ctx) }()
			return postgres.Migrate(ctx, conn, opts)
		})
	}
	require.NoError(t, all.Wait())
	db, err := postgres.New(t.Context(), pool, opts)
	require.NoError(t, err)
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, db.Close())
	require.ErrorIs(t, db.Ping(t.Context()), postgres.ErrClosed)
	require.ErrorIs(t, inTx(t, pool, func(ctx context.Context) error {
		return db.Jobs().Add(ctx, mortise.Job{Kind: "k", Organization: "acme", ID: "1"})
	}), postgres.ErrClosed)
}

// TestSchemaName: what could not be written without quotes is refused.
func TestSchemaName(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t).pool(t)
	for _, name := range []string{"Mortise", "1a", "a-b", "pg_catalog", "a.b", "a\x00", "\"a"} {
		_, err := postgres.New(t.Context(), pool, &postgres.Options{Schema: name})
		require.ErrorContains(t, err, "name of a schema", name)
	}
}

// TestOddSchemas: a name that is a word of SQL's, or the longest one, is one as any other.
func TestOddSchemas(t *testing.T) {
	t.Parallel()
	ctx, pool := t.Context(), newDatabase(t).pool(t)
	for _, schema := range []string{"user", strings.Repeat("s", 63)} {
		opts := &postgres.Options{Schema: schema}
		require.NoError(t, pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
			defer func() {
				_, _ = conn.Exec(context.WithoutCancel(ctx), "DROP SCHEMA "+pgx.Identifier{schema}.Sanitize()+" CASCADE")
			}()
			require.NoError(t, postgres.Migrate(ctx, conn.Conn(), opts))
			require.NoError(t, postgres.Migrate(ctx, conn.Conn(), opts), "again")
			db, err := postgres.New(ctx, pool, opts)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { // which tells of the job
				return db.Jobs().Add(postgres.InTx(ctx, tx), mortise.Job{Kind: "k", Organization: "acme", ID: "1"})
			})
		}))
	}
}
