package postgres

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// querier is a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// session is what a call has of a connection, or of the host's transaction. The ctx of its
// methods is the call's.
type session struct {
	ctx context.Context
	db  *DB
	q   querier
}

// sql returns the text of a statement as it is sent: @.table is a table of the schema.
func (db *DB) sql(text string) string {
	if sent, ok := db.texts.Load(text); ok {
		return sent.(string)
	}
	sent := strings.ReplaceAll(text, "@.", pgx.Identifier{db.opts.Schema}.Sanitize()+".")
	db.texts.Store(text, sent)
	return sent
}

// exec runs a statement and returns how many rows it changed.
func (s *session) exec(text string, args ...any) (changed int64, err error) {
	tag, err := s.q.Exec(s.ctx, s.db.sql(text), args...)
	return tag.RowsAffected(), err
}

// row reads one row, or returns pgx.ErrNoRows.
func (s *session) row(text string, args []any, to ...any) error {
	return s.q.QueryRow(s.ctx, s.db.sql(text), args...).Scan(to...)
}

// noOrg stands in place of an organization for maintenance, and for lookups by the digest
// of a secret.
const noOrg = ""

// read calls do with a connection, or within the host's transaction. It calls it again if
// the connection was lost before or while it read: do must begin anew each time.
//
// What do writes is one statement, or one pipeline, that does no harm if it runs twice.
func (db *DB) read(ctx context.Context, org string, do func(*session) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if host := hostTx(ctx); host != nil {
		return db.within(ctx, host, do)
	}
	select {
	case <-db.closed:
		return ErrClosed
	default:
	}
	ctx, cancel := context.WithTimeoutCause(ctx, db.opts.Timeout, errTimeout)
	defer cancel()
	if err := db.places.take(ctx, db.closed, org); err != nil {
		return err
	}
	defer db.places.give(org)
	running, stop := later(ctx)
	defer stop()
	for pause := time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		err := db.once(ctx, running, do)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if !mayRetry(err, false) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}

// leaving is how long a statement goes on whose caller has left. pgx closes the connection
// of a statement that is cut off, and callers who leave all the time would cost a new
// connection each.
const leaving = 250 * time.Millisecond

// later returns a context that ends a while after ctx.
func later(ctx context.Context) (context.Context, context.CancelFunc) {
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var timer atomic.Pointer[time.Timer]
	stop := context.AfterFunc(ctx, func() {
		timer.Store(time.AfterFunc(leaving, func() { cancel(context.Cause(ctx)) }))
	})
	return running, func() {
		stop()
		cancel(context.Canceled)
		if t := timer.Load(); t != nil {
			t.Stop()
		}
	}
}

// once makes one attempt: it waits for a connection until ctx ends, and works until running
// does.
func (db *DB) once(ctx, running context.Context, do func(*session) error) (err error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if isReadOnly(err) { // so that the pool looks for the primary
			_ = conn.Conn().Close(running)
		}
		conn.Release()
	}()
	return do(&session{ctx: running, db: db, q: conn})
}
