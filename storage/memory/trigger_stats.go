package memory

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Stats implements [trigger.Counter].
func (t *Trigger) Stats(ctx context.Context, org string, most int) (stats trigger.Stats, err error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return stats, err
	}
	defer db.end()
	o, ok := db.trigger.live(org)
	if !ok {
		return stats, nil
	}
	n := make(map[trigger.Status]int)
	for _, e := range o.order { // oldest first
		if n[e.Status]++; e.Status == trigger.StatusReceived && n[e.Status] == 1 {
			stats.OldestWaiting = e.SubmittedAt
		}
	}
	stats.Waiting = mortise.CountUpTo(n[trigger.StatusReceived], most)
	stats.Running = mortise.CountUpTo(n[trigger.StatusProcessing], most)
	stats.Completed = mortise.CountUpTo(n[trigger.StatusCompleted], most)
	stats.Failed = mortise.CountUpTo(n[trigger.StatusFailed], most)
	return stats, nil
}

// StatsAll implements [trigger.Counter].
func (t *Trigger) StatsAll(ctx context.Context, most int) (trigger.AllStats, error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return trigger.AllStats{}, err
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
	return trigger.AllStats{
		Waiting: mortise.CountUpTo(n[trigger.StatusReceived], most),
		Running: mortise.CountUpTo(n[trigger.StatusProcessing], most),
		Failed:  mortise.CountUpTo(n[trigger.StatusFailed], most), NextDue: next,
	}, nil
}
