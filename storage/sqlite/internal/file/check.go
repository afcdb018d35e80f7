package file

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	modernc "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// checks are how a file is checked that was not closed in peace.
type checks struct {
	time  time.Duration                                         // for which Open checks; what is left is checked behind, by a checker
	whole int64                                                 // a file of at most so many bytes is checked by Open in one go
	table func(ctx context.Context, c *Conn, name string) error // behind
}

// usual takes 0.5 s for a file of 256 MB that is in memory. Only a check in one go finds
// a page that belongs to two tables.
var usual = checks{time: 2 * time.Second, whole: 256 << 20, table: checkTable}

// errDamaged goes with ErrUnusable.
var errDamaged = errors.New("it is damaged")

// schemaTable is checked with the freelist
// (https://www.sqlite.org/pragma.html#pragma_integrity_check).
const schemaTable = "sqlite_schema"

// checkWhole reads the whole file.
func checkWhole(ctx context.Context, c *Conn) error {
	return check(ctx, c, "PRAGMA quick_check(1)")
}

// checkTable reads a table and its indexes. Pages that belong to another table, too, are
// not noticed.
func checkTable(ctx context.Context, c *Conn, name string) error {
	return check(ctx, c, `PRAGMA quick_check("`+strings.ReplaceAll(name, `"`, `""`)+`")`)
}

func check(ctx context.Context, c *Conn, pragma string) error {
	return c.Query(ctx, pragma, nil, func(r *Row) error {
		if found := r.Text(0); found != "ok" {
			return fmt.Errorf("%w: %s", errDamaged, firstFinding(found))
		}
		return nil
	})
}

// firstFinding leaves out what follows the first finding in a row that has many. Before
// it stands a line with the name of the database.
func firstFinding(found string) string {
	lines := strings.SplitN(found, "\n", 3)
	if !strings.HasPrefix(found, "***") {
		return lines[0]
	}
	return strings.Join(lines[:min(2, len(lines))], "\n")
}

// isDamage reports whether an error says that the file is damaged.
func isDamage(err error) bool {
	if errors.Is(err, errDamaged) {
		return true
	}
	var e *modernc.Error
	return errors.As(err, &e) && !isUntrusted(err) && (e.Code()&0xff == codes.SQLITE_CORRUPT || e.Code()&0xff == codes.SQLITE_NOTADB)
}

// isUntrusted reports whether SQLite refused a schema for a function of the program in it,
// because of trusted_schema. The error has the same code as one of a damaged file.
func isUntrusted(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unsafe use of ")
}

// allTables returns the names of all tables, the one of the schema first.
func allTables(ctx context.Context, c *Conn) ([]string, error) {
	names := []string{schemaTable}
	err := c.Query(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table'", nil, func(r *Row) error {
		names = append(names, r.Text(0))
		return nil
	})
	return names, err
}

// now checks as much of a file of some bytes as there is time for, and returns the tables
// that are left.
func (k checks) now(ctx context.Context, c *Conn, size int64) (rest []string, err error) {
	if rest, err = allTables(ctx, c); err != nil {
		return nil, err
	}
	if size <= k.whole {
		done, err := within(ctx, k.time, func(ctx context.Context) error { return checkWhole(ctx, c) })
		if done || err != nil {
			return nil, err
		}
		return rest, nil
	}
	return checkTables(ctx, c, rest, k.time)
}

// checkTables checks the tables for some time, and returns those that are left. Nobody
// knows how large a table is before it is read. So each is given a moment, and what it
// was not enough for comes after all others: the small ones do not wait for the large.
func checkTables(ctx context.Context, c *Conn, names []string, limit time.Duration) (rest []string, err error) {
	due := time.Now().Add(limit)
	for slice := limit / 32; len(names) > 0 && time.Now().Before(due); slice = limit {
		rest = nil
		for _, name := range names {
			done, err := within(ctx, min(slice, time.Until(due)), func(ctx context.Context) error { return checkTable(ctx, c, name) })
			if err != nil {
				return nil, err
			}
			if !done {
				rest = append(rest, name)
			}
		}
		names = rest
	}
	return names, nil
}

// within runs a check and reports whether it came to its end in time.
func within(ctx context.Context, limit time.Duration, check func(context.Context) error) (done bool, err error) {
	if limit <= 0 {
		return false, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = check(limited)
	if err != nil && !isDamage(err) && limited.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil, err
}
