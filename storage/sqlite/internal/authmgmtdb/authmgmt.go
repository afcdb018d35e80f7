// Package authmgmtdb keeps package authmgmt in a file of SQLite's.
package authmgmtdb

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// Store implements [authmgmt.Store], [authmgmt.Pruner], [authmgmt.KeyChecker],
// [authmgmt.Organizations] and [mortise.HostTx].
type Store struct {
	db *file.File
	file.Revoked
}

var (
	_ authmgmt.Store         = (*Store)(nil)
	_ authmgmt.Pruner        = (*Store)(nil)
	_ authmgmt.Restorable    = (*Store)(nil)
	_ authmgmt.KeyChecker    = (*Store)(nil)
	_ authmgmt.Organizations = (*Store)(nil)
	_ mortise.HostTx         = (*Store)(nil)
)

func New(db *file.File) *Store { return &Store{db, db.Revoked()} }

// AfterCommit implements [mortise.HostTx].
func (a *Store) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return a.db.AfterCommit(ctx, f)
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
