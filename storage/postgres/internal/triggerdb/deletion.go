package triggerdb

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/trigger"
)

const (
	markTriggerDeleted  = "INSERT INTO @.trigger_deleted (organization, since) VALUES ($1, $2) ON CONFLICT DO NOTHING"
	triggerDeletedSince = "SELECT since FROM @.trigger_deleted WHERE organization = $1"

	// These follow a condition, and hold for an organization, and for that of a row: looked up
	// row by row, so that what is read in the order of an index stays in order.
	triggerNotDeleted = "NOT EXISTS (SELECT FROM @.trigger_deleted AS d WHERE d.organization = $1)"
	eventNotDeleted   = "(SELECT d.since FROM @.trigger_deleted AS d WHERE d.organization = trigger_events.organization) IS NULL"
	apiKeyNotDeleted  = "(SELECT d.since FROM @.trigger_deleted AS d WHERE d.organization = trigger_api_keys.organization) IS NULL"
)

// triggerRemovals are for an organization and a limit, in this order. Each locks before it
// removes, and so passes over what others have removed meanwhile: if it removes less than
// the limit, nothing is left. Of the events that are to go, the last one takes the jobs of
// all first: no event goes whose jobs are left.
var triggerRemovals = [...]string{
	"WITH gone AS (SELECT digest FROM @.trigger_api_keys WHERE organization = $1 ORDER BY created_at, id LIMIT $2 FOR UPDATE)" +
		" DELETE FROM @.trigger_api_keys WHERE digest = ANY (ARRAY(SELECT digest FROM gone))",
	"WITH gone AS (SELECT id FROM @.trigger_collections WHERE organization = $1 ORDER BY id LIMIT $2 FOR UPDATE)" +
		" DELETE FROM @.trigger_collections WHERE organization = $1 AND id = ANY (ARRAY(SELECT id FROM gone))",
	"DELETE FROM @.trigger_organizations WHERE id = $1 AND $2 > 0",
	"WITH gone AS (SELECT id FROM @.trigger_events WHERE organization = $1 ORDER BY status, submitted_at, id LIMIT $2 FOR UPDATE)" +
		", held AS (SELECT j.id FROM gone CROSS JOIN LATERAL (" +
		"SELECT id FROM @.jobs AS j WHERE " + jobsOfGone + " AND j.organization = $1 ORDER BY j.id LIMIT $2 FOR UPDATE) AS j LIMIT $2)" +
		", jobs AS (DELETE FROM @.jobs WHERE id = ANY (ARRAY(SELECT id FROM held)) AND kind = '" + trigger.JobKind + "' AND organization = $1 RETURNING 1)" +
		", bare AS (SELECT id FROM gone LIMIT $2 - (SELECT count(*) FROM held))" +
		", events AS (DELETE FROM @.trigger_events WHERE id = ANY (ARRAY(SELECT id FROM bare)) RETURNING 1)" +
		" SELECT FROM jobs UNION ALL SELECT FROM events",
}

// keepFromDeletion keeps others from marking an organization before the transaction ends.
// Whether it is marked, the next statement says.
func keepFromDeletion(s *engine.Session, org string) error { return s.Lock(triggerDeletion, org, true) }

// triggerDeletion is of what the locks are.
const triggerDeletion = "trigger deletion"

// MarkDeleted implements [trigger.Deletion].
func (t *Store) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	var since pgtype.Timestamptz
	err := t.db.Transact(ctx, org, func(s *engine.Session) error {
		if err := s.Lock(triggerDeletion, org, false); err != nil {
			return err
		}
		marked, err := s.Exec(markTriggerDeleted, org, sqltext.Bound(at))
		if err == nil && marked > 0 {
			err = s.TookAway(at)
		}
		if err != nil {
			return err
		}
		return s.Row(triggerDeletedSince, []any{org}, &since)
	})
	return sqltext.TimeOf(since), err
}

// RemoveDeleted implements [trigger.Deletion].
func (t *Store) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	if limit <= 0 {
		return 0, true, t.db.Read(ctx, org, func(s *engine.Session) error { return isMarked(s, org) })
	}
	limit = min(limit, engine.PruneStep)
	return t.db.RemoveSome(ctx, org, limit, func(s *engine.Session) (int, error) { return removeDeleted(s, org, limit) })
}

// isMarked returns [mortise.ErrNotFound] if an organization is not marked.
func isMarked(s *engine.Session, org string) error {
	deleted, err := triggerDeleted(s, org)
	if err == nil && !deleted {
		err = mortise.ErrNotFound
	}
	return err
}

// triggerDeleted reports whether an organization is marked.
func triggerDeleted(s *engine.Session, org string) (deleted bool, err error) {
	return s.Exists(triggerDeletedSince, org)
}

// removeDeleted removes some of what an organization has. If that is less than the limit,
// nothing is left.
func removeDeleted(s *engine.Session, org string, limit int) (removed int, err error) {
	if err := s.NeedsLatest(); err != nil {
		return 0, err
	}
	if err := isMarked(s, org); err != nil {
		return 0, err
	}
	for _, statement := range triggerRemovals {
		n, err := s.Exec(statement, org, limit-removed)
		if removed += int(n); err != nil || removed == limit {
			return removed, err
		}
	}
	return removed, nil
}
