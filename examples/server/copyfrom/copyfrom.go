// Package copyfrom copies what a server keeps in a SQLite file into the tables of
// PostgreSQL. It reads and writes the tables of storage/sqlite and storage/postgres
// themselves: an interface of the domains would give new IDs, times and digests, where a
// token that was given out has to stay what it is.
//
// All rows are read twice. The first time they are counted and digested, and that is
// noted in a table of the database's, copy_from; then each table is copied in a
// transaction of its own, which notes that, too. So a copy that was cut off goes on with
// the table where it was, from the same rows. At last the tables of PostgreSQL are read
// and compared with what was noted, and the note goes. While it is there, no server
// starts.
package copyfrom

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/jackc/pgx/v5"
)

var (
	// ErrSource is of a file that cannot be copied as it is, ErrTarget of such a database.
	// Trying again is of no use.
	ErrSource = errors.New("the SQLite database")
	ErrTarget = errors.New("the PostgreSQL database")
)

// Run copies the file at path, which nobody may have open, and whose tables are up to
// date, as are those of the database. It writes a line on each table to out. At last, when
// it has let go of the file, it calls rest, which copies the audio search: see [CopyAudio].
func Run(ctx context.Context, path string, conn *pgx.Conn, out io.Writer, rest func(ctx context.Context, a *Audio) error) (err error) {
	from, err := openSource(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	to := &target{conn: conn}
	if err := to.lock(ctx); err != nil {
		return err
	}
	if err := to.look(ctx); err != nil {
		return err
	}
	if err := check(from.columns, to.columns, to.counters); err != nil {
		return err
	}
	plan, err := from.plan(ctx, to.columns)
	if err != nil {
		return err
	}
	begun, done, err := to.begun(ctx)
	switch {
	case err != nil:
		return err
	case begun == nil:
		err = to.begin(ctx, plan)
	case !maps.Equal(begun, plan):
		err = fmt.Errorf("%w: it has a part of a copy of another database, or of this one before it was changed. "+
			"Drop its schema %s and copy again", ErrTarget, schema)
	}
	if err != nil {
		return err
	}
	for i := range tables {
		t := &tables[i]
		if done[t.name] {
			fmt.Fprintf(out, "%s: copied before\n", t.name)
			continue
		}
		if err := to.copy(ctx, from, t); err != nil {
			return fmt.Errorf("copy %s: %w", t.name, err)
		}
	}
	for i := range tables {
		name := tables[i].name
		found, err := to.sum(ctx, &tables[i])
		if err != nil {
			return fmt.Errorf("compare %s: %w", name, err)
		}
		if want := plan[name]; found != want {
			return fmt.Errorf("%w: of %s it has %d rows with digest %s, and the SQLite database %d with %s: "+
				"something else wrote to it. Drop its schema %s and copy again",
				ErrTarget, name, found.rows, found.hex(), want.rows, want.hex(), schema)
		}
		fmt.Fprintf(out, "%s: rows %d, digest %s, the same in both\n", name, found.rows, found.hex())
	}
	audio, err := from.audio(ctx)
	if err != nil {
		return err
	}
	if err := from.close(); err != nil {
		return err
	}
	if err := rest(ctx, audio); err != nil {
		return fmt.Errorf("copy the audio search: %w", err)
	}
	return to.end(ctx)
}

// plan reads all that is to be copied.
func (s *source) plan(ctx context.Context, to map[string][]column) (map[string]sum, error) {
	plan := make(map[string]sum)
	for i := range tables {
		found, err := s.sum(ctx, &tables[i], to[tables[i].name])
		if err != nil {
			return nil, err
		}
		plan[tables[i].name] = found
	}
	return plan, nil
}

func (s *source) sum(ctx context.Context, t *table, to []column) (found sum, err error) {
	rows, err := s.rows(ctx, t, to)
	if err != nil {
		return found, err
	}
	defer rows.close()
	for {
		row, err := rows.next()
		if err != nil || row == nil {
			return found, err
		}
		found.add(row)
	}
}

// Unfinished reports whether the database has a part of a copy.
func Unfinished(ctx context.Context, conn interface {
	QueryRow(ctx context.Context, text string, args ...any) pgx.Row
}) (unfinished bool, err error) {
	err = conn.QueryRow(ctx, "SELECT to_regclass('"+schema+"."+progress+"') IS NOT NULL").Scan(&unfinished)
	return unfinished, err
}
