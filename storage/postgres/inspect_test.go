package postgres_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/postgres"
)

var update = flag.Bool("update", false, "write internal/engine/migrations/tables.txt anew")

// connect returns a connection to the database, which the test's end closes.
func (d *database) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.server.DSN(d.name))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

// TestExpectedTables: internal/engine/migrations/tables.txt is what Migrate makes. After a change
// of a script, run go test ./storage/postgres -run TestExpectedTables -update.
func TestExpectedTables(t *testing.T) {
	t.Parallel()
	const file = "internal/engine/migrations/tables.txt"
	lines, err := postgres.Describe(t.Context(), newDatabase(t).connect(t), "mortise")
	require.NoError(t, err)
	slices.Sort(lines)
	made := strings.Join(lines, "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(made), 0o644))
	}
	known, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(known), made)
}

// other are the options of a schema beside that of the template, which each test's end drops.
var other = &postgres.Options{Schema: "other"}

// requireRefused requires that New and Migrate refuse the schema by the same words, and that
// they leave it as it is.
func (d *database) requireRefused(t testing.TB, why string) {
	t.Helper()
	conn := d.connect(t)
	before, err := postgres.Describe(t.Context(), conn, other.Schema)
	require.NoError(t, err)

	_, err = postgres.New(t.Context(), d.pool(t), other)
	require.ErrorIs(t, err, postgres.ErrUnusable)
	require.EqualError(t, err, `postgres: unusable schema "other": `+why)
	err = postgres.Migrate(t.Context(), conn, other)
	require.ErrorIs(t, err, postgres.ErrUnusable)
	require.EqualError(t, err, `postgres: migrate: unusable schema "other": `+why)

	after, err := postgres.Describe(t.Context(), conn, other.Schema)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestOtherVersion: a schema that another version has made is refused before anything is
// written, with the name of that version where it is known.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	t.Run("54962722", func(t *testing.T) { // the last commit that noted no digests
		t.Parallel()
		d := newDatabase(t)
		dump, err := os.ReadFile("testdata/schema_54962722.sql")
		require.NoError(t, err)
		text := strings.NewReplacer("SCHEMA mortise", "SCHEMA other", "mortise.", "other.").Replace(string(dump))
		_, err = d.connect(t).Exec(t.Context(), text)
		require.NoError(t, err)
		d.requireRefused(t, "made by another development version of Mortise (the tables of trigger): "+
			"remove it, or open it with the program that made it")
	})
	t.Run("digest", func(t *testing.T) {
		t.Parallel()
		d := newDatabase(t)
		conn := d.connect(t)
		require.NoError(t, postgres.Migrate(t.Context(), conn, other))
		_, err := conn.Exec(t.Context(), "DROP TABLE other.vault_keys;"+
			" DELETE FROM other.mortise_scripts WHERE domain = 'vault';"+
			" UPDATE other.mortise_scripts SET digest = 'd', program = 'example.com/host v1.2.3', made_at = '2026-11-27 23:00Z'"+
			" WHERE domain = 'trigger'")
		require.NoError(t, err)
		d.requireRefused(t, "made by another development version of Mortise (the tables of trigger): "+
			"remove it, or open it with the program that made it (it was made by example.com/host v1.2.3 on 2026-11-27)")
	})
	t.Run("a table of the host's", func(t *testing.T) {
		t.Parallel()
		d := newDatabase(t)
		_, err := d.connect(t).Exec(t.Context(), "CREATE SCHEMA other; CREATE TABLE other.jobs (title text)")
		require.NoError(t, err)
		d.requireRefused(t, "the table jobs has a name of Mortise's: rename it, or choose another schema")
	})
	t.Run("no digest", func(t *testing.T) {
		t.Parallel()
		d := newDatabase(t)
		conn := d.connect(t)
		require.NoError(t, postgres.Migrate(t.Context(), conn, other))
		_, err := conn.Exec(t.Context(), "DELETE FROM other.mortise_scripts WHERE domain = 'vault'")
		require.NoError(t, err)
		d.requireRefused(t, "made by another development version of Mortise (the tables of vault): "+
			"remove it, or open it with the program that made it")
	})
}

// TestMigrateMissing: Migrate makes the tables of a domain that are missing, and says which
// program did.
func TestMigrateMissing(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	conn := d.connect(t)
	require.NoError(t, postgres.Migrate(t.Context(), conn, other))
	_, err := conn.Exec(t.Context(), "DROP TABLE other.trigger_events, other.trigger_organizations,"+
		" other.trigger_collections, other.trigger_api_keys, other.trigger_deleted CASCADE;"+
		" DELETE FROM other.mortise_scripts WHERE domain = 'trigger'")
	require.NoError(t, err)
	_, err = postgres.New(t.Context(), d.pool(t), other)
	require.ErrorIs(t, err, postgres.ErrNoTables)
	require.EqualError(t, err, `postgres: no tables of trigger in schema "other": run postgres.Migrate`)

	require.NoError(t, postgres.Migrate(t.Context(), conn, other))
	var program string
	var age time.Duration
	const note = "SELECT program, now() - made_at FROM other.mortise_scripts WHERE domain = 'trigger'"
	err = conn.QueryRow(t.Context(), note).Scan(&program, &age)
	require.NoError(t, err)
	require.NotEmpty(t, strings.TrimSpace(program))
	require.Less(t, age, time.Hour)
	d.open(t, other)
}

// planted are changes of the tables, and how they are told.
var planted = []struct{ change, told string }{
	{
		"CREATE TRIGGER t BEFORE INSERT ON authmgmt_tokens EXECUTE FUNCTION f()",
		"the trigger t on the table authmgmt_tokens is not Mortise's",
	},
	{
		"CREATE TRIGGER t AFTER DELETE ON jobs EXECUTE FUNCTION f(); ALTER TABLE jobs DISABLE TRIGGER t",
		"the trigger t on the table jobs is not Mortise's",
	},
	{
		"CREATE TRIGGER t AFTER INSERT ON audiosearch_scores_3 EXECUTE FUNCTION f()",
		"the trigger t on the table audiosearch_scores_3 is not Mortise's",
	},
	{
		"CREATE TRIGGER t AFTER INSERT ON mortise_scripts EXECUTE FUNCTION f()",
		"the trigger t on the table mortise_scripts is not Mortise's",
	},
	{
		"CREATE RULE r AS ON INSERT TO trigger_events DO ALSO NOTIFY mine",
		"the rule r on the table trigger_events is not Mortise's",
	},
	{
		"CREATE POLICY p ON vault_tokens USING (false)",
		"the policy p on the table vault_tokens is not Mortise's",
	},
	{
		"ALTER TABLE vault_tokens ENABLE ROW LEVEL SECURITY",
		`the table vault_tokens is not as Mortise made it: "row security" was added`,
	},
	{
		"ALTER TABLE locks RENAME TO l; CREATE VIEW locks AS SELECT * FROM l",
		"the view locks is not as Mortise made it",
	},
	{
		"ALTER TABLE mortise_scripts RENAME TO m; CREATE VIEW mortise_scripts AS SELECT * FROM m",
		"the view mortise_scripts is not as Mortise made it",
	},
	{
		"DROP INDEX vault_audit_time; CREATE VIEW vault_audit_time AS SELECT 1",
		"the view vault_audit_time is not as Mortise made it",
	},
	{
		"ALTER TABLE trigger_events ALTER generation TYPE integer",
		`the table trigger_events is not as Mortise made it: "column generation integer NOT NULL" was added`,
	},
	{
		`ALTER TABLE vault_keys ALTER purpose TYPE text COLLATE "default"`,
		`the table vault_keys is not as Mortise made it: "column purpose text NOT NULL" was added`,
	},
	{
		"ALTER TABLE vault_tokens ALTER token DROP NOT NULL",
		`the table vault_tokens is not as Mortise made it: "column token text COLLATE C" was added`,
	},
	{
		"ALTER TABLE jobs ALTER trace SET DEFAULT g()",
		`the table jobs is not as Mortise made it: "column trace text DEFAULT g()" was added`,
	},
	{
		"ALTER TABLE jobs ADD mine integer",
		`the table jobs is not as Mortise made it: "column mine integer" was added`,
	},
	{"ALTER TABLE jobs DROP trace", `the table jobs is not as Mortise made it: it lacks "column trace text"`},
	{"DROP TABLE authmgmt_deleted CASCADE", "the table authmgmt_deleted is missing"},
	{"DROP VIEW events; CREATE TABLE events (id uuid)", "the table events is not as Mortise made it"},
	{"ALTER VIEW events RENAME submitted_by TO source_of", `the view events is not as Mortise made it: "column source_of text COLLATE C" was added`},
	{
		"ALTER TABLE locks DROP CONSTRAINT locks_pkey",
		`the table locks is not as Mortise made it: it lacks "PRIMARY KEY (id)"`,
	},
	{
		"ALTER TABLE authmgmt_secrets DROP CONSTRAINT authmgmt_secrets_organization_client_fkey",
		`the table authmgmt_secrets is not as Mortise made it: it lacks` +
			` "FOREIGN KEY (organization, client) REFERENCES authmgmt_clients(organization, id)"`,
	},
	{
		"ALTER TABLE locks ADD FOREIGN KEY (id) REFERENCES vault_tokens",
		`the table locks is not as Mortise made it: "FOREIGN KEY (id) REFERENCES vault_tokens(seq)" was added`,
	},
	{
		"ALTER TABLE jobs ADD CHECK (g() IS NULL)",
		`the table jobs is not as Mortise made it: "CHECK ((g() IS NULL))" was added`,
	},
	{"DROP INDEX trigger_events_key", "the index trigger_events_key is missing"},
	{
		"DROP INDEX trigger_events_key; CREATE INDEX trigger_events_key ON trigger_events (organization, idempotency_key)",
		`the index trigger_events_key is not as Mortise made it: "on trigger_events btree (organization, idempotency_key)" was added`,
	},
	{
		"DROP INDEX jobs_claimable; CREATE INDEX jobs_claimable ON locks (taken)",
		`the index jobs_claimable is not as Mortise made it: "on locks btree (taken)" was added`,
	},
	{
		"DROP SEQUENCE vault_token_numbers; CREATE TABLE vault_token_numbers ()",
		"the table vault_token_numbers is not as Mortise made it",
	},
	{
		"CREATE TABLE mine () INHERITS (trigger_events)",
		`the table trigger_events is not as Mortise made it: "the part mine" was added`,
	},
	{
		"CREATE TABLE mine (taken bigint); ALTER TABLE locks INHERIT mine",
		`the table locks is not as Mortise made it: "part of mine" was added`,
	},
	{
		"ALTER TABLE audiosearch_scores DETACH PARTITION audiosearch_scores_7",
		`the partitioned table audiosearch_scores is not as Mortise made it: it lacks "the part audiosearch_scores_7"`,
	},
	{"ALTER TABLE jobs SET UNLOGGED", `the table jobs is not as Mortise made it: "is not logged" was added`},
	{
		"ALTER SEQUENCE vault_token_numbers SET UNLOGGED",
		`the sequence vault_token_numbers is not as Mortise made it: "is not logged" was added`,
	},
	{
		"ALTER SEQUENCE vault_token_numbers MAXVALUE 10 CYCLE",
		`the sequence vault_token_numbers is not as Mortise made it: "counts by 1 from 1, 1 to 10, and again" was added`,
	},
	{
		"ALTER TABLE jobs ALTER seq SET INCREMENT BY 2",
		`the table jobs is not as Mortise made it: "counts by 2 from 1, 1 to 9223372036854775807" was added`,
	},
	{
		"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'trigger_events_source'::regclass",
		`the index trigger_events_source is not as Mortise made it: "invalid on trigger_events btree (organization, source, status, submitted_at, id)" was added`,
	},
	{
		"ALTER TABLE authmgmt_secrets DISABLE TRIGGER ALL",
		`the table authmgmt_secrets is not as Mortise made it: "disabled foreign key" was added`,
	},
	{
		"CREATE INDEX mine ON jobs ((g() IS NULL))",
		`the table jobs is not as Mortise made it: "function in the index mine" was added`,
	},
}

// functions are what a trigger and a default may call.
const functions = "SET LOCAL search_path = other;" +
	" CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';" +
	" CREATE FUNCTION g() RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT NULL::text'; "

// inChanged calls do under a transaction that has changed the schema, and takes it back.
func inChanged(t testing.TB, conn *pgx.Conn, change string, do func(ctx context.Context)) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	_, err = tx.Exec(t.Context(), change)
	require.NoError(t, err)
	do(postgres.InTx(t.Context(), tx))
}

// TestPlanted: a schema in which a name of Mortise's is not as Mortise made it is refused, with
// that name, and so is code that would run with a program's rights.
func TestPlanted(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	conn, pool := d.connect(t), d.pool(t)
	require.NoError(t, postgres.Migrate(t.Context(), conn, other))
	for _, p := range planted {
		inChanged(t, conn, functions+p.change, func(ctx context.Context) {
			_, err := postgres.New(ctx, pool, other)
			require.ErrorIs(t, err, postgres.ErrUnusable, p.change)
			told := p.told + "; undo that change, or restore a backup"
			require.EqualError(t, err, `postgres: unusable schema "other": `+told, p.change)
		})
	}
	_, err := conn.Exec(t.Context(), strings.ReplaceAll(functions+planted[0].change, "LOCAL", "SESSION"))
	require.NoError(t, err)
	d.requireRefused(t, planted[0].told+"; undo that change, or restore a backup")
}

// TestHostsOwn: what has other names is the host's, beside the tables and on them.
func TestHostsOwn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	conn, pool := d.connect(t), d.pool(t)
	require.NoError(t, postgres.Migrate(t.Context(), conn, other))
	for _, change := range []string{
		"CREATE TABLE trigger_mine (id uuid PRIMARY KEY REFERENCES trigger_events ON DELETE CASCADE)",
		"CREATE TABLE mine (id uuid); CREATE TRIGGER t BEFORE INSERT ON mine EXECUTE FUNCTION f()",
		"CREATE VIEW jobs_now AS SELECT * FROM jobs; CREATE MATERIALIZED VIEW counts AS SELECT count(*) FROM trigger_events",
		"CREATE INDEX mine ON trigger_events (submitted_at); CREATE STATISTICS s ON organization, status FROM trigger_events",
		"ALTER INDEX jobs_order SET (fillfactor = 70); ALTER TABLE jobs SET (fillfactor = 70); CLUSTER jobs USING jobs_pkey",
		"CREATE SCHEMA third; SET LOCAL search_path = third; CREATE TABLE jobs (a int); CREATE VIEW locks AS SELECT 1",
	} {
		inChanged(t, conn, functions+change, func(ctx context.Context) {
			db, err := postgres.New(ctx, pool, other)
			require.NoError(t, err, change)
			require.NoError(t, db.Ping(ctx))
			require.NoError(t, db.Close())
		})
	}
}

// TestPingTables: Ping fails while any table is not there, is a view, or lacks a column.
func TestPingTables(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	conn := d.connect(t)
	require.NoError(t, postgres.Migrate(t.Context(), conn, other))
	db := d.open(t, other)
	require.NoError(t, db.Ping(t.Context()))
	rows, err := conn.Query(t.Context(), "SELECT table_name::text, ARRAY[min(column_name::text), max(column_name::text)]"+
		" FROM information_schema.columns"+
		" WHERE table_schema = 'other' AND table_name NOT LIKE 'audiosearch\\_scores\\_%' AND table_name IN"+
		" (SELECT table_name FROM information_schema.tables WHERE table_schema = 'other' AND table_type = 'BASE TABLE') GROUP BY table_name")
	require.NoError(t, err)
	tables := make(map[string][]string)
	var table string
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&table, &columns}, func() error {
		tables[table] = columns
		return nil
	})
	require.NoError(t, err)
	require.Contains(t, tables, "trigger_api_keys")
	for name, columns := range tables {
		gone := "ALTER TABLE other." + name + " RENAME TO gone;"
		inChanged(t, conn, gone, func(ctx context.Context) {
			require.ErrorContains(t, db.Ping(ctx), name)
		})
		inChanged(t, conn, gone+"CREATE VIEW other."+name+" AS SELECT 1 AS one", func(ctx context.Context) {
			require.ErrorContains(t, db.Ping(ctx), "does not exist", name)
		})
		for _, column := range columns {
			rename := fmt.Sprintf("ALTER TABLE other.%s RENAME %q TO gone", name, column)
			inChanged(t, conn, rename, func(ctx context.Context) {
				require.ErrorContains(t, db.Ping(ctx), "does not exist", rename)
			})
		}
	}
	require.NoError(t, db.Ping(t.Context()))
}
