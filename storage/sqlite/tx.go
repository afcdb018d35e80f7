package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// writeConn is the writer's connection, with the statements that were prepared on it.
type writeConn struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// unbounded is the context of the writer's statements. The transaction is many callers': none of them can end it.
var unbounded = context.Background()

func newWriteConn(pool *sql.DB) (*writeConn, error) {
	conn, err := pool.Conn(unbounded)
	if err != nil {
		return nil, err
	}
	return &writeConn{conn: conn, stmts: make(map[string]*sql.Stmt)}, nil
}

func (c *writeConn) stmt(text string) (*sql.Stmt, error) {
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

func (c *writeConn) exec(text string) error {
	stmt, err := c.stmt(text)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(unbounded)
	return err
}

// close closes the connection for good: it does not go back to the pool.
func (c *writeConn) close() {
	for _, stmt := range c.stmts {
		_ = stmt.Close()
	}
	_ = c.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = c.conn.Close()
}

// tx is an operation's view of the writer's transaction.
type tx struct {
	conn   *writeConn
	op     *op
	wrote  bool // a statement has changed something
	failed bool // a statement has failed: the transaction may be gone
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(text string, args ...any) (changed int64, err error) {
	stmt, err := t.conn.stmt(text)
	if err != nil {
		t.failed = true
		return 0, err
	}
	result, err := stmt.ExecContext(unbounded, args...)
	if err != nil {
		t.failed = true
		return 0, err
	}
	changed, err = result.RowsAffected()
	t.wrote = t.wrote || changed > 0
	return changed, err
}

// query calls each for every row.
func (t *tx) query(text string, args []any, each func(*sql.Rows) error) error {
	stmt, err := t.conn.stmt(text)
	if err == nil {
		err = scan(stmt.QueryContext(unbounded, args...))(each)
	}
	if err != nil {
		t.failed = true
	}
	return err
}

// host runs code of the caller's, unless he has left. Only here may an operation touch what belongs to the caller.
func (t *tx) host(f func() error) error {
	t.op.mu.Lock()
	defer t.op.mu.Unlock()
	if t.op.gone {
		return errGone
	}
	return f()
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
