package engine

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// lateTx is a transaction whose first statements, BEGIN among them, are sent together with
// the query that comes next: all are one round trip.
type lateTx struct {
	pgx.Tx // a closed one until first is sent
	ctx    context.Context
	conn   *pgxpool.Conn
	first  *pgx.Batch   // nil: it is sent
	begun  bool         // the server has answered BEGIN
	look   func() error // at what first has done
	err    error        // of first, or of look: then nothing comes behind
	ready  func()       // of WhenReady; or nil
}

// beginLate makes a transaction of a batch that begins with Batch.BeginTx.
func beginLate(ctx context.Context, conn *pgxpool.Conn, first *pgx.Batch, look func() error) *lateTx {
	return &lateTx{Tx: pgx.FailedBatchResults(first, pgx.ErrTxClosed).Tx(), ctx: ctx, conn: conn, first: first, look: look}
}

// send sends first, and more, and reads the answers of first.
func (t *lateTx) send(ctx context.Context, more ...*pgx.QueuedQuery) pgx.BatchResults {
	b, n := t.first, len(t.first.QueuedQueries)
	t.first = nil
	b.QueuedQueries = append(b.QueuedQueries, more...)
	sent := t.conn.SendBatch(ctx, b)
	t.Tx = sent.Tx()
	for _, q := range b.QueuedQueries[:n] {
		if q.Fn != nil {
			t.err = q.Fn(sent)
		} else {
			_, t.err = sent.Exec()
		}
		if t.err != nil {
			return sent
		}
		t.begun = true
	}
	if t.err = t.look(); t.err == nil && t.ready != nil {
		t.ready()
	}
	return sent
}

// WhenReady has f called once first is done, which may wait for other transactions. The
// call that sends first calls it. If first is sent already, it is called at once.
func (t *lateTx) WhenReady(f func()) {
	if t.first == nil {
		f()
		return
	}
	t.ready = f
}

// flush sends first, if that is not done.
func (t *lateTx) flush(ctx context.Context) error {
	if t.first != nil {
		sent := t.send(ctx)
		t.err = cmp.Or(t.err, sent.Close())
	}
	return t.err
}

// Query implements [pgx.Tx].
func (t *lateTx) Query(ctx context.Context, text string, args ...any) (pgx.Rows, error) {
	if t.first == nil || hasOption(args) {
		if t.flush(ctx) != nil {
			return failedRows(t.err)
		}
		return t.Tx.Query(ctx, text, args...)
	}
	sent := t.send(ctx, &pgx.QueuedQuery{SQL: text, Arguments: args})
	if t.err != nil {
		_ = sent.Close()
		return failedRows(t.err)
	}
	rows, err := sent.Query()
	if err != nil {
		_ = sent.Close()
		return rows, err
	}
	return &lastRows{Rows: rows, sent: sent}, nil
}

// hasOption reports whether a query has an option of pgx's, which no query of a batch has.
func hasOption(args []any) bool {
	if len(args) == 0 {
		return false
	}
	switch args[0].(type) {
	case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
		return true
	}
	return false
}

func failedRows(err error) (pgx.Rows, error) {
	return pgx.FailedBatchResults(new(pgx.Batch), err).Query()
}

// lastRows are those of the last query of a batch, which ends with them.
type lastRows struct {
	pgx.Rows
	sent pgx.BatchResults
	err  error // of the batch
}

func (r *lastRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *lastRows) Close() {
	r.Rows.Close()
	r.err = r.sent.Close()
}

// Scan closes the rows if it fails.
func (r *lastRows) Scan(to ...any) error {
	err := r.Rows.Scan(to...)
	if err != nil {
		r.Close()
	}
	return err
}

func (r *lastRows) Err() error { return cmp.Or(r.Rows.Err(), r.err) }

// QueryRow implements [pgx.Tx].
func (t *lateTx) QueryRow(ctx context.Context, text string, args ...any) pgx.Row {
	if t.flush(ctx) != nil {
		return pgx.FailedBatchResults(new(pgx.Batch), t.err).QueryRow()
	}
	return t.Tx.QueryRow(ctx, text, args...)
}

// Exec implements [pgx.Tx].
func (t *lateTx) Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error) {
	if t.flush(ctx) != nil {
		return pgconn.CommandTag{}, t.err
	}
	return t.Tx.Exec(ctx, text, args...)
}

// SendBatch implements [pgx.Tx].
func (t *lateTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if t.flush(ctx) != nil {
		return pgx.FailedBatchResults(b, t.err)
	}
	return t.Tx.SendBatch(ctx, b)
}

// CopyFrom implements [pgx.Tx].
func (t *lateTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if t.flush(ctx) != nil {
		return 0, t.err
	}
	return t.Tx.CopyFrom(ctx, table, columns, rows)
}

// Prepare implements [pgx.Tx].
func (t *lateTx) Prepare(ctx context.Context, name, text string) (*pgconn.StatementDescription, error) {
	if t.flush(ctx) != nil {
		return nil, t.err
	}
	return t.Tx.Prepare(ctx, name, text)
}

// Begin implements [pgx.Tx].
func (t *lateTx) Begin(ctx context.Context) (pgx.Tx, error) {
	if t.flush(ctx) != nil {
		return nil, t.err
	}
	return t.Tx.Begin(ctx)
}

// LargeObjects implements [pgx.Tx].
func (t *lateTx) LargeObjects() pgx.LargeObjects {
	_ = t.flush(t.ctx) // if it fails, so does what is done with them
	return t.Tx.LargeObjects()
}

// Commit implements [pgx.Tx].
func (t *lateTx) Commit(ctx context.Context) error {
	if t.flush(ctx) != nil {
		return t.err
	}
	return t.Tx.Commit(ctx)
}

// Rollback implements [pgx.Tx]. What was not sent never is.
func (t *lateTx) Rollback(ctx context.Context) error {
	if t.first != nil {
		t.first, t.err = nil, pgx.ErrTxClosed
		return nil
	}
	return t.Tx.Rollback(ctx)
}

// Conn implements [pgx.Tx]. It sends nothing: a queue asks for it also from another goroutine,
// to have a statement cancelled.
func (t *lateTx) Conn() *pgx.Conn { return t.conn.Conn() }
