package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// reader reads on connections of its own, each query from a snapshot of its own. What a write acknowledged before is in it.
type reader struct {
	pool  *sql.DB
	conns chan *conn // those that are free; nil stands for one that is not connected
	once  sync.Once
	ended chan struct{} // closed by close
}

func newReader(pool *sql.DB, n int) *reader {
	pool.SetMaxOpenConns(n)
	r := &reader{pool: pool, conns: make(chan *conn, n), ended: make(chan struct{})}
	for range n {
		r.conns <- nil
	}
	return r
}

// close waits for the reads that are under way.
func (r *reader) close() error {
	r.once.Do(func() {
		close(r.ended)
		for range cap(r.conns) {
			if c := <-r.conns; c != nil {
				c.close()
			}
		}
	})
	return r.pool.Close()
}

// find runs a query that an index answers at once, and calls each for every row. ctx bounds the waiting before it.
func (db *DB) find(ctx context.Context, text string, args []any, each func(*sql.Rows) error) error {
	return db.query(ctx, unbounded, text, args, each)
}

// list runs a query that may take long, and calls each for every row.
func (db *DB) list(ctx context.Context, text string, args []any, each func(*sql.Rows) error) error {
	return db.query(ctx, ctx, text, args, each)
}

func (db *DB) query(ctx, running context.Context, text string, args []any, each func(*sql.Rows) error) error {
	r := db.reader
	if err := ctx.Err(); err != nil {
		return err
	}
	var c *conn
	select {
	case <-r.ended:
		return ErrClosed
	default:
	}
	select {
	case <-r.ended:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case c = <-r.conns:
	}
	failed := true
	defer func() {
		if failed && c != nil { // one that found the file broken may not see that it is whole again
			c.close()
			c = nil
		}
		r.conns <- c
	}()
	var rows *sql.Rows
	err := retryBusy(ctx, db.busy, func() (err error) {
		if c == nil {
			if c, err = connect(r.pool); err != nil {
				return err
			}
		}
		stmt, err := c.stmt(text)
		if err != nil {
			return err
		}
		rows, err = stmt.QueryContext(running, args...)
		return err
	})
	err = scan(rows, err)(each)
	failed = err != nil
	return err
}
