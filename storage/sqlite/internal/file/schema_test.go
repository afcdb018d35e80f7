package file

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	modernc "modernc.org/sqlite"
)

// TestPlanted: a file in which another program has changed something of this package's is
// refused, and the error names it. A process that has the file open is not ready from then on.
func TestPlanted(t *testing.T) {
	const undo = "; undo that change, or restore a backup"
	for name, c := range map[string]struct{ change, want string }{
		"a trigger that copies instructions": {
			"CREATE TABLE copied (x); CREATE TRIGGER copies AFTER INSERT ON trigger_events BEGIN INSERT INTO copied VALUES (new.instructions); END",
			"the trigger copies on the table trigger_events is not Mortise's",
		},
		"a trigger that gives full access": {
			"CREATE TRIGGER Gives AFTER INSERT ON AUTHMGMT_CLIENTS BEGIN UPDATE authmgmt_clients SET roles = '' WHERE id = new.id; END",
			"the trigger gives on the table authmgmt_clients is not Mortise's",
		},
		"a trigger with a name of SQLite's": {
			"PRAGMA writable_schema = ON; CREATE TRIGGER sqlite_x AFTER INSERT ON mortise_jobs BEGIN DELETE FROM locks; END",
			"the trigger sqlite_x on the table mortise_jobs is not Mortise's",
		},
		"a trigger in capitals": {
			"CREATE TRIGGER x AFTER INSERT ON mortise_jobs BEGIN SELECT 1; END; PRAGMA writable_schema = ON;" +
				" UPDATE sqlite_schema SET type = 'TRIGGER' WHERE name = 'x'",
			"the trigger x on the table mortise_jobs is not Mortise's",
		},
		"a trigger on a name with U+0000": {
			"CREATE TRIGGER x AFTER INSERT ON mortise_jobs BEGIN SELECT 1; END; PRAGMA writable_schema = ON;" +
				" UPDATE sqlite_schema SET tbl_name = tbl_name || char(0) || 'x' WHERE name = 'x'",
			"the trigger x on the table mortise_jobs is not Mortise's",
		},
		"a trigger of ours that does more": {
			"DROP TRIGGER trigger_events_body; CREATE TRIGGER trigger_events_body AFTER DELETE ON trigger_events BEGIN DELETE FROM trigger_bodies; END",
			"the trigger trigger_events_body is not as Mortise made it",
		},
		"a trigger of ours elsewhere": {
			"DROP TRIGGER trigger_events_body; CREATE TRIGGER trigger_events_body AFTER DELETE ON trigger_bodies BEGIN SELECT 1; END",
			"the trigger trigger_events_body is not as Mortise made it",
		},
		"a table replaced by a view": {
			"ALTER TABLE authmgmt_tokens RENAME TO x; CREATE VIEW Authmgmt_Tokens AS SELECT * FROM x",
			"the view authmgmt_tokens is not as Mortise made it",
		},
		"a changed table": {"ALTER TABLE vault_keys ADD COLUMN x", "the table vault_keys is not as Mortise made it"},
		"a check that is gone": {
			"DROP TABLE authmgmt_key_check; CREATE TABLE authmgmt_key_check (only INTEGER NOT NULL PRIMARY KEY, value BLOB NOT NULL)",
			"the table authmgmt_key_check is not as Mortise made it",
		},
		"no table": {"DROP TABLE vault_numbers", "the table vault_numbers is missing"},
		"no index": {"DROP INDEX trigger_events_key", "the index trigger_events_key is missing"},
		"an index of other columns": {
			"DROP INDEX mortise_jobs_id; CREATE UNIQUE INDEX mortise_jobs_id ON mortise_jobs (id)",
			"the index mortise_jobs_id is not as Mortise made it",
		},
		"an index of our name elsewhere": {
			"DROP INDEX mortise_jobs_later; CREATE TABLE x (y); CREATE INDEX mortise_jobs_later ON x (y)",
			"the index mortise_jobs_later is not as Mortise made it",
		},
		"a view in place of the digests": {
			"ALTER TABLE mortise_scripts RENAME TO x; CREATE VIEW mortise_scripts AS SELECT * FROM x",
			"the view mortise_scripts is not as Mortise made it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := EmptyFile(t)
			db, err := Open(t.Context(), path, defaults)
			require.NoError(t, err)
			require.NoError(t, db.Ping(t.Context()))
			changeFile(t, path, c.change)
			err = db.Ping(t.Context())
			require.ErrorIs(t, err, ErrUnusable)
			require.EqualError(t, err, "sqlite: unusable file: "+c.want+undo)
			require.NoError(t, db.Close())
			for _, adopt := range []bool{false, true} {
				err := requireRefused(t, path, settingsOf(Options{Adopt: adopt}))
				require.EqualError(t, err, "sqlite: open "+path+": unusable file: "+c.want+undo)
			}
		})
	}
}

// TestHostsObjects: other tables, views and indexes are the host's, and triggers on its own
// tables. They stay, and work.
func TestHostsObjects(t *testing.T) {
	path := EmptyFile(t)
	changeFile(t, path,
		"CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT)", "CREATE INDEX orders_note ON orders (note)",
		"CREATE VIEW waiting AS SELECT id FROM trigger_events WHERE status = 0", "CREATE INDEX by_summary ON trigger_events (outcome_summary)",
		"CREATE TRIGGER orders_known AFTER INSERT ON orders BEGIN INSERT INTO authmgmt_organizations (id, rbac) VALUES (new.note, 1); END",
		"CREATE TRIGGER waiting_gone INSTEAD OF DELETE ON waiting BEGIN SELECT 1; END",
		"CREATE TABLE mine (event BLOB REFERENCES trigger_events (id))", "ANALYZE")
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, db.InTx(t.Context(), func(ctx context.Context, tx *HostTx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders (note) VALUES ('acme')")
		return err
	}))
	require.Equal(t, []int{1}, numbers(t, db, "SELECT rbac FROM authmgmt_organizations WHERE id = 'acme'"))
	require.NoError(t, db.Close())
	db, err = Open(t.Context(), path, defaults)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// TestRenameUndone: a table that has its name again is as Mortise made it, though SQLite has
// put quotes round the name.
func TestRenameUndone(t *testing.T) {
	path := EmptyFile(t)
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	changeFile(t, path, "ALTER TABLE authmgmt_clients RENAME TO away")
	require.Error(t, db.Ping(t.Context()))
	changeFile(t, path, "ALTER TABLE away RENAME TO authmgmt_clients")
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, db.Close())
	db, err = Open(t.Context(), path, defaults)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

var registerDouble = sync.OnceFunc(func() {
	double := func(_ *modernc.FunctionContext, args []driver.Value) (driver.Value, error) {
		return args[0].(int64) * 2, nil
	}
	modernc.MustRegisterDeterministicScalarFunction("hosts_double", 1, double)
})

// TestFunctionInTheSchema: a function that the program has registered stops all work while a
// table of the host's calls it, and the error says why. It is no damage: the work goes on when
// the table is gone.
func TestFunctionInTheSchema(t *testing.T) {
	registerDouble()
	path := EmptyFile(t)
	change := func(statement string) {
		host, err := sql.Open("sqlite", path) // its connections trust the schema
		require.NoError(t, err)
		_, err = host.ExecContext(t.Context(), statement)
		require.NoError(t, err)
		require.NoError(t, host.Close())
	}
	const table = "CREATE TABLE orders (n CHECK (hosts_double(n) > 1))"
	change(table)
	require.ErrorContains(t, requireRefused(t, path, defaults), "take it out of the CHECK, index, view or trigger")
	change("DROP TABLE orders")
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	change(table)
	err = db.Ping(t.Context())
	require.ErrorContains(t, err, "unsafe use of hosts_double()")
	require.False(t, isDamage(err), "it would end the work of an open DB for good")
	change("DROP TABLE orders")
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, db.Close())
}

// TestAdopt: a file of the host's gets the tables of this package if the host says so, unless
// one of its own has a name of ours.
func TestAdopt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	require.NoError(t, create(path))
	changeFile(t, path, "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO orders DEFAULT VALUES",
		"CREATE VIEW trigger_events AS SELECT * FROM orders")
	require.ErrorContains(t, requireRefused(t, path, settingsOf(Options{Adopt: true})),
		"the view trigger_events has a name of Mortise's: rename it, or give Mortise a file of its own")
	changeFile(t, path, "DROP VIEW trigger_events")
	require.ErrorContains(t, requireRefused(t, path, defaults), "another program")
	for _, adopt := range []bool{true, false} { // which it needs once
		db, err := Open(t.Context(), path, settingsOf(Options{Adopt: adopt}))
		require.NoError(t, err)
		require.NoError(t, db.Ping(t.Context()))
		require.Equal(t, []int{1}, numbers(t, db, "SELECT count(*) FROM orders"))
		require.NoError(t, db.Close())
	}
}

// TestTrustedSchema: no connection lets a view or a trigger call a function that has effects.
func TestTrustedSchema(t *testing.T) {
	db, err := Open(t.Context(), EmptyFile(t), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	off := func(r *Row) error {
		require.Equal(t, 0, r.Number(0))
		return nil
	}
	const trusted = "PRAGMA trusted_schema"
	require.NoError(t, db.Find(t.Context(), NoOrg, trusted, nil, off))
	require.NoError(t, db.List(t.Context(), NoOrg, trusted, nil, off))
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { return tx.Query(trusted, nil, off) }))
	c, err := db.checker.source.connect()
	require.NoError(t, err)
	require.NoError(t, c.Query(t.Context(), trusted, nil, off))
	require.NoError(t, c.Close())
	require.NoError(t, db.InTx(t.Context(), func(ctx context.Context, tx *HostTx) error {
		return hostTxOf(ctx, db).read(ctx, func(c *Conn) error { return c.Query(unbounded, trusted, nil, off) })
	}))
}
