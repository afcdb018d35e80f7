// Package triggerdb keeps package trigger in a file of SQLite's.
package triggerdb

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/jobs"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Store implements [trigger.Store], [trigger.TxStore], [trigger.Pruner],
// [trigger.Organizations], [trigger.APIKeys] and [mortise.HostTx].
type Store struct {
	db   *file.File
	jobs *jobs.Jobs
	file.Revoked
}

var (
	_ trigger.Store         = (*Store)(nil)
	_ trigger.TxStore       = (*Store)(nil)
	_ trigger.Pruner        = (*Store)(nil)
	_ trigger.Organizations = (*Store)(nil)
	_ trigger.APIKeys       = (*Store)(nil)
	_ mortise.HostTx        = (*Store)(nil)
)

func New(db *file.File, jobs *jobs.Jobs) *Store { return &Store{db, jobs, db.Revoked()} }

// Transact implements [mortise.Transactor].
func (t *Store) Transact(ctx context.Context, _ string, do func(ctx context.Context) error) error {
	return t.db.InTx(ctx, func(ctx context.Context, _ *file.HostTx) error { return do(ctx) })
}

// AfterCommit implements [mortise.HostTx].
func (t *Store) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return t.db.AfterCommit(ctx, f)
}
