package sqlite

import (
	"context"
	"database/sql"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

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
// before. After Options.TxTime the transaction is rolled back, ctx ends, and the rest of it fails
// with [ErrTxTime]. It shares no sync of the disk with other writes, as the calls of many callers
// do without it.
//
// Consumers hear of a job that was added once it is committed, and not at all after a
// rollback. So do Observers of what was changed. Foreign keys are enforced (PRAGMA
// foreign_keys), also in the host's tables.
func (db *DB) InTx(ctx context.Context, do func(ctx context.Context, tx *Tx) error) error {
	return db.file.InTx(ctx, func(ctx context.Context, h *file.HostTx) error { return do(ctx, &Tx{h}) })
}

// HostTx returns the transaction of the host's that ctx is part of: in a function that
// trigger.Outcome.Apply names, the transaction that ends the event.
func HostTx(ctx context.Context) (tx *Tx, ok bool) {
	host, ok := file.HostTxOf(ctx)
	if !ok {
		return nil, false
	}
	return &Tx{host}, true
}

// Tx is the transaction of InTx, for the host's own tables. Its methods are those of
// [database/sql.Tx], so it is what sqlc and its like call a DBTX (for sqlc's New, as its WithTx
// takes a *sql.Tx). COMMIT and what else ends
// or begins a transaction, ATTACH, and PRAGMA are refused. It is of no use after InTx.
type Tx struct{ host *file.HostTx }

var _ interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
} = (*Tx)(nil)

// ExecContext works as that of [database/sql.Tx].
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.host.ExecContext(ctx, query, args...)
}

// PrepareContext works as that of [database/sql.Tx].
func (t *Tx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return t.host.PrepareContext(ctx, query)
}

// QueryContext works as that of [database/sql.Tx].
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.host.QueryContext(ctx, query, args...)
}

// QueryRowContext works as that of [database/sql.Tx].
func (t *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return t.host.QueryRowContext(ctx, query, args...)
}
