package triggerdb

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Each number of these is counted by entries of an index that stand side by side, and no
// further than a limit: it is for the order that PostgreSQL reads them there, and reads no
// more.
const (
	// For an organization and a limit.
	countEvents = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + received + " ORDER BY submitted_at LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + processing + " ORDER BY submitted_at LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + completed + " ORDER BY submitted_at LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + failed + " ORDER BY submitted_at LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + eventsOfStatus + cancelled + " ORDER BY submitted_at LIMIT $2) AS n)" +
		" WHERE " + triggerNotDeleted

	// For a limit.
	countOpenEvents = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1" + openEvents + received + " ORDER BY due_at LIMIT $1) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + openEvents + processing + " ORDER BY due_at LIMIT $1) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + openEvents + failed + " ORDER BY due_at LIMIT $1) AS n)," +
		" (SELECT due_at" + openEvents + received + " AND due_at IS NOT NULL ORDER BY due_at LIMIT 1)"

	eventsOfStatus = " FROM @.trigger_events WHERE organization = $1 AND status = "
	openEvents     = " FROM @.trigger_events WHERE status = "
)

// Counts implements [trigger.Counter].
func (t *Store) Counts(ctx context.Context, org string, most int) (trigger.Counts, error) {
	var n [5]int
	err := t.db.Read(ctx, org, func(s *engine.Session) error {
		return s.Row(countEvents, []any{org, min(most, math.MaxInt-1) + 1}, &n[0], &n[1], &n[2], &n[3], &n[4])
	})
	if engine.IsNoRow(err) {
		return trigger.Counts{}, nil // it was deleted
	}
	if err != nil {
		return trigger.Counts{}, err
	}
	return trigger.Counts{
		Waiting: mortise.CountUpTo(n[0], most), Running: mortise.CountUpTo(n[1], most),
		Completed: mortise.CountUpTo(n[2], most), Failed: mortise.CountUpTo(n[3], most),
		Cancelled: mortise.CountUpTo(n[4], most),
	}, nil
}

// Backlog implements [trigger.Counter].
func (t *Store) Backlog(ctx context.Context, most int) (mortise.Backlog, error) {
	var n [3]int
	var next pgtype.Timestamptz
	err := t.db.Read(ctx, engine.NoOrg, func(s *engine.Session) error {
		return s.Row(countOpenEvents, []any{min(most, math.MaxInt-1) + 1}, &n[0], &n[1], &n[2], &next)
	})
	if err != nil {
		return mortise.Backlog{}, err
	}
	return mortise.Backlog{
		Waiting: mortise.CountUpTo(n[0], most), Running: mortise.CountUpTo(n[1], most),
		Failed: mortise.CountUpTo(n[2], most), NextDue: sqltext.TimeOf(next),
	}, nil
}
