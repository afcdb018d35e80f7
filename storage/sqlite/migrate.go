package sqlite

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// migrations holds a folder for each domain, with files named NNNN_what.sql. A file that
// was released is never changed.
//
//go:embed migrations
var migrations embed.FS

// step is one migration of a domain: it takes the tables from version-1 to version.
type step struct {
	domain  string
	version int
	script  string
}

// codeSteps are what SQL cannot do of migrations, by domain and version. It is done after
// the script, in the same transaction. As a script, it is never changed when it was
// released.
var codeSteps = map[string]map[int]func(ctx context.Context, conn *conn) error{
	"audiosearch": {7: nameClasses},
}

// migrate brings the tables of every domain up to date, all in one transaction, so that
// of two processes which open an old file at once one does the work and the other finds
// it done.
//
// (goose, which the PostgreSQL backend uses, runs each migration in a transaction of its
// own, and its locks are PostgreSQL's.)
func migrate(ctx context.Context, conn *conn, files fs.FS) (err error) {
	steps, err := readSteps(files)
	if err != nil {
		return err
	}
	if _, err := conn.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = conn.exec(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	const table = "CREATE TABLE IF NOT EXISTS mortise_versions (domain TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID"
	if _, err := conn.exec(ctx, table); err != nil {
		return err
	}
	found, err := versions(ctx, conn)
	if err != nil {
		return err
	}
	if err := checkVersions(found, steps); err != nil {
		return err
	}
	for _, s := range steps {
		if s.version <= found[s.domain] {
			continue
		}
		if _, err := conn.exec(ctx, s.script); err != nil {
			return fmt.Errorf("migrate the tables of %q to version %d: %w", s.domain, s.version, err)
		}
		if code := codeSteps[s.domain][s.version]; code != nil {
			if err := code(ctx, conn); err != nil {
				return fmt.Errorf("migrate the rows of %q to version %d: %w", s.domain, s.version, err)
			}
		}
		const note = "INSERT INTO mortise_versions (domain, version) VALUES (?, ?) ON CONFLICT DO UPDATE SET version = excluded.version"
		if _, err := conn.exec(ctx, note, s.domain, s.version); err != nil {
			return err
		}
	}
	// BEGIN IMMEDIATE on a read-only file succeeds, as a transaction that cannot write.
	// This changes nothing, but has to be allowed to.
	if _, err := conn.exec(ctx, "UPDATE mortise_versions SET version = version WHERE FALSE"); err != nil {
		return err
	}
	_, err = conn.exec(ctx, "COMMIT")
	return err
}

// checkVersions refuses tables that a newer program has made.
func checkVersions(found map[string]int, steps []step) error {
	known := make(map[string]int)
	for _, s := range steps {
		known[s.domain] = s.version
	}
	for domain, version := range found {
		if version > known[domain] {
			return fmt.Errorf("%w: its tables of %q have version %d, and this program knows them up to version %d; use a newer program",
				ErrUnusable, domain, version, known[domain])
		}
	}
	return nil
}

// versions returns the version of each domain's tables in the file.
func versions(ctx context.Context, conn *conn) (map[string]int, error) {
	found := make(map[string]int)
	err := conn.query(ctx, "SELECT domain, version FROM mortise_versions", nil, func(r *row) error {
		found[r.text(0)] = r.number(1)
		return nil
	})
	return found, err
}

// ofJobs is 1 for the table of jobs, which comes first: migrations of domains move rows
// to it.
func ofJobs(s step) int {
	if s.domain == "jobs" {
		return 1
	}
	return 0
}

// readSteps returns the migrations by domain and version. The versions of a domain are 1,
// 2, 3, ... without a gap.
func readSteps(files fs.FS) ([]step, error) {
	names, err := fs.Glob(files, "migrations/*/*.sql")
	if err != nil {
		return nil, err
	}
	var steps []step
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("%s does not begin with a version", name)
		}
		script, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{domain: path.Base(path.Dir(name)), version: version, script: string(script)})
	}
	slices.SortFunc(steps, func(a, b step) int {
		return cmp.Or(ofJobs(b)-ofJobs(a), strings.Compare(a.domain, b.domain), a.version-b.version)
	})
	for i, s := range steps {
		want := 1
		if i > 0 && steps[i-1].domain == s.domain {
			want = steps[i-1].version + 1
		}
		if s.version != want {
			return nil, fmt.Errorf("the migrations of %q have version %d where %d is due", s.domain, s.version, want)
		}
	}
	return steps, nil
}
