package sqlite

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// AuthMgmt implements [authmgmt.Store], [authmgmt.Pruner], [authmgmt.KeyChecker],
// [authmgmt.Organizations] and [mortise.HostTx].
type AuthMgmt struct{ db *DB }

var (
	_ authmgmt.Store         = (*AuthMgmt)(nil)
	_ authmgmt.Pruner        = (*AuthMgmt)(nil)
	_ authmgmt.KeyChecker    = (*AuthMgmt)(nil)
	_ authmgmt.Organizations = (*AuthMgmt)(nil)
	_ mortise.HostTx         = (*AuthMgmt)(nil)
)

// AfterCommit implements [mortise.HostTx].
func (a *AuthMgmt) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return a.db.afterCommit(ctx, f)
}

// change is a statement with its values, to be run later: they hold nothing that the
// caller could change meanwhile.
type change struct {
	statement string
	args      []any
}

// apply makes changes in their order.
func (t *tx) apply(changes []change) error {
	for _, c := range changes {
		if _, err := t.exec(c.statement, c.args...); err != nil {
			return err
		}
	}
	return nil
}

// insert runs a statement that inserts one row ON CONFLICT DO NOTHING. It is ErrExists if
// there is such a row.
func (t *tx) insert(statement string, args ...any) error {
	inserted, err := t.exec(statement, args...)
	if err == nil && inserted == 0 {
		err = mortise.ErrExists
	}
	return err
}

// exists reports whether a query finds anything.
func (t *tx) exists(query string, args ...any) (found bool, err error) {
	err = t.query(query, args, func(*row) error {
		found = true
		return nil
	})
	return found, err
}

// one returns the only thing that was looked for, or ErrNotFound.
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
