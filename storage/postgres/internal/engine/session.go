package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// querier is a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// Session is what a call has of a connection, or of the host's transaction. The ctx of its
// methods is the call's.
type Session struct {
	ctx   context.Context
	db    *DB
	q     querier
	host  bool     // q is the host's transaction
	after []func() // of OnCommit
}

// sql returns the text of a statement as it is sent: @.table is a table of the schema.
func (db *DB) sql(text string) string {
	if sent, ok := db.texts.Load(text); ok {
		return sent.(string)
	}
	sent := strings.ReplaceAll(text, "@.", pgx.Identifier{db.schema}.Sanitize()+".")
	db.texts.Store(text, sent)
	return sent
}

// Exec runs a statement and returns how many rows it changed.
func (s *Session) Exec(text string, args ...any) (changed int64, err error) {
	tag, err := s.q.Exec(s.ctx, s.db.sql(text), args...)
	return tag.RowsAffected(), asName(err)
}

// Row reads one row, or returns pgx.ErrNoRows.
func (s *Session) Row(text string, args []any, to ...any) error {
	return asName(s.q.QueryRow(s.ctx, s.db.sql(text), args...).Scan(to...))
}

// Query calls each for every row. What it scans as bytes stays valid.
func (s *Session) Query(each func(pgx.Rows) error, text string, args ...any) error {
	rows, err := s.q.Query(s.ctx, s.db.sql(text), args...)
	if err != nil {
		return asName(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return asName(rows.Err())
}

// Seek is query for a statement that looks for so many rows that it would take seconds by a
// plan that was made while a table was small: it goes by indexes, and so does what follows
// in a transaction or snapshot of ours. The host's is left as it is.
func (s *Session) Seek(each func(pgx.Rows) error, text string, args ...any) error {
	return s.queryBy(byIndexes, each, text, args)
}

// Keep is seek for a statement that is planned in no less time than it runs: a connection
// plans it once, for any arguments. What PostgreSQL takes them for is true of few, and the
// tables grow, so the statement must leave it one way only: along an index that has the order.
func (s *Session) Keep(each func(pgx.Rows) error, text string, args ...any) error {
	return s.queryBy(byKeptPlans, each, text, args)
}

// byKeptPlans has a connection keep the plan for any arguments, and read nothing that is to be
// sorted. Else PostgreSQL plans each call for its own arguments, if that seems better to it.
const byKeptPlans = byIndexes + ", set_config('enable_bitmapscan', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)"

func (s *Session) queryBy(settings string, each func(pgx.Rows) error, text string, args []any) error {
	if s.host {
		return s.Query(each, text, args...)
	}
	q := s.Queued()
	q.Add(settings)
	q.Query(each, text, args...)
	return q.Send()
}

// Insert runs a statement that inserts one row ON CONFLICT DO NOTHING. It is ErrExists if
// there is such a row.
func (s *Session) Insert(statement string, args ...any) error {
	inserted, err := s.Exec(statement, args...)
	if err == nil && inserted == 0 {
		err = mortise.ErrExists
	}
	return err
}

// Exists reports whether a query finds anything.
func (s *Session) Exists(query string, args ...any) (found bool, err error) {
	err = s.Query(func(pgx.Rows) error {
		found = true
		return nil
	}, query, args...)
	return found, err
}

// Queued are statements that are sent together, and carried out one after the other.
type Queued struct {
	pgx.Batch
	s *Session
}

// Queued returns none, of the session.
func (s *Session) Queued() *Queued { return &Queued{s: s} }

// Hosted reports whether the session is the host's transaction.
func (s *Session) Hosted() bool { return s.host }

// CopyFrom adds rows to a table of the schema.
func (s *Session) CopyFrom(table string, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return s.q.CopyFrom(s.ctx, pgx.Identifier{s.db.schema, table}, columns, rows)
}

// Enqueue adds a job to the host's queue, in the transaction of Transact, if the host has one.
func (s *Session) Enqueue(j *mortise.Job) (elsewhere bool, err error) {
	if s.db.queue == nil {
		return false, nil
	}
	return true, s.db.queue.EnqueueTx(s.ctx, s.q.(pgx.Tx), *j)
}

func (q *Queued) Add(text string, args ...any) *pgx.QueuedQuery {
	return q.Queue(q.s.db.sql(text), args...)
}

// Query adds a statement, and calls each for every row. What it scans as bytes stays valid.
func (q *Queued) Query(each func(pgx.Rows) error, text string, args ...any) {
	q.Add(text, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := each(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// Send returns the first error of the statements, or of what reads their rows.
func (q *Queued) Send() error { return asName(q.s.q.SendBatch(q.s.ctx, &q.Batch).Close()) }

// OnCommit has f called when Transact has committed, and not at all if it has not. In a
// transaction of the host's it is not called either.
func (s *Session) OnCommit(f func()) { s.after = append(s.after, f) }

// NoOrg stands in place of an organization for maintenance, and for lookups by the digest
// of a secret.
const NoOrg = ""

// Read calls do with a connection, or within the host's transaction. It calls it again if
// the connection was lost before or while it read: do must begin anew each time.
//
// What do writes is one statement, or one pipeline, that does no harm if it runs twice.
func (db *DB) Read(ctx context.Context, org string, do func(*Session) error) error {
	return db.call(ctx, org, do, func(s *Session) (committing bool, err error) { return false, do(s) })
}

// Transact calls do in a transaction at READ COMMITTED, or in a savepoint of the host's
// transaction. If do returns an error, or panics, nothing is stored. do runs on the caller's
// goroutine. It is called again if the transaction was rolled back for a reason that passes:
// it must begin anew each time. It must not use the DB but by its session.
func (db *DB) Transact(ctx context.Context, org string, do func(*Session) error) error {
	return db.call(ctx, org, do, func(s *Session) (committing bool, err error) {
		tx, err := s.q.(*pgxpool.Conn).BeginTx(s.ctx, pgx.TxOptions{BeginQuery: beginByIndexes})
		if err != nil {
			return false, err
		}
		defer func() { _ = tx.Rollback(s.ctx) }() // of what is not committed, a panic's too
		s.q = tx
		if err := do(s); err != nil {
			return false, err
		}
		if err := tx.Commit(s.ctx); err != nil {
			return true, err
		}
		for _, f := range s.after {
			f()
		}
		return false, nil
	})
}

// beginByIndexes has the statements of a transaction go by indexes, as those of a group do: it
// costs nothing there. Those of a snapshot may be best off with all of a table.
const beginByIndexes = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL enable_seqscan = off"

// Snapshot is read for several statements that must all see the same. In a host's
// transaction they see what its isolation level lets them see.
func (db *DB) Snapshot(ctx context.Context, org string, do func(*Session) error) error {
	return db.call(ctx, org, do, func(s *Session) (committing bool, err error) {
		tx, err := s.q.(*pgxpool.Conn).BeginTx(s.ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return false, err
		}
		defer func() { _ = tx.Rollback(s.ctx) }()
		s.q = tx
		return false, do(s)
	})
}

// call makes attempts on a connection, or calls do within the host's transaction.
func (db *DB) call(ctx context.Context, org string, do func(*Session) error, attempt func(*Session) (committing bool, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if host := HostTx(ctx); host != nil {
		return db.within(ctx, host, do)
	}
	if db.hosted != nil {
		return db.hosted(ctx, func(ctx context.Context) error { return db.within(ctx, HostTx(ctx), do) })
	}
	select {
	case <-db.closed:
		return ErrClosed
	default:
	}
	ctx, cancel := context.WithTimeoutCause(ctx, db.timeout, errTimeout)
	defer cancel()
	if err := db.places.Take(ctx, db.closed, org); err != nil {
		if errors.Is(err, turns.ErrEnded) {
			return ErrClosed
		}
		return err
	}
	defer db.places.Give(org)
	return db.try(ctx, attempt)
}

// try makes attempts until one succeeds, or fails for good, or ctx ends.
func (db *DB) try(ctx context.Context, attempt func(*Session) (committing bool, err error)) error {
	running, stop := later(ctx)
	defer stop()
	for pause := time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		committing, err := db.once(ctx, running, attempt)
		if err == nil {
			return unsure(running)
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if !mayRetry(err, committing) {
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

// unsure returns the reason if a statement that has succeeded was to be cancelled meanwhile. A
// COMMIT that waits for a standby succeeds then, on this server alone.
func unsure(running context.Context) error { return context.Cause(running) }

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
func (db *DB) once(ctx, running context.Context, attempt func(*Session) (committing bool, err error)) (committing bool, err error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		if isReadOnly(err) { // so that the pool looks for the primary
			_ = conn.Conn().Close(running)
		}
		conn.Release()
	}()
	return attempt(&Session{ctx: running, db: db, q: conn})
}
