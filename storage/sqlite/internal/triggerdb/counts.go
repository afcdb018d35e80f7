package triggerdb

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Each number of these is counted by entries of an index that stand side by side, and no
// further than a limit.
const (
	// For an organization and a limit.
	countEvents = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + received + " LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + processing + " LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + completed + " LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + failed + " LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + cancelled + " LIMIT 0 + ?2))" +
		" WHERE " + triggerNotDeleted

	// For a limit.
	countOpenEvents = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1" + openEvents + received + " LIMIT 0 + ?1))," +
		" (SELECT count(*) FROM (SELECT 1" + openEvents + processing + " LIMIT 0 + ?1))," +
		" (SELECT count(*) FROM (SELECT 1" + openEvents + failed + " LIMIT 0 + ?1))," +
		" (SELECT min(due_at)" + openEvents + received + " AND due_at IS NOT NULL)"

	eventsOfStatus = " FROM trigger_events INDEXED BY trigger_events_status WHERE organization = ?1 AND status = "
	openEvents     = " FROM trigger_events INDEXED BY trigger_events_open WHERE " + isOpen + " AND status = "

	// isOpen is the condition of trigger_events_open, word by word.
	isOpen = "status <> 2 AND status < 4"
)

// Counts implements [trigger.Counter].
func (t *Store) Counts(ctx context.Context, org string, most int) (counts trigger.Counts, err error) {
	err = t.db.List(ctx, org, countEvents, []any{org, most + 1}, func(r *file.Row) error {
		for i, count := range []*mortise.Count{
			&counts.Waiting, &counts.Running, &counts.Completed, &counts.Failed, &counts.Cancelled,
		} {
			*count = mortise.CountUpTo(r.Number(i), most)
		}
		return nil
	})
	if err != nil {
		return trigger.Counts{}, err
	}
	return counts, nil
}

// Backlog implements [trigger.Counter].
func (t *Store) Backlog(ctx context.Context, most int) (backlog mortise.Backlog, err error) {
	err = t.db.List(ctx, file.NoOrg, countOpenEvents, []any{most + 1}, func(r *file.Row) error {
		backlog.Waiting = mortise.CountUpTo(r.Number(0), most)
		backlog.Running = mortise.CountUpTo(r.Number(1), most)
		backlog.Failed = mortise.CountUpTo(r.Number(2), most)
		backlog.NextDue = r.Moment(3)
		return nil
	})
	if err != nil {
		return mortise.Backlog{}, err
	}
	return backlog, nil
}
