package postgres

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Trigger implements [trigger.Store], [trigger.TxStore], [trigger.Pruner],
// [trigger.Organizations], [trigger.APIKeys] and [mortise.HostTx].
type Trigger struct {
	db   *engine
	jobs *Jobs
}

func newTrigger(db *engine, jobs *Jobs) *Trigger { return &Trigger{db: db, jobs: jobs} }

var (
	_ trigger.Store         = (*Trigger)(nil)
	_ trigger.TxStore       = (*Trigger)(nil)
	_ trigger.Pruner        = (*Trigger)(nil)
	_ trigger.Organizations = (*Trigger)(nil)
	_ trigger.APIKeys       = (*Trigger)(nil)
	_ mortise.HostTx        = (*Trigger)(nil)
)

// AfterCommit implements [mortise.HostTx]. PostgreSQL tells of the commit by NOTIFY. If the
// connection that listens is lost meanwhile, what is to come after it is left to the sweeper.
func (t *Trigger) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return t.db.afterCommit(ctx, f)
}

// SharesWith reports whether the store adds its jobs to q: whether that is Options.Queue.
func (t *Trigger) SharesWith(q mortise.Queue) bool {
	return t.db.queue != nil && mortise.Queue(t.db.queue) == q
}
