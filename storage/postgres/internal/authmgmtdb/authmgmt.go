// Package authmgmtdb keeps package authmgmt in PostgreSQL.
package authmgmtdb

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
)

// Store implements [authmgmt.Store], [authmgmt.Pruner], [authmgmt.KeyChecker],
// [authmgmt.Organizations] and [mortise.HostTx].
type Store struct {
	db *engine.DB
	engine.Revoked
}

func New(db *engine.DB) *Store { return &Store{db, db.Revoked()} }

var (
	_ authmgmt.Store         = (*Store)(nil)
	_ authmgmt.Pruner        = (*Store)(nil)
	_ authmgmt.Restorable    = (*Store)(nil)
	_ authmgmt.KeyChecker    = (*Store)(nil)
	_ authmgmt.Organizations = (*Store)(nil)
	_ mortise.HostTx         = (*Store)(nil)
)

// AfterCommit implements [mortise.HostTx].
func (a *Store) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return a.db.AfterCommit(ctx, f)
}
