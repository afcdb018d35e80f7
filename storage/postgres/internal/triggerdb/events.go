package triggerdb

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Those of an event by its ID and its organization find nothing in a deleted one.
//
// What follows the organization in idAndOrg is for the planner, which knows nothing of a new
// table: it would as soon look for an ID through all that an index has of an organization.
const (
	idAndOrg     = "id = $1 AND organization || '' = $2"
	eventByID    = "SELECT version, " + eventColumns + " FROM @.trigger_events WHERE " + idAndOrg + " AND " + eventNotDeleted
	eventAnyID   = "SELECT " + eventColumns + " FROM @.trigger_events WHERE id = $1"
	eventByKey   = "SELECT " + eventColumns + " FROM @.trigger_events WHERE organization = $1 AND idempotency_key = $2 FOR UPDATE"
	releaseKey   = "UPDATE @.trigger_events SET idempotency_key = NULL, version = version + 1 WHERE id = $1"
	eventLocking = " FOR UPDATE"
)

// event reads one event, or returns pgx.ErrNoRows.
func event(s *engine.Session, statement string, args ...any) (*trigger.Event, error) {
	var r eventRow
	if err := s.Row(statement, args, r.to()...); err != nil {
		return nil, err
	}
	e, err := r.event()
	return &e, err
}

// versionedEvent is an event as a version of its row has it.
type versionedEvent struct {
	event   trigger.Event
	version int64
}

// readEvent reads an event of an organization in a transaction.
func readEvent(s *engine.Session, statement, org string, id uuid.UUID) (v versionedEvent, err error) {
	var r eventRow
	err = s.Row(statement, []any{id, org}, append([]any{&v.version}, r.to()...)...)
	if engine.IsNoRow(err) {
		return v, mortise.ErrNotFound
	}
	if err != nil {
		return v, err
	}
	v.event, err = r.event()
	return v, err
}

// Event implements [trigger.Store].
func (t *Store) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	v, err := t.readEvent(ctx, org, id)
	return v.event, err
}

// readEvent reads an event of an organization.
func (t *Store) readEvent(ctx context.Context, org string, id uuid.UUID) (versionedEvent, error) {
	return engine.ReadOf(ctx, t.db, org, func(s *engine.Session) (versionedEvent, error) { return readEvent(s, eventByID, org, id) })
}

// progressOfEvents is for IDs.
const progressOfEvents = "SELECT id, status, generation FROM @.trigger_events WHERE id = ANY ($1::uuid[]) AND " + eventNotDeleted

// Progress implements [trigger.Store].
func (t *Store) Progress(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]trigger.Progress, error) {
	list := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		list[i] = pgtype.UUID{Bytes: id, Valid: true}
	}
	return engine.ReadOf(ctx, t.db, engine.NoOrg, func(s *engine.Session) (map[uuid.UUID]trigger.Progress, error) {
		found := make(map[uuid.UUID]trigger.Progress, len(ids))
		return found, s.Keep(func(rows pgx.Rows) error {
			var r eventRow
			if err := rows.Scan(&r.e.ID, &r.status, &r.e.Generation); err != nil {
				return err
			}
			e, err := r.event()
			found[e.ID] = trigger.Progress{Status: e.Status, Generation: e.Generation}
			return err
		}, progressOfEvents, list)
	})
}

// These are for a status, a time and a limit. They lock the events before they look for their
// jobs. The jobs of an event are neighbours: '.' follows '-'.
const (
	pruneUnkeyed = pruned + " AND idempotency_key IS NULL" + prunedThen
	pruneKeyed   = pruned + " AND idempotency_key IS NOT NULL" + prunedThen
)

const pruned = "WITH gone AS (SELECT id, organization FROM @.trigger_events WHERE status = $1 AND finished_at < $2 AND wake_at IS NULL"

const prunedThen = " ORDER BY finished_at LIMIT $3 FOR UPDATE)" +
	", buried AS (SELECT j.ctid FROM gone CROSS JOIN LATERAL (" +
	"SELECT ctid FROM @.jobs AS j WHERE " + jobsOfGone + " AND j.organization = gone.organization AND j.dead ORDER BY j.id OFFSET 0) AS j)" +
	", jobs AS (DELETE FROM @.jobs WHERE ctid = ANY (ARRAY(SELECT ctid FROM buried)) AND dead)" +
	", events AS (DELETE FROM @.trigger_events WHERE id = ANY (ARRAY(SELECT id FROM gone)) RETURNING 1)" +
	" SELECT count(*) FROM events"

// jobsOfGone says which jobs are those of an event of "gone".
const jobsOfGone = "j.id > gone.id::text || '-' AND j.id < gone.id::text || '.' AND j.kind = '" + trigger.JobKind + "'"

// Prune implements [trigger.Pruner].
func (t *Store) Prune(
	ctx context.Context, status trigger.Status, before, keyedBefore time.Time, limit int,
) (n int, more bool, err error) {
	number := int16(-1) // which no event has
	if status.Finished() {
		number = numberOf(status)
	}
	limit = min(limit, engine.PruneStep)
	return t.db.RemoveSome(ctx, engine.NoOrg, limit, func(s *engine.Session) (unkeyed int, err error) {
		if err := s.Row(pruneUnkeyed, []any{number, sqltext.Upper(before), limit}, &unkeyed); err != nil || unkeyed == limit {
			return unkeyed, err
		}
		keyed := 0
		err = s.Row(pruneKeyed, []any{number, sqltext.Upper(keyedBefore), limit - unkeyed}, &keyed)
		return unkeyed + keyed, err
	})
}
