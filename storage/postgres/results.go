package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
)

// readOf is read for a result. With an error it is the zero value.
func readOf[T any](ctx context.Context, db *engine, org string, do func(*session) (T, error)) (T, error) {
	var result, none T
	err := db.read(ctx, org, func(s *session) (err error) {
		result, err = do(s)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// listOf is readOf for the rows of a statement.
func listOf[T any](ctx context.Context, db *engine, org string, scan func(pgx.Rows) (T, error), text string, args ...any) ([]T, error) {
	return readOf(ctx, db, org, func(s *session) ([]T, error) { return collect(s, scan, text, args...) })
}

// collect returns the rows of a statement.
func collect[T any](s *session, scan func(pgx.Rows) (T, error), text string, args ...any) (all []T, err error) {
	err = s.query(func(rows pgx.Rows) error {
		v, err := scan(rows)
		all = append(all, v)
		return err
	}, text, args...)
	return all, err
}

// one returns the first of the rows, or ErrNotFound.
func one[T any](found []T, err error) (T, error) {
	var none T
	switch {
	case err != nil:
		return none, err
	case len(found) == 0:
		return none, mortise.ErrNotFound
	}
	return found[0], nil
}

// removeSome is transact for the removal of rows, at most limit of them. more: there may be
// further ones.
func (db *engine) removeSome(ctx context.Context, org string, limit int, remove func(*session) (int, error)) (n int, more bool, err error) {
	err = db.transact(ctx, org, func(s *session) (err error) {
		n, err = remove(s)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return n, n >= limit, nil
}

// pruneStep is how many rows a transaction removes: each can have megabytes.
const pruneStep = 100

// prune removes some rows that ended before a time.
func (db *engine) prune(ctx context.Context, statement string, before time.Time, limit int) (n int, more bool, err error) {
	limit = min(limit, pruneStep)
	return db.removeSome(ctx, noOrg, limit, func(s *session) (int, error) {
		removed, err := s.exec(statement, upper(before), limit)
		return int(removed), err
	})
}
