package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// AuthMgmt returns a Backend for package authmgmt: an [AuthMgmt] as Store and Directory.
func (db *DB) AuthMgmt() authmgmt.Backend {
	a := &AuthMgmt{db: db}
	return authmgmt.Backend{Store: a, Directory: a}
}

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

// insert runs a statement that inserts one row ON CONFLICT DO NOTHING. It is ErrExists if
// there is such a row.
func (s *session) insert(statement string, args ...any) error {
	inserted, err := s.exec(statement, args...)
	if err == nil && inserted == 0 {
		err = mortise.ErrExists
	}
	return err
}

// exists reports whether a query finds anything.
func (s *session) exists(query string, args ...any) (found bool, err error) {
	err = s.query(func(pgx.Rows) error {
		found = true
		return nil
	}, query, args...)
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
