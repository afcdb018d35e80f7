package fromsqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// source is a SQLite file that nobody else has open.
type source struct {
	db      *sql.DB
	conn    *sql.Conn
	columns map[string][]string // of each table
}

// openSource gets a file for this process alone, until it is closed. With a write-ahead log
// each connection has a shared lock on the file as long as it is open. An exclusive one is
// refused while there is any, and keeps others out.
func openSource(ctx context.Context, db *sql.DB) (_ *source, err error) {
	s := &source{db: db}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return nil, busy(err)
	}
	for _, statement := range []string{
		"PRAGMA locking_mode = EXCLUSIVE", "PRAGMA busy_timeout = 2000",
		"BEGIN EXCLUSIVE", "COMMIT", "PRAGMA query_only = 1",
	} {
		if _, err := s.conn.ExecContext(ctx, statement); err != nil {
			return nil, busy(err)
		}
	}
	s.columns, err = s.tables(ctx)
	return s, err
}

// busy says what to do about a file that is open elsewhere, and what other errors are of. The
// drivers have types of their own for errors, and SQLite's text in them.
func busy(err error) error {
	if strings.Contains(err.Error(), "is locked") {
		return fmt.Errorf("%w: a program uses it; stop that first", ErrSource)
	}
	return fmt.Errorf("open the SQLite database: %w", err)
}

// close may be called again.
func (s *source) close() error {
	var err error
	if s.conn != nil {
		err = s.conn.Close()
		s.conn = nil
	}
	return errors.Join(err, s.db.Close())
}

// tables returns the columns of each table.
func (s *source) tables(ctx context.Context) (map[string][]string, error) {
	rows, err := s.conn.QueryContext(ctx, "SELECT t.name, c.name"+
		" FROM sqlite_schema AS t CROSS JOIN pragma_table_info(t.name) AS c"+
		" WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make(map[string][]string)
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return nil, err
		}
		found[table] = append(found[table], column)
	}
	return found, rows.Err()
}

// rows returns what is to be copied into a table, as values of PostgreSQL's types.
func (s *source) rows(ctx context.Context, t *table, to []column) (*sourceRows, error) {
	var fields []string
	for _, c := range to {
		field, given := t.given[c.name]
		if !given {
			field = t.sourceName() + "." + c.name
		}
		fields = append(fields, field)
	}
	from := t.from
	if from == "" {
		from = t.sourceName()
	}
	rows, err := s.conn.QueryContext(ctx, "SELECT "+strings.Join(fields, ", ")+" FROM "+from)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.sourceName(), err)
	}
	r := &sourceRows{rows: rows, table: t, columns: to, values: make([]any, len(to)), to: make([]any, len(to))}
	for i := range r.values {
		r.to[i] = &r.values[i]
	}
	return r, nil
}

// sourceRows reads rows of a table.
type sourceRows struct {
	rows    *sql.Rows
	table   *table
	columns []column
	values  []any
	to      []any
}

// next returns the next row, nil at the end. It is good until the next call.
func (r *sourceRows) next() ([]any, error) {
	if !r.rows.Next() {
		return nil, r.rows.Err()
	}
	if err := r.rows.Scan(r.to...); err != nil {
		return nil, err
	}
	for i, c := range r.columns {
		value, ok := c.value(r.values[i])
		if !ok {
			return nil, fmt.Errorf("%w: a row of %s is damaged: %s is no %s", ErrSource, r.table.sourceName(), c.name, c.is)
		}
		r.values[i] = value
	}
	return r.values, nil
}

func (r *sourceRows) close() { _ = r.rows.Close() }

func (t *table) sourceName() string {
	if t.source == "" {
		return t.name
	}
	return t.source
}

// isOurs reports whether a table of a SQLite file is one of storage/sqlite's. The file may
// have others of the host's, which stay where they are.
func isOurs(name string) bool {
	first, _, _ := strings.Cut(name, "_")
	return slices.Contains([]string{"mortise", "trigger", "authmgmt", "vault", "audiosearch"}, first)
}

// hasDomain reports whether the file has tables of a domain.
func (s *source) hasDomain(domain string) bool {
	for name := range s.columns {
		if of, _, _ := strings.Cut(name, "_"); of == domain {
			return true
		}
	}
	return false
}

// has reports whether the file has the domain of a table, or the table is of no domain.
func (s *source) has(t *table) bool {
	domain, _, _ := strings.Cut(t.sourceName(), "_")
	return domain == "mortise" || s.hasDomain(domain)
}

// check compares the tables of both sides with what this package knows.
func check(s *source, to map[string][]column, counters []string) error {
	var wrong []error
	bad := func(side, table, column string) {
		wrong = append(wrong, fmt.Errorf("this program does not know how to copy %s of %s's table %s", column, side, table))
	}
	from := s.columns
	known, made, counted := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for i := range tables {
		t := &tables[i]
		known[t.sourceName()], made[t.name], counted[t.counter] = true, true, true
		if !s.has(t) {
			continue
		}
		source := from[t.sourceName()]
		has := func(name string) bool {
			return slices.ContainsFunc(to[t.name], func(c column) bool { return c.name == name })
		}
		for _, name := range source {
			if has(name) == slices.Contains(t.left, name) {
				bad("SQLite", t.sourceName(), "the column "+name)
			}
		}
		for _, c := range to[t.name] {
			if _, given := t.given[c.name]; !given && !slices.Contains(source, c.name) {
				bad("PostgreSQL", t.name, "the column "+c.name)
			}
		}
		if len(source) == 0 || len(to[t.name]) == 0 {
			bad("both", t.name, "what is missing")
		}
	}
	for name, columns := range from {
		if other, ok := others[name]; ok && slices.Equal(other, columns) {
			continue
		}
		if !known[name] && isOurs(name) && !strings.HasPrefix(name, stays) {
			bad("SQLite", name, "the columns")
		}
	}
	for name := range to {
		if !made[name] && !strings.HasPrefix(name, stays) && !slices.Contains(notes, name) {
			bad("PostgreSQL", name, "the columns")
		}
	}
	for _, name := range counters {
		if !counted[name] && !strings.HasPrefix(name, stays) {
			bad("PostgreSQL", name, "the sequence")
		}
	}
	return errors.Join(wrong...)
}
