package file

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	modernc "modernc.org/sqlite"
)

// Conn is a connection to the file, with the statements that were prepared on it. One
// goroutine uses it at a time.
//
// It stands on the driver itself. What database/sql adds, a pool, is not wanted here:
// there is one writer, and readers with statements of their own. Without it a statement
// costs a third less of this process's time.
type Conn struct {
	conn  driver.Conn
	stmts map[string]prepared // by text; there are few: conditions vary, values are bound
	open  int                 // queries that have not ended
	bound []driver.NamedValue // of one call of the driver, which does not keep them

	memories Memories
	forgets  func(text string) bool // whether a statement may change rows that a forgetter remembers; nil: none does
}

// prepared is a statement.
type prepared struct {
	stmt
	forgets bool // see Conn.forgets
}

// stmt is what the driver's statements can do.
//
// No statement has a parameter alone as its LIMIT: SQLite looks at its value when it compiles
// the statement, and compiles it again whenever one is bound. So it is LIMIT 0 + ?, which
// it does not look into.
type stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// tick is how long SQLite itself waits for a lock. It is short because SQLite's wait does
// not end with a context; retryBusy does the rest.
const tick = 20 * time.Millisecond

// source opens connections of one kind.
type source struct {
	path      string
	file      fs.FileInfo // what stood at path when the source was made
	connector driver.Connector
	forgets   func(text string) bool // of its connections
}

// newSource returns the source of connections to the file at an absolute path. settings
// are parameters of the driver.
func newSource(path string, settings url.Values) (source, error) {
	settings.Set("_busy_timeout", strconv.FormatInt(tick.Milliseconds(), 10))
	settings.Set("_error_rc", "1")
	settings.Add("_pragma", "trusted_schema(0)") // views, triggers and indexes call no function that has effects
	if !settings.Has("mode") {
		settings.Set("mode", "rw") // a file that has been taken away must not be replaced by an empty one
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: settings.Encode()}
	if filepath.VolumeName(path) != "" {
		name.Path = "/" + name.Path // file:///C:/...
	}
	connector, err := modernc.NewConnector(name.String())
	if err != nil {
		return source{}, err
	}
	file, err := os.Stat(path)
	return source{path: path, file: file, connector: connector}, err
}

// inPlace fails if the file is not where it was opened. SQLite would go on writing to a
// file that has been removed, and what was acknowledged would end with the process; and
// it would apply the log of the old file to one that has been put in its place.
func (s source) inPlace() error {
	now, err := os.Stat(s.path)
	if err == nil && !os.SameFile(now, s.file) {
		err = errors.New("sqlite: the database file has been replaced while it was open; put it back, or start again")
	}
	return err
}

func (s source) connect() (*Conn, error) {
	if err := s.inPlace(); err != nil {
		return nil, err
	}
	c, err := s.connector.Connect(unbounded)
	if err != nil {
		return nil, err
	}
	return &Conn{conn: c, stmts: make(map[string]prepared), forgets: s.forgets}, nil
}

// unbounded is the context of what nobody can end: the statements of the writer, whose
// transaction is many callers', and short ones, for which the goroutine that watches a
// context would cost more than the statement.
var unbounded = context.Background()

// noted is told of each statement that is prepared, in tests.
var noted = func(text string) {}

func (c *Conn) stmt(text string) (prepared, error) {
	if s, ok := c.stmts[text]; ok {
		return s, nil
	}
	noted(text)
	made, err := c.conn.Prepare(text)
	if err != nil {
		return prepared{}, err
	}
	s, ok := made.(stmt)
	if !ok {
		return prepared{}, errors.Join(fmt.Errorf("sqlite: the driver's statement is a %T", made), made.Close())
	}
	p := prepared{s, c.forgets != nil && c.forgets(text)}
	c.stmts[text] = p
	return p, nil
}

// Exec runs a statement and returns how many rows it changed.
func (c *Conn) Exec(ctx context.Context, text string, args ...any) (changed int64, err error) {
	s, err := c.stmt(text)
	if err != nil {
		return 0, err
	}
	if s.forgets {
		c.memories.forgetters(forgetter.Forget)
	}
	result, err := s.ExecContext(ctx, c.values(args))
	clear(c.bound)
	if err != nil || result == nil { // a script of comments has none
		return 0, err
	}
	return result.RowsAffected()
}

// commit commits. A forgetter stays good, unless another connection has written before.
func (c *Conn) commit() error {
	c.memories.forgetters(func(f forgetter) { f.Committing(c) })
	if _, err := c.Exec(unbounded, "COMMIT"); err != nil {
		return err
	}
	c.memories.forgetters(func(f forgetter) { f.Committed(c) })
	return nil
}

// twoRows is a query that stays at its first row. It reads no table, so it holds no
// snapshot.
const twoRows = "VALUES (1), (2)"

// Query calls each for every row. A lock that another process holds shows before the
// first row.
func (c *Conn) Query(ctx context.Context, text string, args []any, each func(*Row) error) (err error) {
	// When ctx ends, the driver calls sqlite3_interrupt, once. SQLite forgets that when
	// it begins a statement while no other is open: a query would run to its end if ctx
	// ended just before it began.
	if ctx.Done() != nil && c.open == 0 {
		open, err := c.start(unbounded, twoRows, nil)
		if err != nil {
			return err
		}
		defer func() { _ = open.Close() }()
	}
	rows, err := c.start(ctx, text, args)
	if err != nil {
		return err
	}
	c.open++
	defer func() { c.open-- }()
	// Also if each panics: a statement that stays open holds the connection to what was
	// stored then.
	defer func() { err = errors.Join(err, rows.Close()) }()
	r := &Row{values: make([]driver.Value, len(rows.Columns()))}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := rows.Next(r.values); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := errors.Join(each(r), r.err); errors.Is(err, ErrEnough) {
			return r.err
		} else if err != nil {
			return err
		}
	}
}

// start runs a query to its first row.
func (c *Conn) start(ctx context.Context, text string, args []any) (driver.Rows, error) {
	s, err := c.stmt(text)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, c.values(args))
	clear(c.bound)
	return rows, err
}

// Close closes the connection. A transaction that is open is rolled back.
func (c *Conn) Close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.conn.Close())...)
}

// values makes arguments what the driver takes, until the next call.
func (c *Conn) values(args []any) []driver.NamedValue {
	c.bound = c.bound[:0]
	for i, arg := range args {
		if n, ok := arg.(int); ok {
			arg = int64(n)
		}
		c.bound = append(c.bound, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return c.bound
}

// DataVersion is a number that changes when a read begins, and another connection, of
// another process too, has written to the file since the read before
// (https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntldataversion).
// SQLite's own cache of pages relies on it.
func (c *Conn) DataVersion() (uint32, error) {
	control, ok := c.conn.(modernc.FileControl)
	if !ok {
		return 0, fmt.Errorf("sqlite: the driver's connection is a %T", c.conn)
	}
	return control.FileControlDataVersion("main")
}

// Lasting are the memories that live as long as the connection.
func (c *Conn) Lasting() *Memories { return &c.memories }
