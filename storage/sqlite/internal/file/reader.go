package file

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// reader reads on connections of its own, each query from a snapshot of its own. What a
// write acknowledged before is in it. The organizations share the connections fairly, see
// turns.
type reader struct {
	source  source
	turns   *turns.Turns
	checker *checker
	conns   chan *Conn  // those that are free. Another one is made when there is none, see turns
	moved   atomic.Bool // the file was not in its place a moment ago
	once    sync.Once
	ended   chan struct{} // closed by close

	hosted func(context.Context, func(*Conn) error) error // nil; or what reads, in a test
}

func newReader(s source, n int, k *checker) *reader {
	return &reader{source: s, checker: k, turns: turns.New(n, n-1), conns: make(chan *Conn, n), ended: make(chan struct{})}
}

// close waits for the reads that are under way.
func (r *reader) close() (err error) {
	r.once.Do(func() {
		close(r.ended)
		r.turns.Pause(nil, nil)
		for len(r.conns) > 0 { // nobody has one
			err = errors.Join(err, (<-r.conns).Close())
		}
	})
	return err
}

// Find runs a query of an organization that an index answers at once, and calls each for
// every row. ctx bounds only the waiting before the query.
func (db *File) Find(ctx context.Context, org, text string, args []any, each func(*Row) error) error {
	return db.finder.query(ctx, unbounded, db.busy, org, text, args, each)
}

// List runs a query of an organization that may take long, and calls each for every row.
// ctx ends the query before the first row, and between rows. So a query that takes long
// must find all rows before it returns the first.
func (db *File) List(ctx context.Context, org, text string, args []any, each func(*Row) error) error {
	return db.lister.query(ctx, ctx, db.busy, org, text, args, each)
}

// Read calls do when it is an organization's turn, with a connection for several queries that
// indexes answer at once; again, if the file is locked.
func (db *File) Read(ctx context.Context, org string, do func(*Conn) error) error {
	return db.finder.use(ctx, db.busy, org, do)
}

// ReadLong is Read for queries that may take long.
func (db *File) ReadLong(ctx context.Context, org string, do func(*Conn) error) error {
	return db.lister.use(ctx, db.busy, org, do)
}

// query waits for its turn and for locks until ctx ends, for locks no longer than busy.
// running bounds the query itself.
func (r *reader) query(
	ctx, running context.Context, busy time.Duration, org, text string, args []any, each func(*Row) error,
) error {
	return r.use(ctx, busy, org, func(c *Conn) error { return c.Query(running, text, args, each) })
}

// use calls do with a connection when it is the organization's turn, again while the file
// is locked. It waits as query does. What belongs to no organization gives an empty name.
func (r *reader) use(ctx context.Context, busy time.Duration, org string, do func(*Conn) error) error {
	if h, _ := ctx.Value(hostTxKey{}).(*hostTx); h != nil && (h.db.finder == r || h.db.lister == r) {
		return h.read(ctx, do)
	}
	if r.hosted != nil {
		return r.hosted(ctx, do)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-r.ended:
		return ErrClosed
	default:
	}
	if err := r.checker.err(); err != nil {
		return err
	}
	if err := takePlace(ctx, r.turns, r.ended, org); err != nil {
		return err
	}
	var c *Conn
	select {
	case c = <-r.conns:
	default: // To connect takes longer than most queries: SQLite reads the whole schema.
	}
	var err error
	returned := false
	defer func() {
		// One that found the file broken may not see that it is whole again. After a
		// panic, nobody knows in what state it is.
		r.checker.hear(err)
		if c != nil && (!returned || err != nil && !isBusy(err)) {
			_ = c.Close()
			c = nil
		}
		if c != nil {
			r.conns <- c // as many as there are places
		}
		r.turns.Give(org)
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
	returned = true
	return err
}

// NoOrg stands in place of an organization for maintenance, and for lookups by the digest
// of a secret.
const NoOrg = ""

// takePlace waits for a place. The caller gives it back, unless there is an error.
func takePlace(ctx context.Context, of *turns.Turns, ended <-chan struct{}, org string) error {
	err := of.Take(ctx, ended, org)
	switch {
	case errors.Is(err, turns.ErrEnded):
		return ErrClosed
	case err != nil:
		return ctx.Err()
	}
	return nil
}
