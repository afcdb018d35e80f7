package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-6363c74e/mortise/internal/tables"
)

var (
	// ErrNoTables is the error of New for a schema that lacks tables: run [Migrate].
	ErrNoTables = errors.New("no tables")

	// ErrUnusable is the error of New and Migrate for a schema whose tables another version
	// has made, or that somebody has changed. Trying again is of no use.
	ErrUnusable = errors.New("unusable schema")
)

//go:embed migrations
var files embed.FS

// script makes the tables of a domain and their views, or the tables that all domains share.
type script struct {
	domain, text string
	digest       string // SHA-256 of the text, in hex
}

// scripts are in the order in which they run.
var scripts = func() (all []script) {
	for _, domain := range []string{"trigger", "vault", "authmgmt", "audiosearch", "jobs"} {
		text, err := files.ReadFile("migrations/" + domain + ".sql")
		if err != nil {
			panic(err) // the file is in the program
		}
		s := script{domain: domain, text: string(text) + tables.Of(domain, &dialect)}
		digest := sha256.Sum256([]byte(s.text))
		s.digest = hex.EncodeToString(digest[:])
		all = append(all, s)
	}
	return all
}()

// scriptsTable says which script made a domain's tables, and which program ran it and when.
const scriptsTable = `CREATE TABLE IF NOT EXISTS mortise_scripts (
	domain  text        NOT NULL PRIMARY KEY,
	digest  text        NOT NULL,
	program text        NOT NULL,
	made_at timestamptz NOT NULL
)`

// program is the path and version of the main module, as its build information has them: the
// host's, which says what to open the schema with. A tree without a version is "(devel)".
func program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "an unknown version"
	}
	return cmp.Or(info.Main.Path, info.Path) + " " + cmp.Or(info.Main.Version, "(devel)")
}

// Migrate does the work of [Migrate] for some domains, and returns the domains whose tables it
// has made.
func Migrate(ctx context.Context, conn *pgx.Conn, schema string, of []string) (domains []string, err error) {
	// At READ COMMITTED a program that waited for the lock sees the tables of another one.
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		const lock = "SELECT pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0::bigint))"
		if _, err := tx.Exec(ctx, lock, "mortise migrate "+schema); err != nil {
			return err
		}
		missing, err := inspect(ctx, tx, schema, of)
		if err != nil || len(missing) == 0 {
			return err
		}
		for _, s := range missing {
			domains = append(domains, s.domain)
		}
		return run(ctx, tx, schema, missing)
	})
	return domains, err
}

// run makes the schema if it is not there, and runs scripts in it.
func run(ctx context.Context, tx pgx.Tx, schema string, missing []script) error {
	name := pgx.Identifier{schema}.Sanitize()
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", schema).Scan(&there); err != nil {
		return err
	}
	begin := "SET LOCAL standard_conforming_strings = on; SET LOCAL search_path = " + name + "; " + scriptsTable
	if !there { // IF NOT EXISTS asks for the right to create schemas, even where it does nothing
		begin = "CREATE SCHEMA " + name + "; " + begin
	}
	if _, err := tx.Exec(ctx, begin); err != nil {
		if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && pg.Code == "3F000" { // invalid_schema_name
			err = fmt.Errorf("the role may not use the schema %q: grant it USAGE and CREATE: %w", schema, err)
		}
		return err
	}
	for _, s := range missing {
		if _, err := tx.Exec(ctx, s.text); err != nil {
			return fmt.Errorf("make the tables of %s: %w", s.domain, err)
		}
		const note = "INSERT INTO mortise_scripts (domain, digest, program, made_at) VALUES ($1, $2, $3, now())"
		if _, err := tx.Exec(ctx, note, s.domain, s.digest, program()); err != nil {
			return err
		}
	}
	return nil
}
