package fromsqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// target is the tables of PostgreSQL, on one connection.
type target struct {
	conn     *pgx.Conn
	schema   string
	columns  map[string][]column
	counters []string // sequences that are no column's
}

func (t *target) name(table string) string { return pgx.Identifier{t.schema, table}.Sanitize() }

// patience is how long another copy may take to end: the session of one that was killed
// ends when the database finds that out.
const patience = 30 * time.Second

// lock keeps other copies away until the connection ends.
func (t *target) lock(ctx context.Context) error {
	for until := time.Now().Add(patience); ; {
		var got bool
		name := "mortise copy " + t.schema
		err := t.conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", name).Scan(&got)
		switch {
		case err != nil || got:
			return err
		case time.Now().After(until):
			return errors.New("another copy into the database is under way")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// look finds out which tables and sequences there are.
func (t *target) look(ctx context.Context) error {
	t.columns = make(map[string][]column)
	rows, err := t.conn.Query(ctx, "SELECT c.relname, a.attname, format_type(a.atttypid, NULL), a.attidentity <> ''"+
		" FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"+
		" WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') ORDER BY c.relname, a.attnum", t.schema)
	if err != nil {
		return err
	}
	var name string
	var c column
	_, err = pgx.ForEachRow(rows, []any{&name, &c.name, &c.is, &c.identity}, func() error {
		t.columns[name] = append(t.columns[name], c)
		return nil
	})
	if err != nil {
		return err
	}
	rows, err = t.conn.Query(ctx, "SELECT c.relname FROM pg_class AS c"+
		" WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'S' AND NOT EXISTS ("+
		"SELECT FROM pg_depend AS d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0)", t.schema)
	if err != nil {
		return err
	}
	t.counters, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

// begun returns what a copy that has not ended was to copy, and which tables it has; nil if
// there is none.
func (t *target) begun(ctx context.Context) (plan map[string]sum, done map[string]bool, err error) {
	if _, there := t.columns[progress]; !there {
		return nil, nil, nil
	}
	rows, err := t.conn.Query(ctx, "SELECT name, rows, digest, done FROM "+t.name(progress))
	if err != nil {
		return nil, nil, err
	}
	plan, done = make(map[string]sum), make(map[string]bool)
	var name string
	var n int64
	var digest []byte
	var is bool
	_, err = pgx.ForEachRow(rows, []any{&name, &n, &digest, &is}, func() error {
		if len(digest) != 32 {
			return fmt.Errorf("the table %s is damaged", progress)
		}
		plan[name], done[name] = sum{n, [32]byte(digest)}, is
		return nil
	})
	return plan, done, err
}

// begin notes what is to be copied, if there is nothing yet.
func (t *target) begin(ctx context.Context, plan map[string]sum) error {
	return pgx.BeginFunc(ctx, t.conn, func(tx pgx.Tx) error {
		for _, name := range slices.Sorted(maps.Keys(t.columns)) {
			if slices.Contains(notes, name) {
				continue
			}
			var some bool
			if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+t.name(name)+")").Scan(&some); err != nil {
				return err
			}
			if some {
				return fmt.Errorf("%w: it is not empty (%s has rows): a program has been started on it, or it was copied into. "+
					"Name an empty database, or drop the schema %s of this one", ErrTarget, name, t.schema)
			}
		}
		_, err := tx.Exec(ctx, "CREATE TABLE "+t.name(progress)+
			" (name text PRIMARY KEY, rows bigint NOT NULL, digest bytea NOT NULL, done boolean NOT NULL)")
		for name, s := range plan {
			if err == nil {
				_, err = tx.Exec(ctx, "INSERT INTO "+t.name(progress)+" VALUES ($1, $2, $3, false)", name, s.rows, s.digest[:])
			}
		}
		return err
	})
}

// copy copies a table, as a whole or not at all.
func (t *target) copy(ctx context.Context, from *source, what *table) error {
	columns := t.columns[what.name]
	rows, err := from.rows(ctx, what, columns)
	if err != nil {
		return err
	}
	defer rows.close()
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	return pgx.BeginFunc(ctx, t.conn, func(tx pgx.Tx) error {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{t.schema, what.name}, names, pgx.CopyFromFunc(rows.next)); err != nil {
			return err
		}
		for _, c := range columns {
			counter := what.counter
			if c.identity {
				counter = ""
			} else if counter == "" || c.name != "seq" {
				continue
			}
			of := "pg_get_serial_sequence('" + t.name(what.name) + "', '" + c.name + "')"
			if counter != "" {
				of = "'" + t.name(counter) + "'"
			}
			name := pgx.Identifier{c.name}.Sanitize()
			set := "SELECT setval(" + of + ", max(" + name + ")) FROM " + t.name(what.name) + " HAVING max(" + name + ") > 0"
			if _, err := tx.Exec(ctx, set); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "UPDATE "+t.name(progress)+" SET done = true WHERE name = $1", what.name)
		return err
	})
}

// sum reads a table.
func (t *target) sum(ctx context.Context, what *table) (s sum, err error) {
	var names []string
	for _, c := range t.columns[what.name] {
		names = append(names, pgx.Identifier{c.name}.Sanitize())
	}
	rows, err := t.conn.Query(ctx, "SELECT "+strings.Join(names, ", ")+" FROM "+t.name(what.name))
	if err != nil {
		return s, err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return s, err
		}
		s.add(values)
	}
	return s, rows.Err()
}

// end has servers start on the database.
func (t *target) end(ctx context.Context) error {
	for i := range tables {
		if len(t.columns[tables[i].name]) == 0 {
			continue
		}
		if _, err := t.conn.Exec(ctx, "ANALYZE "+t.name(tables[i].name)); err != nil {
			return err
		}
	}
	_, err := t.conn.Exec(ctx, "DROP TABLE "+t.name(progress))
	return err
}
