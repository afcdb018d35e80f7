package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// TestDomains: a schema has the tables of the domains that Migrate names, and of the queue. The New
// of another domain says so. postgres.New without these tables is ErrNoTables. A later Migrate
// adds the domains that it names.
func TestDomains(t *testing.T) {
	ctx, d := t.Context(), newDatabase(t)
	conn, pool := d.connect(t), d.pool(t)
	const schema = "domains"
	t.Cleanup(func() { // the database is given to others
		_, err := conn.Exec(context.WithoutCancel(ctx), "DROP SCHEMA IF EXISTS domains CASCADE")
		require.NoError(t, err)
	})
	of := func(domains ...string) *postgres.Options { return &postgres.Options{Schema: schema, Domains: domains} }
	relations := func(kinds string) []string {
		rows, err := conn.Query(ctx, "SELECT relname::text FROM pg_class WHERE relnamespace = 'domains'::regnamespace AND relkind::text = ANY (string_to_array($1, ' ')) ORDER BY 1", kinds)
		require.NoError(t, err)
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return names
	}
	require.ErrorContains(t, postgres.Migrate(ctx, conn, of("trigger", "queue")), `names "queue", and may name`)

	require.NoError(t, postgres.Migrate(ctx, conn, of("trigger")))
	tables := relations("r p")
	require.LessOrEqual(t, len(tables), 12)
	require.Equal(t, []string{"api_keys", "events", "queue"}, relations("v"))
	for _, name := range tables {
		first, _, _ := strings.Cut(name, "_")
		require.Contains(t, []string{"trigger", "mortise", "jobs", "locks", "revocations"}, first)
	}
	_, err := postgres.New(ctx, pool, of())
	require.ErrorIs(t, err, postgres.ErrNoTables)
	db, err := postgres.New(ctx, pool, of("trigger"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Ping(ctx))
	_, err = trigger.New(db.Trigger(), nil)
	require.NoError(t, err)
	_, err = vault.New(db.Vault(), nil, nil)
	require.EqualError(t, err, `vault: the database was opened without this domain: name "vault" in Options.Domains, or name none`)
	for _, err := range []error{db.AuthMgmt().Err, db.Vault().Err, db.AudioSearch().Err} {
		require.Error(t, err)
	}

	require.NoError(t, postgres.Migrate(ctx, conn, of("vault")))
	require.NoError(t, postgres.Migrate(ctx, conn, of()))
	require.Subset(t, relations("r p"), tables)
	all, err := postgres.New(ctx, pool, of())
	require.NoError(t, err)
	require.NoError(t, all.Ping(ctx))
	require.NoError(t, all.Close())
}

// TestEncoding: a database that is not UTF-8 is refused by its encoding, before anything is made.
func TestEncoding(t *testing.T) {
	ctx, d := t.Context(), newDatabase(t)
	_, err := d.connect(t).Exec(ctx, "CREATE DATABASE "+d.name+"_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
	require.NoError(t, err)
	conn, err := pgx.Connect(ctx, d.server.DSN(d.name+"_latin"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(ctx) })
	err = postgres.Migrate(ctx, conn, nil)
	require.ErrorIs(t, err, postgres.ErrUnusable)
	require.ErrorContains(t, err, "the encoding of the database is LATIN1: make one with ENCODING 'UTF8'")
}
