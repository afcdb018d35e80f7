package file

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	modernc "modernc.org/sqlite"
)

// ErrTxTime is the error of InTx, and of every call in it, once the transaction has been
// open for longer than Options.TxTime. It has been rolled back.
var ErrTxTime = errors.New("sqlite: a transaction of InTx was open for too long, and has been rolled back: " +
	"do less in it, give its context to all calls in it, or set Options.TxTime")

// InTx is sqlite.DB.InTx.
func (db *File) InTx(ctx context.Context, do func(ctx context.Context, tx *HostTx) error) (err error) {
	if hostTxOf(ctx, db) != nil {
		return errors.New("sqlite: InTx within InTx: use the transaction that is there")
	}
	called := time.Now()
	release, err := db.writer.standAside(ctx)
	if err != nil {
		return err
	}
	h := &hostTx{db: db, release: release}
	defer func() { h.end() }() // a panic's, too
	if err := h.begin(ctx, called); err != nil {
		return err
	}
	if err := do(context.WithValue(h.running, hostTxKey{}, h), &HostTx{h}); err != nil {
		return err
	}
	if err := h.commit(ctx); err != nil {
		return err
	}
	for _, f := range h.toCall() {
		f()
	}
	return nil
}

// standAside has the writer do nothing until release is called, which it may be more than
// once.
func (w *writer) standAside(ctx context.Context) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	released := make(chan struct{})
	select {
	case w.tasks <- func(*Conn) { <-released }:
		return sync.OnceFunc(func() { close(released) }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.ctx.Done():
		return nil, ErrClosed
	}
}

type hostTxKey struct{}

// HostTxOf is sqlite.HostTx.
func HostTxOf(ctx context.Context) (tx *HostTx, ok bool) {
	h, _ := ctx.Value(hostTxKey{}).(*hostTx)
	if h == nil {
		return nil, false
	}
	return &HostTx{h}, true
}

// hostTxOf returns the transaction of the host's on this database, or nil.
func hostTxOf(ctx context.Context, db *File) *hostTx {
	if h, _ := ctx.Value(hostTxKey{}).(*hostTx); h != nil && h.db == db {
		return h
	}
	return nil
}

// hostTx is a transaction of InTx. The writer stands aside for as long as it is open, so
// there is one at a time.
type hostTx struct {
	db      *File
	conn    *hostConn
	release func()   // the writer
	kept    Memories // of the transaction

	running   context.Context // of its statements
	cancel    context.CancelCauseFunc
	timer     *time.Timer
	inside    atomic.Bool // a call of a store is under way
	committed []func()    // what its calls have left for the commit

	afterMu sync.Mutex
	after   []func() // to be called when it is committed

	prepared atomic.Bool // the host has made a statement, which may outlive the transaction

	mu    sync.Mutex // ends it once
	ended bool
}

// hostConn is the connection of these transactions: the host has it by database/sql, and
// the stores have the same by the driver. It is kept for the next one.
//
// SQLite itself ends a transaction when a disk is full, say, or a statement says INSERT OR
// ROLLBACK. What the host does after that would be committed statement by statement. So
// nothing is committed but by commit: a hook makes everything else roll back.
type hostConn struct {
	pool       *sql.DB
	sql        *sql.Conn
	conn       *Conn
	committing atomic.Bool
}

// committer is what the driver's connections can do.
type committer interface{ RegisterCommitHook(modernc.CommitHookFn) }

// oneConn is a connector that gives away one connection.
type oneConn struct {
	driver.Connector
	conn driver.Conn
}

func (o *oneConn) Connect(context.Context) (driver.Conn, error) {
	c := o.conn
	if o.conn = nil; c == nil {
		return nil, driver.ErrBadConn
	}
	return c, nil
}

func (s source) connectHost() (*hostConn, error) {
	c, err := s.connect()
	if err != nil {
		return nil, err
	}
	hooks, ok := c.conn.(committer)
	if !ok {
		return nil, errors.Join(fmt.Errorf("sqlite: the driver's connection is a %T", c.conn), c.Close())
	}
	h := &hostConn{conn: c, pool: sql.OpenDB(&oneConn{s.connector, c.conn})}
	hooks.RegisterCommitHook(func() int32 {
		if h.committing.Load() {
			return 0
		}
		return 1
	})
	if h.sql, err = h.pool.Conn(unbounded); err != nil {
		hooks.RegisterCommitHook(nil)
		return nil, errors.Join(err, h.pool.Close(), c.Close())
	}
	return h, nil
}

// finalize ends the statements of the stores, and the hook, before the connection is closed.
func (h *hostConn) finalize() {
	for _, s := range h.conn.stmts {
		_ = s.Close()
	}
	clear(h.conn.stmts)
	if hooks, ok := h.conn.conn.(committer); ok {
		hooks.RegisterCommitHook(nil)
	}
}

// close waits for a statement of the host's that is under way, whose context has ended.
func (h *hostConn) close() {
	_ = h.sql.Raw(func(any) error { h.finalize(); return nil }) // or it was done when the connection was given up
	_ = h.sql.Close()
	_ = h.pool.Close() // and the connection with it: a transaction that is open is rolled back
}

// begin begins the transaction. The writer stands aside, so what it knows of another
// process is read and noted here: operations wait behind this.
func (h *hostTx) begin(ctx context.Context, called time.Time) (err error) {
	w := h.db.writer
	if err := w.check.err(); err != nil {
		return err
	}
	h.conn, h.db.hostConn = h.db.hostConn, nil
	if w.held.IsZero() {
		w.held = time.Now()
	}
	err = retryBusy(ctx, w.ctx.Done(), w.due(called), func() (err error) {
		if err = w.source.inPlace(); err != nil {
			return err
		}
		if w.logGone.Load() {
			return errLogGone
		}
		if h.conn == nil {
			if h.conn, err = w.source.connectHost(); err != nil {
				return err
			}
		}
		_, err = h.conn.sql.ExecContext(unbounded, "BEGIN IMMEDIATE")
		return err
	})
	if !isBusy(err) && ctx.Err() == nil { // who leaves while they wait has not had the file
		w.held = time.Time{}
	}
	if err != nil {
		return err
	}
	h.running, h.cancel = context.WithCancelCause(ctx)
	h.timer = time.AfterFunc(h.db.txTime, func() {
		h.cancel(ErrTxTime)
		h.stop()
	})
	return nil
}

// stop rolls back, unless it has ended. It waits for the call that is under way.
func (h *hostTx) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.ended = true
	if h.conn != nil {
		// What was begun by the caller's code may still be open. Closing ends it all.
		h.conn.close()
	}
	h.release()
}

// end ends what has begun.
func (h *hostTx) end() {
	if h.timer != nil {
		h.timer.Stop()
		h.cancel(errTxEnded)
	}
	h.stop()
}

// commit commits, and tells of the jobs that were added.
func (h *hostTx) commit(ctx context.Context) error {
	w := h.db.writer
	h.mu.Lock()
	defer h.mu.Unlock()
	// Its time may be over, and who rolls it back still be waiting for the mutex.
	if err := context.Cause(h.running); h.ended || errors.Is(err, ErrTxTime) {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	h.timer.Stop()
	h.cancel(errTxEnded) // rows that the host has left open
	// A statement that writes, and whose rows are just being closed, is in the way.
	h.conn.committing.Store(true)
	err := retryBusy(unbounded, nil, time.Now().Add(h.db.busy), func() error {
		_, err := h.conn.sql.ExecContext(unbounded, "COMMIT")
		return err
	})
	h.conn.committing.Store(false) // before the next transaction has the connection
	if err != nil {
		if isFault(err) { // and no constraint of the host's that is deferred
			w.fault(err)
		}
		return fmt.Errorf("sqlite: commit: %w", err)
	}
	h.ended = true
	if h.prepared.Load() {
		h.conn.close()
	} else {
		h.db.hostConn = h.conn
	}
	for _, f := range h.committed {
		f()
	}
	h.committed = nil
	h.release()
	return nil
}

// AfterCommit implements [mortise.HostTx].
func (db *File) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	h := hostTxOf(ctx, db)
	if h != nil && f != nil {
		h.afterMu.Lock()
		defer h.afterMu.Unlock()
		h.after = append(h.after, func() { f(context.WithValue(context.WithoutCancel(ctx), hostTxKey{}, nil)) })
	}
	return h != nil
}

// toCall returns the functions to call after the commit.
func (h *hostTx) toCall() []func() {
	h.afterMu.Lock()
	defer h.afterMu.Unlock()
	return h.after
}

// errTxEnded is the error of a call in a transaction that has ended.
var errTxEnded = errors.New("sqlite: the transaction of InTx has ended")

// errInside is the error of a call from within another one.
var errInside = errors.New("sqlite: a call within another call of the same transaction: an update function must not use the store or the transaction")

// call has the connection for a call of a store.
func (h *hostTx) call(ctx context.Context, do func(*Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if h.inside.Swap(true) {
		return errInside
	}
	defer h.inside.Store(false)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return context.Cause(h.running)
	}
	// By way of database/sql, so that rows which the host reads do not come in between.
	return h.conn.sql.Raw(func(any) error {
		returned := false
		defer func() {
			if !returned { // the caller's code has panicked, and database/sql is about to close the connection
				h.conn.finalize()
			}
		}()
		err := do(h.conn.conn)
		returned = true
		return err
	})
}

// write makes an operation of the writer's in a savepoint.
func (h *hostTx) write(ctx context.Context, do func(*Tx) error) error {
	o := &op{ctx: ctx, do: do}
	err := h.call(ctx, func(c *Conn) error {
		if _, err := c.Exec(unbounded, "SAVEPOINT mortise"); err != nil {
			return err
		}
		// What a connection and the writer remember is of what was committed.
		c.memories.clear()
		t := &Tx{conn: c, op: o, shared: new(Memories), lasting: new(Memories), writer: h.db.writer, own: true}
		err := o.run(t)
		if err == nil {
			err = t.shared.settle(c)
		}
		if err != nil {
			_, undo := c.Exec(unbounded, "ROLLBACK TO mortise")
			err = errors.Join(err, undo)
		} else {
			h.committed = append(h.committed, o.committed...)
		}
		_, left := c.Exec(unbounded, "RELEASE mortise")
		return errors.Join(err, left)
	})
	return o.outcome(err)
}

// read reads what the transaction sees.
func (h *hostTx) read(ctx context.Context, do func(*Conn) error) error {
	return h.call(ctx, func(c *Conn) error {
		c.memories.clear()
		return do(c)
	})
}

// HostTx is the transaction of InTx, for the host's own tables.
type HostTx struct{ h *hostTx }

// ExecContext is that of sqlite.Tx.
func (t *HostTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	conn, ctx, err := t.use(ctx, query)
	if err != nil {
		return nil, err
	}
	return conn.ExecContext(ctx, query, args...)
}

// PrepareContext is that of sqlite.Tx.
func (t *HostTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	conn, ctx, err := t.use(ctx, query)
	if err != nil {
		return nil, err
	}
	t.h.prepared.Store(true)
	return conn.PrepareContext(ctx, query)
}

// QueryContext is that of sqlite.Tx.
func (t *HostTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	conn, ctx, err := t.use(ctx, query)
	if err != nil {
		return nil, err
	}
	return conn.QueryContext(ctx, query, args...)
}

// QueryRowContext is that of sqlite.Tx.
func (t *HostTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	conn, ctx, err := t.use(ctx, query)
	if err != nil {
		return failedRow(err)
	}
	return conn.QueryRowContext(ctx, query, args...)
}

// failedRow returns a row that has an error: nobody but database/sql can make one.
func failedRow(err error) *sql.Row {
	nowhere := sql.OpenDB(noConn{err})
	defer func() { _ = nowhere.Close() }()
	return nowhere.QueryRowContext(unbounded, "")
}

// noConn is a connector that fails.
type noConn struct{ err error }

func (n noConn) Connect(context.Context) (driver.Conn, error) { return nil, n.err }
func (n noConn) Driver() driver.Driver                        { return nil }

// use checks a statement, and returns the connection, and a context that ends with the
// transaction as well.
func (t *HostTx) use(ctx context.Context, query string) (*sql.Conn, context.Context, error) {
	if err := refuse(query); err != nil {
		return nil, ctx, err
	}
	if t.h.inside.Load() {
		return nil, ctx, errInside
	}
	if err := t.h.running.Err(); err != nil {
		return nil, ctx, context.Cause(t.h.running)
	}
	both, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(t.h.running, func() { cancel(context.Cause(t.h.running)) })
	return t.h.conn.sql, both, nil
}

// OfHost are the memories of the host's transaction that a call is part of; nil: of none.
func (db *File) OfHost(ctx context.Context) *Memories {
	if h := hostTxOf(ctx, db); h != nil {
		return &h.kept
	}
	return nil
}
