package engine

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// ReadOf is Read for a result. With an error it is the zero value.
func ReadOf[T any](ctx context.Context, db *DB, org string, do func(*Session) (T, error)) (T, error) {
	var result, none T
	err := db.Read(ctx, org, func(s *Session) (err error) {
		result, err = do(s)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// ListOf is ReadOf for the rows of a statement.
func ListOf[T any](ctx context.Context, db *DB, org string, scan func(pgx.Rows) (T, error), text string, args ...any) ([]T, error) {
	return ReadOf(ctx, db, org, func(s *Session) ([]T, error) { return Collect(s, scan, text, args...) })
}

// Collect returns the rows of a statement.
func Collect[T any](s *Session, scan func(pgx.Rows) (T, error), text string, args ...any) (all []T, err error) {
	err = s.Query(func(rows pgx.Rows) error {
		v, err := scan(rows)
		all = append(all, v)
		return err
	}, text, args...)
	return all, err
}

// FirstOf is ReadOf for the first row of a statement, or ErrNotFound.
func FirstOf[T any](ctx context.Context, db *DB, org string, scan func(pgx.Rows) (T, error), text string, args ...any) (T, error) {
	return ReadOf(ctx, db, org, func(s *Session) (T, error) { return One(Collect(s, scan, text, args...)) })
}

// One returns the first of the rows, or ErrNotFound.
func One[T any](found []T, err error) (T, error) {
	var none T
	switch {
	case err != nil:
		return none, err
	case len(found) == 0:
		return none, mortise.ErrNotFound
	}
	return found[0], nil
}

// RemoveSome is Transact for the removal of rows, at most limit of them. more: there may be
// further ones.
func (db *DB) RemoveSome(ctx context.Context, org string, limit int, remove func(*Session) (int, error)) (n int, more bool, err error) {
	err = db.Transact(ctx, org, func(s *Session) (err error) {
		n, err = remove(s)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return n, n >= limit, nil
}

// PruneStep is how many rows a transaction removes: each can have megabytes.
const PruneStep = 100

// Prune removes some rows that ended before a time.
func (db *DB) Prune(ctx context.Context, statement string, before time.Time, limit int) (n int, more bool, err error) {
	limit = min(limit, PruneStep)
	return db.RemoveSome(ctx, NoOrg, limit, func(s *Session) (int, error) {
		removed, err := s.Exec(statement, sqltext.Upper(before), limit)
		return int(removed), err
	})
}
