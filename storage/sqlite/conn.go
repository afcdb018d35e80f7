package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// conn is a connection with the statements that were prepared on it. One goroutine uses it at a time.
type conn struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // by text; there are few: conditions vary, values are bound
}

// unbounded is the context of statements that nobody can end: those of the writer, whose transaction is many callers', and short ones,
// for which the two goroutines that watch a context would cost more than the statement.
var unbounded = context.Background()

func connect(pool *sql.DB) (*conn, error) {
	c, err := pool.Conn(unbounded)
	if err != nil {
		return nil, err
	}
	return &conn{conn: c, stmts: make(map[string]*sql.Stmt)}, nil
}

func (c *conn) stmt(text string) (*sql.Stmt, error) {
	if stmt, ok := c.stmts[text]; ok {
		return stmt, nil
	}
	stmt, err := c.conn.PrepareContext(unbounded, text)
	if err != nil {
		return nil, err
	}
	c.stmts[text] = stmt
	return stmt, nil
}

func (c *conn) exec(text string) error {
	stmt, err := c.stmt(text)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(unbounded)
	return err
}

// close closes the connection for good: it does not go back to the pool.
func (c *conn) close() {
	for _, stmt := range c.stmts {
		_ = stmt.Close()
	}
	_ = c.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = c.conn.Close()
}

// scan returns a function that calls each for every row and closes rows.
func scan(rows *sql.Rows, err error) func(each func(*sql.Rows) error) error {
	return func(each func(*sql.Rows) error) error {
		if err != nil {
			return err
		}
		for rows.Next() {
			if err := each(rows); err != nil {
				return errors.Join(err, rows.Close())
			}
		}
		return errors.Join(rows.Err(), rows.Close())
	}
}
