package sqlite

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

const (
	insertEvent = "INSERT INTO trigger_events (" + eventColumns +
		") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"

	eventByID  = eventAnyID + " AND " + eventNotDeleted
	eventAnyID = "SELECT " + eventColumns + " FROM trigger_events WHERE id = ?"
	eventByKey = "SELECT " + eventColumns + " FROM trigger_events WHERE organization = ? AND idempotency_key = ?"
	releaseKey = "UPDATE trigger_events SET idempotency_key = NULL WHERE id = ?"

	// An UPDATE renews the indexes of every column that it names, so the usual one names
	// few.
	updateProgress = "UPDATE trigger_events SET (" + progressColumns + ") = (?,?,?,?,?,?,?,?,?,?,?) WHERE id = ?"
	updateContent  = "UPDATE trigger_events SET (" + contentColumns + ") = (?,?,?,?,?,?,?) WHERE id = ?"
)

// CreateEvent implements [trigger.Store].
func (t *Trigger) CreateEvent(ctx context.Context, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	c, err := newCreation(&e, keySince)
	if err != nil {
		return trigger.Event{}, false, err
	}
	if err := t.db.writer.write(ctx, c.do); err != nil {
		return trigger.Event{}, false, err
	}
	return c.result(&e)
}

// creation is a Create under way. It holds copies: the event itself stays with the
// caller.
type creation struct {
	id, org, key string
	keySince     time.Time
	args         []any

	created bool
	earlier *trigger.Event // if not created
}

func newCreation(e *trigger.Event, keySince time.Time) (*creation, error) {
	args, err := eventArgs(e)
	return &creation{id: string(e.ID[:]), org: e.Organization, key: e.IdempotencyKey, keySince: keySince, args: args}, err
}

// result is what Create returns after do.
func (c *creation) result(e *trigger.Event) (trigger.Event, bool, error) {
	if c.created {
		return e.Clone(), true, nil
	}
	return *c.earlier, false, nil
}

var errIDTaken = errors.New("sqlite: another organization has an event with this ID")

// do inserts the event, unless the organization was deleted. If that meets another event,
// it looks which.
func (c *creation) do(t *tx) error {
	if deleted, err := t.triggerDeleted(c.org); err != nil {
		return err
	} else if deleted {
		return trigger.ErrDeleted
	}
	changed, err := t.exec(insertEvent, c.args...)
	if c.created = changed == 1; err != nil || c.created {
		return err
	}
	c.earlier = new(trigger.Event)
	found, err := t.event(c.earlier, eventAnyID, []byte(c.id))
	if err != nil {
		return err
	}
	if found && c.earlier.Organization != c.org {
		return errIDTaken
	}
	if found {
		return nil
	}
	if found, err = t.event(c.earlier, eventByKey, c.org, c.key); err != nil {
		return err
	}
	if found && !c.earlier.SubmittedAt.Before(c.keySince) {
		return nil
	}
	if _, err := t.exec(releaseKey, c.earlier.ID[:]); err != nil {
		return err
	}
	changed, err = t.exec(insertEvent, c.args...)
	if c.created = changed == 1; err == nil && !c.created {
		err = errors.New("sqlite: the event cannot be stored")
	}
	return err
}

// event reads one event in the transaction.
func (t *tx) event(e *trigger.Event, query string, args ...any) (found bool, err error) {
	err = t.query(query, args, func(r *row) error {
		found = true
		return scanEvent(r, e)
	})
	return found, err
}

// Event implements [trigger.Store].
func (t *Trigger) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	var e trigger.Event
	found := false
	err := t.db.find(ctx, org, eventByID, []any{id[:]}, func(r *row) error {
		found = true
		return scanEvent(r, &e)
	})
	if err == nil && (!found || e.Organization != org) {
		err = trigger.ErrNotFound
	}
	if err != nil {
		return trigger.Event{}, err
	}
	return e, nil
}

// events lists events.
func (t *Trigger) events(ctx context.Context, org, query string, args ...any) ([]trigger.Event, error) {
	var events []trigger.Event
	err := t.db.list(ctx, org, query, args, func(r *row) error {
		var e trigger.Event
		if err := scanEvent(r, &e); err != nil {
			return err
		}
		events = append(events, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// CreateEventAndAdd implements [trigger.TxStore].
func (t *Trigger) CreateEventAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j mortise.Job) (trigger.Event, bool, error) {
	c, err := newCreation(&e, keySince)
	if err != nil {
		return trigger.Event{}, false, err
	}
	n := newJobOf(&j)
	err = t.db.writer.write(ctx, func(tx *tx) error {
		if err := c.do(tx); err != nil || !c.created {
			return err
		}
		return tx.addJob(t.db, n)
	})
	if err != nil {
		return trigger.Event{}, false, err
	}
	return c.result(&e)
}

// UpdateEvent implements [trigger.Store].
func (t *Trigger) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	return t.db.writer.write(ctx, func(tx *tx) error { return tx.updateEvent(org, id, update) })
}

// UpdateEventAndRemove implements [trigger.TxStore].
func (t *Trigger) UpdateEventAndRemove(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error, l mortise.Lease, dead bool,
) error {
	return t.db.writer.write(ctx, func(tx *tx) error {
		if err := tx.updateEvent(org, id, update); err != nil {
			return err
		}
		_, err := tx.endJob(&l, dead)
		return err
	})
}

func (t *tx) updateEvent(org string, id uuid.UUID, update func(*trigger.Event) error) error {
	var kept trigger.Event
	found, err := t.event(&kept, eventAnyID, id[:])
	if err != nil {
		return err
	}
	if !found || kept.Organization != org {
		return trigger.ErrNotFound
	}
	if deleted, err := t.triggerDeleted(kept.Organization); err != nil {
		return err
	} else if deleted {
		return trigger.ErrNotFound
	}
	var progress, content []any
	err = t.host(func() (err error) {
		changed := kept.Clone()
		if err := update(&changed); err != nil {
			return err
		}
		if !sameContent(&kept, &changed) {
			content = append(appendContent(nil, &changed), id[:])
		}
		if progress, err = appendProgress(nil, &changed); err != nil {
			return err
		}
		progress = append(progress, id[:])
		return nil
	})
	if err != nil {
		return err
	}
	if content != nil {
		if _, err := t.exec(updateContent, content...); err != nil {
			return err
		}
	}
	_, err = t.exec(updateProgress, progress...)
	return err
}

// ceilMicros rounds a bound up to the precision of the column, which selects the same
// events.
func ceilMicros(t time.Time) int64 {
	m := t.UnixMicro()
	if time.UnixMicro(m).Before(t) {
		m++
	}
	return m
}

const unqueuedEvents = "SELECT " + eventColumns + " FROM trigger_events WHERE unqueued_since < ? AND status = " + received +
	" AND " + eventNotDeleted +
	" ORDER BY unqueued_since, submitted_at, id LIMIT ?"

// Unqueued implements [trigger.Store].
func (t *Trigger) Unqueued(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	return t.events(ctx, noOrg, unqueuedEvents, ceilMicros(before), max(limit, 0))
}

// Of an event that was stored together with its job checked_at is NULL, and no index has
// it. It is found by the job. So these cost nothing where the jobs stand in this
// database, and nobody asks.
var (
	staleTogether = "SELECT " + eventOfJob + " FROM mortise_jobs AS j CROSS JOIN trigger_events AS e ON e.id = " + eventIDOfJob +
		" WHERE j.kind = '" + trigger.JobKind + "' AND j.dead = 0 AND ?1 IS NOT NULL AND e.checked_at IS NULL AND " + staleEvent + " LIMIT ?3"
	staleChecked = "SELECT " + eventColumns + " FROM trigger_events AS e" +
		" WHERE checked_at < ?1 AND " + staleEvent + " ORDER BY checked_at LIMIT ?3"
	staleEvent = "e.status < " + completed + " AND e.unqueued_since IS NULL AND (?2 IS NULL OR e.due_at IS NULL OR e.due_at < ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM trigger_deleted AS d WHERE d.organization = e.organization)"
	eventIDOfJob = "unhex(substr(j.id, 1, 36), '-')"
)

// eventOfJob is eventColumns of the table e, which is joined with another one.
var eventOfJob = "e." + strings.ReplaceAll(eventColumns, ", ", ", e.")

// Stale implements [trigger.Unfinished].
func (t *Trigger) Stale(ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error) {
	args := []any{nil, nil, max(limit, 0)}
	if !checked.IsZero() {
		args[0] = ceilMicros(checked)
	}
	if !due.IsZero() {
		args[1] = ceilMicros(due)
	}
	found, err := t.events(ctx, noOrg, staleTogether, args...)
	if err != nil || len(found) >= limit {
		return found, err
	}
	args[2] = limit - len(found)
	rest, err := t.events(ctx, noOrg, staleChecked, args...)
	if err != nil {
		return nil, err
	}
	return append(found, rest...), nil
}

const (
	pruned = "SELECT id FROM trigger_events WHERE finished_at < ? AND status >= " + completed + " ORDER BY finished_at, id LIMIT ?"

	// Those of an event stand beside each other: '.' follows '-'.
	pruneJobs = "DELETE FROM mortise_jobs WHERE seq IN (SELECT j.seq FROM (SELECT " + idText + " AS event FROM (" + pruned + "))" +
		" CROSS JOIN mortise_jobs AS j INDEXED BY mortise_jobs_id ON j.id > event || '-' AND j.id < event || '.' AND j.kind = '" + trigger.JobKind + "' AND j.dead = 1)"
	pruneEvents = "DELETE FROM trigger_events WHERE id IN (" + pruned + ")"

	idText = "lower(substr(hex(id),1,8)||'-'||substr(hex(id),9,4)||'-'||substr(hex(id),13,4)||'-'||substr(hex(id),17,4)||'-'||substr(hex(id),21))"
)

// pruneStep is how many events go at a time: other writes wait for so long.
const pruneStep = 100

// Prune implements [trigger.Pruner].
func (t *Trigger) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	removed := 0
	for removed < limit {
		step := min(pruneStep, limit-removed)
		var n int64
		err := t.db.writer.write(ctx, func(tx *tx) (err error) {
			if _, err = tx.exec(pruneJobs, ceilMicros(before), step); err != nil {
				return err
			}
			n, err = tx.exec(pruneEvents, ceilMicros(before), step)
			return err
		})
		if err != nil {
			return removed, err
		}
		if removed += int(n); n < int64(step) {
			break
		}
	}
	return removed, ctx.Err()
}
