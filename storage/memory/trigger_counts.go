package memory

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Counts implements [trigger.Counter].
func (t *Trigger) Counts(ctx context.Context, org string, most int) (counts trigger.Counts, err error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return counts, err
	}
	defer db.end()
	o, ok := db.trigger.live(org)
	if !ok {
		return counts, nil
	}
	n := make(map[trigger.Status]int)
	for _, e := range o.order {
		n[e.Status]++
	}
	counts.Waiting = mortise.CountUpTo(n[trigger.StatusReceived], most)
	counts.Running = mortise.CountUpTo(n[trigger.StatusProcessing], most)
	counts.Completed = mortise.CountUpTo(n[trigger.StatusCompleted], most)
	counts.Failed = mortise.CountUpTo(n[trigger.StatusFailed], most)
	counts.Cancelled = mortise.CountUpTo(n[trigger.StatusCancelled], most)
	return counts, nil
}

// Backlog implements [trigger.Counter].
func (t *Trigger) Backlog(ctx context.Context, most int) (mortise.Backlog, error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return mortise.Backlog{}, err
	}
	defer db.end()
	n := make(map[trigger.Status]int)
	var next time.Time
	for org, o := range db.trigger.orgs {
		if db.trigger.isDeleted(org) {
			continue
		}
		for _, e := range o.order {
			n[e.Status]++
			waits := e.Status == trigger.StatusReceived
			if waits && !e.DueAt.IsZero() && (next.IsZero() || e.DueAt.Before(next)) {
				next = e.DueAt
			}
		}
	}
	return mortise.Backlog{
		Waiting: mortise.CountUpTo(n[trigger.StatusReceived], most),
		Running: mortise.CountUpTo(n[trigger.StatusProcessing], most),
		Failed:  mortise.CountUpTo(n[trigger.StatusFailed], most), NextDue: next,
	}, nil
}
