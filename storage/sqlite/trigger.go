package sqlite

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Trigger implements [trigger.Store], [trigger.TxStore], [trigger.Pruner],
// [trigger.Organizations], [trigger.APIKeys] and [mortise.HostTx].
type Trigger struct {
	db   *file
	jobs *Jobs
}

var (
	_ trigger.Store         = (*Trigger)(nil)
	_ trigger.TxStore       = (*Trigger)(nil)
	_ trigger.Pruner        = (*Trigger)(nil)
	_ trigger.Organizations = (*Trigger)(nil)
	_ trigger.APIKeys       = (*Trigger)(nil)
	_ mortise.HostTx        = (*Trigger)(nil)
)

// AfterCommit implements [mortise.HostTx].
func (t *Trigger) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return t.db.afterCommit(ctx, f)
}
