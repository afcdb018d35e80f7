package sqlite

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Each number of these is counted by entries of an index that stand side by side, and no
// further than a limit. A statement has one snapshot for all of its numbers.
const (
	// For an organization and a limit.
	countEvents = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + received + " LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + processing + " LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + completed + " LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + failed + " LIMIT 0 + ?2))," +
		" (SELECT min(submitted_at)" + eventsOfStatus + received + ")" +
		" WHERE " + triggerNotDeleted

	// For a limit.
	countOpenEvents = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1" + openEvents + received + " LIMIT 0 + ?1))," +
		" (SELECT count(*) FROM (SELECT 1" + openEvents + processing + " LIMIT 0 + ?1))," +
		" (SELECT count(*) FROM (SELECT 1" + openEvents + failed + " LIMIT 0 + ?1))," +
		" (SELECT min(due_at)" + openEvents + received + " AND due_at IS NOT NULL)"

	eventsOfStatus = " FROM trigger_events INDEXED BY trigger_events_status WHERE organization = ?1 AND status = "
	openEvents     = " FROM trigger_events INDEXED BY trigger_events_open WHERE status <> " + completed + " AND status = "
)

// Stats implements [trigger.Counter].
func (t *Trigger) Stats(ctx context.Context, org string, most int) (stats trigger.Stats, err error) {
	err = t.db.list(ctx, org, countEvents, []any{org, most + 1}, func(r *row) error {
		for i, count := range []*mortise.Count{
			&stats.Waiting, &stats.Running, &stats.Completed, &stats.Failed,
		} {
			*count = mortise.CountUpTo(r.number(i), most)
		}
		stats.OldestWaiting = r.moment(4)
		return nil
	})
	if err != nil {
		return trigger.Stats{}, err
	}
	return stats, nil
}

// StatsAll implements [trigger.Counter].
func (t *Trigger) StatsAll(ctx context.Context, most int) (open trigger.AllStats, err error) {
	err = t.db.list(ctx, noOrg, countOpenEvents, []any{most + 1}, func(r *row) error {
		open.Waiting = mortise.CountUpTo(r.number(0), most)
		open.Running = mortise.CountUpTo(r.number(1), most)
		open.Failed = mortise.CountUpTo(r.number(2), most)
		open.NextDue = r.moment(3)
		return nil
	})
	if err != nil {
		return trigger.AllStats{}, err
	}
	return open, nil
}
