package sqlite

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// reader reads on connections of its own, each query from a snapshot of its own. What a write acknowledged before is in it.
type reader struct {
	source source
	conns  chan *conn  // those that are free; nil stands for one that is not connected
	moved  atomic.Bool // the file was not in its place a moment ago
	once   sync.Once
	ended  chan struct{} // closed by close
}

func newReader(s source, n int) *reader {
	r := &reader{source: s, conns: make(chan *conn, n), ended: make(chan struct{})}
	for range n {
		r.conns <- nil
	}
	return r
}

// close waits for the reads that are under way.
func (r *reader) close() (err error) {
	r.once.Do(func() {
		close(r.ended)
		for range cap(r.conns) {
			if c := <-r.conns; c != nil {
				err = errors.Join(err, c.close())
			}
		}
	})
	return err
}

// find runs a query that an index answers at once, and calls each for every row. ctx bounds the waiting before it.
func (db *DB) find(ctx context.Context, text string, args []any, each func(*row) error) error {
	return db.finder.query(ctx, unbounded, db.busy, text, args, each)
}

// list runs a query that may take long, and calls each for every row.
func (db *DB) list(ctx context.Context, text string, args []any, each func(*row) error) error {
	return db.lister.query(ctx, ctx, db.busy, text, args, each)
}

// query waits for a free connection and for locks until ctx ends, for locks no longer than busy. running bounds the query itself.
func (r *reader) query(ctx, running context.Context, busy time.Duration, text string, args []any, each func(*row) error) error {
	return r.use(ctx, busy, func(c *conn) error { return c.query(running, text, args, each) })
}

// use calls do with a free connection, again while the file is locked. It waits as query does.
func (r *reader) use(ctx context.Context, busy time.Duration, do func(*conn) error) error {
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
	var err error
	defer func() {
		if err != nil && c != nil && !isBusy(err) { // one that found the file broken may not see that it is whole again
			_ = c.close()
			c = nil
		}
		r.conns <- c
	}()
	err = retryBusy(ctx, r.ended, time.Now().Add(busy), func() (err error) {
		if r.moved.Load() {
			if err := r.source.inPlace(); err != nil {
				return err
			}
		}
		if c == nil {
			if c, err = r.source.connect(); err != nil {
				return err
			}
		}
		return do(c)
	})
	return err
}
