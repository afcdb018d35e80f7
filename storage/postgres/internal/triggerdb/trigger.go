// Package triggerdb keeps package trigger in PostgreSQL.
package triggerdb

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/jobs"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Store implements [trigger.Store], [trigger.TxStore], [trigger.Pruner],
// [trigger.Organizations], [trigger.APIKeys], [mortise.HostTx] and [mortise.Transactor].
type Store struct {
	db   *engine.DB
	jobs *jobs.Jobs
	engine.Revoked
}

func New(db *engine.DB, jobs *jobs.Jobs) *Store { return &Store{db, jobs, db.Revoked()} }

var (
	_ trigger.Store         = (*Store)(nil)
	_ trigger.TxStore       = (*Store)(nil)
	_ trigger.Pruner        = (*Store)(nil)
	_ trigger.Organizations = (*Store)(nil)
	_ trigger.APIKeys       = (*Store)(nil)
	_ mortise.HostTx        = (*Store)(nil)
	_ mortise.Transactor    = (*Store)(nil)
)

// Transact implements [mortise.Transactor].
func (t *Store) Transact(ctx context.Context, org string, do func(ctx context.Context) error) error {
	return t.db.TransactHost(ctx, org, do)
}

// AfterCommit implements [mortise.HostTx]. PostgreSQL tells of the commit by NOTIFY. If the
// connection that listens is lost meanwhile, what is to come after it is left to the sweeper.
func (t *Store) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return t.db.AfterCommit(ctx, f)
}

// SharesWith reports whether the store adds its jobs to q: whether that is Options.Queue.
func (t *Store) SharesWith(q mortise.Queue) bool {
	return t.db.QueueIs(q)
}
