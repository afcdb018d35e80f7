package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// reader reads on the pool, each query from a snapshot of its own. What a write acknowledged before is in it.
type reader struct {
	pool  *sql.DB
	stmts sync.Map // of *sql.Stmt, by text
}

// stmt returns a prepared statement. There are few texts: conditions vary, values are bound.
func (r *reader) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if stmt, ok := r.stmts.Load(text); ok {
		return stmt.(*sql.Stmt), nil
	}
	stmt, err := r.pool.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if other, loaded := r.stmts.LoadOrStore(text, stmt); loaded {
		return other.(*sql.Stmt), stmt.Close()
	}
	return stmt, nil
}

// query calls each for every row.
func (db *DB) query(ctx context.Context, text string, args []any, each func(*sql.Rows) error) error {
	var rows *sql.Rows
	err := retryBusy(ctx, db.busy, func() error {
		stmt, err := db.reader.stmt(ctx, text)
		if err != nil {
			return err
		}
		rows, err = stmt.QueryContext(ctx, args...)
		return err
	})
	return scan(rows, err)(each)
}

// close waits for the reads that are under way.
func (r *reader) close() error { return r.pool.Close() }
