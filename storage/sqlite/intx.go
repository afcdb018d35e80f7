package sqlite

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

// InTx calls do with a transaction of its own, which it commits if do returns nil, and rolls
// back if do returns an error or panics. do can read and write the host's own tables by tx.
// The calls of this DB's stores and queues under the ctx that do is given are part of the
// transaction: they see its rows, and what they write is committed or rolled back with it.
// Each call is a savepoint, so that its error leaves the host's work alive.
//
// do runs once, on the caller's goroutine, one call at a time. A function that a store calls,
// such as the update function of trigger.Store.UpdateEvent, must not use tx. Calls under
// another ctx are not part of the transaction. They read what was committed before, and
// writes among them wait for the transaction's end. So do must not wait for such a write: it
// would wait until the transaction has been rolled back (TxTime), and be carried out then.
//
// All other writes to the file wait meanwhile, those of other processes too. So do should
// take milliseconds, and wait for nothing from outside: tokenize values and hash secrets
// before. After Options.TxTime the transaction is rolled back, and the rest of it fails with
// [ErrTxTime]. It shares no sync of the disk with other writes, as the calls of many callers
// do without it.
//
// Consumers hear of a job that was added once it is committed, and not at all after a
// rollback. So do Observers of what was changed. Foreign keys are enforced (PRAGMA
// foreign_keys), also in the host's tables.
func (db *file) InTx(ctx context.Context, do func(ctx context.Context, tx *Tx) error) (err error) {
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
	if err := do(context.WithValue(ctx, hostTxKey{}, h), &Tx{h}); err != nil {
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
	case w.tasks <- func(*conn) { <-released }:
		return sync.OnceFunc(func() { close(released) }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.ctx.Done():
		return nil, ErrClosed
	}
}

type hostTxKey struct{}

// hostTxOf returns the transaction of the host's on this database, or nil.
func hostTxOf(ctx context.Context, db *file) *hostTx {
	if h, _ := ctx.Value(hostTxKey{}).(*hostTx); h != nil && h.db == db {
		return h
	}
	return nil
}

// hostTx is a transaction of InTx. The writer stands aside for as long as it is open, so
// there is one at a time.
type hostTx struct {
	db      *file
	conn    *hostConn
	release func()   // the writer
	kept    memories // of the transaction

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
	conn       *conn
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
		return nil, errors.Join(fmt.Errorf("sqlite: the driver's connection is a %T", c.conn), c.close())
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
		return nil, errors.Join(err, h.pool.Close(), c.close())
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
		w.fault(err)
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

// afterCommit implements [mortise.HostTx].
func (db *file) afterCommit(ctx context.Context, f func(ctx context.Context)) bool {
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
func (h *hostTx) call(ctx context.Context, do func(*conn) error) error {
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
func (h *hostTx) write(ctx context.Context, do func(*tx) error) error {
	o := &op{ctx: ctx, do: do}
	err := h.call(ctx, func(c *conn) error {
		if _, err := c.exec(unbounded, "SAVEPOINT mortise"); err != nil {
			return err
		}
		// What a connection and the writer remember is of what was committed.
		c.memories.clear()
		t := &tx{conn: c, op: o, shared: new(memories), lasting: new(memories), writer: h.db.writer, own: true}
		err := o.run(t)
		if err == nil {
			err = t.shared.settle(c)
		}
		if err != nil {
			_, undo := c.exec(unbounded, "ROLLBACK TO mortise")
			err = errors.Join(err, undo)
		} else {
			h.committed = append(h.committed, o.committed...)
		}
		_, left := c.exec(unbounded, "RELEASE mortise")
		return errors.Join(err, left)
	})
	return o.outcome(err)
}

// read reads what the transaction sees.
func (h *hostTx) read(ctx context.Context, do func(*conn) error) error {
	return h.call(ctx, func(c *conn) error {
		c.memories.clear()
		return do(c)
	})
}

// Tx is the transaction of InTx, for the host's own tables. Its methods are those of
// [database/sql.Tx], so it is what sqlc and its like call a DBTX (for sqlc's New, as its WithTx
// takes a *sql.Tx). COMMIT and what else ends
// or begins a transaction, ATTACH, and PRAGMA are refused. It is of no use after InTx.
type Tx struct{ h *hostTx }

var _ interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
} = (*Tx)(nil)

// ExecContext works as that of [database/sql.Tx].
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	conn, ctx, err := t.use(ctx, query)
	if err != nil {
		return nil, err
	}
	return conn.ExecContext(ctx, query, args...)
}

// PrepareContext works as that of [database/sql.Tx].
func (t *Tx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	conn, ctx, err := t.use(ctx, query)
	if err != nil {
		return nil, err
	}
	t.h.prepared.Store(true)
	return conn.PrepareContext(ctx, query)
}

// QueryContext works as that of [database/sql.Tx].
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	conn, ctx, err := t.use(ctx, query)
	if err != nil {
		return nil, err
	}
	return conn.QueryContext(ctx, query, args...)
}

// QueryRowContext works as that of [database/sql.Tx].
func (t *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
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
func (t *Tx) use(ctx context.Context, query string) (*sql.Conn, context.Context, error) {
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
