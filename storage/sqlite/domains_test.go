package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// TestDomains: a file has the tables of the domains that Open names, and of the queue. The New of
// another domain says so. A later Open adds the domains that it names, and keeps the others.
func TestDomains(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "test.db")
	tables := func() (tables, views []string) {
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		rows, err := db.QueryContext(ctx, "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name")
		require.NoError(t, err)
		for rows.Next() {
			var is, name string
			require.NoError(t, rows.Scan(&is, &name))
			if is == "view" {
				views = append(views, name)
			} else {
				tables = append(tables, name)
			}
		}
		return tables, views
	}
	open := func(domains ...string) *sqlite.DB {
		db, err := sqlite.Open(ctx, path, &sqlite.Options{Domains: domains})
		require.NoError(t, err)
		require.NoError(t, db.Ping(ctx))
		return db
	}
	_, err := sqlite.Open(ctx, path, &sqlite.Options{Domains: []string{"trigger", "queue"}})
	require.ErrorContains(t, err, `names "queue", and may name ["trigger" "authmgmt" "vault" "audiosearch"]`)

	db := open("trigger", "trigger")
	_, err = trigger.New(db.Trigger(), nil)
	require.NoError(t, err)
	_, err = vault.New(db.Vault(), nil, nil)
	require.EqualError(t, err, `vault: the database was opened without this domain: name "vault" in Options.Domains, or name none`)
	for _, err := range []error{db.AuthMgmt().Err, db.Vault().Err, db.AudioSearch().Err} {
		require.Error(t, err)
	}
	require.NoError(t, db.Close())
	some, views := tables()
	require.LessOrEqual(t, len(some), 12)
	require.Equal(t, []string{"mortise_api_keys", "mortise_events", "mortise_queue"}, views)
	for _, name := range some {
		require.True(t, strings.HasPrefix(name, "trigger_") || strings.HasPrefix(name, "mortise_"), name)
	}

	db = open("vault")
	require.Error(t, db.Trigger().Err)
	require.NoError(t, db.Vault().Err)
	require.NoError(t, db.Close())
	require.NoError(t, open("trigger").Close())
	require.NoError(t, open().Close())
	all, _ := tables()
	require.Greater(t, len(all), 30)
	require.Subset(t, all, some)
}
