package postgres

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Trigger returns a Backend for package trigger: a [Trigger] as Store and Keys, and the
// queue of db with its default settings. Put another one in its place for others: [DB.Queue].
// If Options.Queue is set, it is that one. The Store is a [trigger.Organizations], too, for a
// host that makes it the Directory.
func (db *DB) Trigger() trigger.Backend {
	t := &Trigger{db: db}
	b := trigger.Backend{Store: t, Queue: db.opts.Queue, Keys: t}
	if b.Queue == nil {
		b.Queue = db.Queue(nil)
	}
	return b
}

// Trigger implements [trigger.Store], [trigger.TxStore], [trigger.Pruner],
// [trigger.Organizations], [trigger.APIKeys] and [mortise.HostTx].
type Trigger struct{ db *DB }

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
	return t.db.opts.Queue != nil && mortise.Queue(t.db.opts.Queue) == q
}

// ceil rounds a bound up to microseconds, which selects the same rows.
func ceil(t time.Time) time.Time {
	if cut := t.Truncate(time.Microsecond); cut.Before(t) {
		return cut.Add(time.Microsecond)
	}
	return t
}

// endOfTime is after all that is stored.
var endOfTime = lastTime.Add(time.Microsecond)

// upper is a time that what is selected comes before.
func upper(t time.Time) any {
	if t = ceil(t); t.Before(endOfTime) {
		return bound(t)
	}
	return endOfTime
}
