package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Those of an event by its ID and its organization find nothing in a deleted one.
const (
	eventByID    = "SELECT version, " + eventColumns + " FROM @.trigger_events WHERE id = $1 AND organization = $2 AND " + eventNotDeleted
	eventAnyID   = "SELECT " + eventColumns + " FROM @.trigger_events WHERE id = $1"
	eventByKey   = "SELECT " + eventColumns + " FROM @.trigger_events WHERE organization = $1 AND idempotency_key = $2 FOR UPDATE"
	releaseKey   = "UPDATE @.trigger_events SET idempotency_key = NULL, version = version + 1 WHERE id = $1"
	eventLocking = " FOR UPDATE"
)

// insertEvent inserts an event, unless its organization was deleted, or another event
// stands in its way. Its arguments are eventArgs. The version begins by chance: an event
// that has the ID of one which was removed is another one.
var insertEvent = "INSERT INTO @.trigger_events (" + eventColumns + ", version)" +
	" SELECT $1::uuid, $2::bytea, $3::timestamptz, " +
	"$4::smallint, $5::timestamptz, $6::timestamptz, $7::bigint, $8::bytea, $9::bytea, $10::bytea, " +
	"$11::bigint, $12::timestamptz, $13::timestamptz, $14::timestamptz, " +
	"$15::bytea, $16::bytea, $17::bytea, $18::uuid, $19::bytea, $20::bytea, $21::bytea, (random() * 1e9)::bigint" +
	" WHERE NOT EXISTS (SELECT FROM @.trigger_deleted AS d WHERE d.organization = $2) ON CONFLICT DO NOTHING"

// CreateEvent implements [trigger.Store].
func (t *Trigger) CreateEvent(ctx context.Context, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	return t.create(ctx, &e, keySince, nil)
}

// CreateEventAndAdd implements [trigger.TxStore].
func (t *Trigger) CreateEventAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j mortise.Job) (trigger.Event, bool, error) {
	return t.create(ctx, &e, keySince, &j)
}

// create stores an event, and its job, if there is one.
func (t *Trigger) create(ctx context.Context, e *trigger.Event, keySince time.Time, j *mortise.Job) (trigger.Event, bool, error) {
	args, err := eventArgs(e)
	if err != nil {
		return trigger.Event{}, false, err
	}
	var earlier *trigger.Event
	err = t.db.transact(ctx, e.Organization, func(s *session) (err error) {
		if earlier, err = s.createEvent(e, args, keySince); err == nil && earlier == nil && j != nil {
			err = s.addJob(j)
		}
		return err
	})
	switch {
	case err != nil:
		return trigger.Event{}, false, err
	case earlier != nil:
		return *earlier, false, nil
	}
	return e.Clone(), true, nil
}

var errIDTaken = errors.New("postgres: another organization has an event with this ID")

// createEvent inserts the event, unless the organization was deleted, or returns the one
// that stands in its way.
func (s *session) createEvent(e *trigger.Event, args []any, keySince time.Time) (earlier *trigger.Event, err error) {
	if err := s.keepFromDeletion(e.Organization); err != nil {
		return nil, err
	}
	for {
		// What this finds, or has waited for, is committed; what it met may be gone again
		// when the next statement looks.
		created, err := s.exec(insertEvent, args...)
		if err != nil || created == 1 {
			return nil, err
		}
		if deleted, err := s.triggerDeleted(e.Organization); err != nil {
			return nil, err
		} else if deleted {
			return nil, trigger.ErrDeleted
		}
		found, err := s.event(eventAnyID, e.ID)
		switch {
		case err == nil && found.Organization != e.Organization:
			return nil, errIDTaken
		case err == nil:
			return found, nil
		case !isNoRow(err):
			return nil, err
		}
		found, err = s.event(eventByKey, bytes(e.Organization), bytes(e.IdempotencyKey))
		switch {
		case isNoRow(err):
			continue
		case err != nil:
			return nil, err
		case !found.SubmittedAt.Before(keySince):
			return found, nil
		}
		if _, err := s.exec(releaseKey, found.ID); err != nil {
			return nil, err
		}
	}
}

// event reads one event, or returns pgx.ErrNoRows.
func (s *session) event(statement string, args ...any) (*trigger.Event, error) {
	var r eventRow
	if err := s.row(statement, args, r.to()...); err != nil {
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

// readEvent reads an event of an organization.
func (s *session) readEvent(statement, org string, id uuid.UUID) (v versionedEvent, err error) {
	var r eventRow
	err = s.row(statement, []any{id, bytes(org)}, append([]any{&v.version}, r.to()...)...)
	if isNoRow(err) {
		return v, trigger.ErrNotFound
	}
	if err != nil {
		return v, err
	}
	v.event, err = r.event()
	return v, err
}

// Event implements [trigger.Store].
func (t *Trigger) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	var v versionedEvent
	err := t.db.read(ctx, org, func(s *session) (err error) {
		v, err = s.readEvent(eventByID, org, id)
		return err
	})
	if err != nil {
		return trigger.Event{}, err
	}
	return v.event, nil
}

// UpdateEvent implements [trigger.Store].
func (t *Trigger) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	return t.update(ctx, org, id, update, nil, false)
}

// UpdateEventAndRemove implements [trigger.TxStore].
func (t *Trigger) UpdateEventAndRemove(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error, l mortise.Lease, dead bool,
) error {
	return t.update(ctx, org, id, update, &l, dead)
}

// update changes an event, and ends the job that the lease holds, if there is one.
func (t *Trigger) update(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error, l *mortise.Lease, dead bool,
) error {
	return t.db.transact(ctx, org, func(s *session) error {
		from, err := s.readEvent(eventByID+eventLocking, org, id)
		if err != nil {
			return err
		}
		to, err := from.change(update)
		if err != nil {
			return err
		}
		if err := s.writeEvent(&from.event, to); err != nil || l == nil {
			return err
		}
		return s.endJob(l, dead)
	})
}

// change calls update with a copy, and returns what it leaves.
func (v *versionedEvent) change(update func(*trigger.Event) error) (*trigger.Event, error) {
	changed := v.event.Clone()
	if err := update(&changed); err != nil {
		return nil, err
	}
	changed.ID, changed.Organization, changed.SubmittedAt = v.event.ID, v.event.Organization, v.event.SubmittedAt
	return &changed, nil
}

// For the values of progressColumns and an ID. Content is written only if it has changed:
// what is long stands apart (TOAST), and would be written anew.
var (
	updateProgress = "UPDATE @.trigger_events SET version = version + 1, " + assign(progressColumns, 2) + " WHERE id = $1"
	updateContent  = "UPDATE @.trigger_events SET version = version + 1, " + assign(contentColumns, 2) + " WHERE id = $1"
)

var errKeyTaken = errors.New("postgres: another event has this idempotency key")

// writeEvent writes an event that the transaction has locked.
func (s *session) writeEvent(from, to *trigger.Event) error {
	args, err := appendProgress([]any{to.ID}, to)
	if err != nil {
		return err
	}
	if _, err := s.exec(updateProgress, args...); err != nil || sameContent(from, to) {
		return err
	}
	_, err = s.exec(updateContent, appendContent([]any{to.ID}, to)...)
	if isUnique(err, "trigger_events_key") {
		return errKeyTaken
	}
	return err
}

// assign returns the assignments of columns to parameters, of which first is the first.
func assign(columns string, first int) string {
	names := strings.Split(columns, ", ")
	for i, name := range names {
		names[i] = name + " = " + "$" + strconv.Itoa(first+i)
	}
	return strings.Join(names, ", ")
}

// pruneEvents is for a time and a limit. It locks the events before it looks for their
// jobs. Those of an event stand beside each other: '.' follows '-'.
const pruneEvents = "WITH old AS (SELECT id FROM @.trigger_events WHERE finished_at < $1 AND status >= " + completed +
	" ORDER BY finished_at LIMIT $2 FOR UPDATE)" +
	", gone AS (DELETE FROM @.trigger_events AS e USING old WHERE e.id = old.id RETURNING e.id, e.organization)" +
	", jobs AS (DELETE FROM @.jobs AS j USING gone WHERE " + jobsOfGone + " AND j.organization = gone.organization AND j.dead)" +
	" SELECT count(*) FROM gone"

// jobsOfGone says which jobs are those of an event of "gone".
const jobsOfGone = "j.id > (gone.id::text || '-')::bytea AND j.id < (gone.id::text || '.')::bytea AND j.kind = '" + trigger.JobKind + "'"

// pruneStep is how many rows a transaction removes.
const pruneStep = 500

// Prune implements [trigger.Pruner].
func (t *Trigger) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	removed := 0
	for removed < limit {
		step, n := min(pruneStep, limit-removed), 0
		err := t.db.transact(ctx, noOrg, func(s *session) error {
			return s.row(pruneEvents, []any{upper(before), step}, &n)
		})
		if err != nil {
			return removed, err
		}
		if removed += n; n < step {
			break
		}
	}
	return removed, ctx.Err()
}
