package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the files that [Migrate] runs, for teams with tools of their own: in
// the format of goose (https://github.com/pressly/goose), to be run in the order of their
// names, each in a transaction, with the schema as the search_path. They make no schema.
// New looks for goose's table of versions, mortise_versions, in the schema: a tool that
// keeps its own notes adds a row to that one, too (version_id, is_applied).
func Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is in the program
	}
	return sub
}

// versionTable is goose's.
const versionTable = "mortise_versions"

// VersionError says that there are no tables, or older ones than this program needs.
type VersionError struct {
	Schema      string
	Found, Want int64 // Found is 0 if there are no tables
}

// Error says what to do.
func (e *VersionError) Error() string {
	if e.Found == 0 {
		return fmt.Sprintf("postgres: there are no tables in schema %q: run postgres.Migrate", e.Schema)
	}
	return fmt.Sprintf("postgres: the tables in schema %q have version %d, and this program needs version %d: run postgres.Migrate",
		e.Schema, e.Found, e.Want)
}

// latest is the version of the last file.
func latest() (version int64) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		return 0
	}
	for _, name := range names {
		if v, err := goose.NumericComponent(name); err == nil {
			version = max(version, v)
		}
	}
	return version
}

// checkVersion returns a [*VersionError] unless the tables are what this program needs. Newer
// ones are: from the first release on a migration only adds.
func (db *DB) checkVersion(ctx context.Context) error {
	e := &VersionError{Schema: db.opts.Schema, Want: latest()}
	err := db.read(ctx, noOrg, func(s *session) error {
		return s.row("SELECT coalesce(max(version_id), 0) FROM @."+versionTable+" WHERE is_applied", nil, &e.Found)
	})
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000"): // undefined_table, invalid_schema_name
		return e
	case errors.As(err, &pg) && pg.Code == "42501": // insufficient_privilege
		return fmt.Errorf("postgres: the role may not use the tables in schema %q: grant it what the documentation of Migrate says: %w",
			e.Schema, err)
	case err != nil:
		return err
	case e.Found < e.Want:
		return e
	}
	return nil
}

// Migrate makes the schema if it is not there, and brings its tables up to date. Options may
// be nil. Where several programs do it at once, one does the work and the others wait for
// it, until ctx ends. It connects once more as conn did; conn is the caller's again when it
// returns, and must not be one of PgBouncer's in transaction mode.
//
// The role needs the right to create a schema in the database, or to create tables in the
// schema that is there. The programs may have another role, with fewer rights. With
// the schema's default name, and the tables made by the role "owner", they need:
//
//	GRANT USAGE ON SCHEMA mortise TO program;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mortise TO program;
//	GRANT USAGE ON ALL SEQUENCES IN SCHEMA mortise TO program;
//	-- and what later migrations make:
//	ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA mortise
//		GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO program;
//	ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA mortise
//		GRANT USAGE ON SEQUENCES TO program;
//
// From the first release on a migration only adds, so programs of the version before may go on
// beside those of the new one: migrate first, and then restart one after the other.
func Migrate(ctx context.Context, conn *pgx.Conn, opts *Options) (err error) {
	o, err := opts.withDefaults()
	if err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("postgres: migrate schema %q: %w", o.Schema, err) }
	const lock, unlock = "SELECT pg_advisory_lock(hashtextextended($1, 0))", "SELECT pg_advisory_unlock(hashtextextended($1, 0))"
	name := "mortise migrate " + o.Schema
	if _, err := conn.Exec(ctx, lock, name); err != nil {
		return fail(err)
	}
	defer func() {
		if _, e := conn.Exec(context.WithoutCancel(ctx), unlock, name); e != nil && err == nil {
			err = fail(e)
		}
	}()
	var there bool
	if err := conn.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", o.Schema).Scan(&there); err != nil {
		return fail(err)
	}
	if !there { // IF NOT EXISTS asks for the right to create schemas, even where it does nothing
		if _, err := conn.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{o.Schema}.Sanitize()); err != nil {
			return fail(err)
		}
	}
	if err := up(ctx, conn.Config(), &o); err != nil {
		return fail(err)
	}
	return nil
}

// up runs the migrations that are missing, on a connection whose search_path is the schema:
// goose would not quote the schema's name.
func up(ctx context.Context, config *pgx.ConnConfig, o *Options) error {
	config.RuntimeParams["search_path"] = o.Schema
	pool := stdlib.OpenDB(*config)
	defer func(pool *sql.DB) { _ = pool.Close() }(pool)
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, Migrations(),
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	done, err := provider.Up(ctx)
	for _, r := range done {
		o.Logger.InfoContext(ctx, "migrated the tables", "schema", o.Schema, "file", r.Source.Path, "seconds", r.Duration.Seconds())
	}
	return err
}
