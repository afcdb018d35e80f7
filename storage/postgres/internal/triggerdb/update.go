package triggerdb

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/jobs"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/trigger"
)

// UpdateEvent implements [trigger.Store].
func (t *Store) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	alone := func(e *trigger.Event) ([]mortise.Job, error) { return nil, update(e) }
	return t.update(ctx, org, id, alone, nil, false)
}

// UpdateEventAndJobs implements [trigger.TxStore].
func (t *Store) UpdateEventAndJobs(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) ([]mortise.Job, error), l mortise.Lease, dead bool,
) error {
	held := &l
	if l.Token == uuid.Nil {
		held = nil
	}
	return t.update(ctx, org, id, update, held, dead)
}

// update changes an event, ends the job that the lease holds, if there is one, and adds the jobs
// that update returns.
func (t *Store) update(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) ([]mortise.Job, error), l *mortise.Lease, dead bool,
) error {
	if done, err := t.updateTogether(ctx, org, id, update, l, dead); done || err != nil {
		return err
	}
	return t.db.Transact(ctx, org, func(s *engine.Session) error {
		from, err := readEvent(s, eventByID+eventLocking, org, id)
		if err != nil {
			return err
		}
		to, added, err := from.change(update)
		if err != nil {
			return err
		}
		if err := writeEvent(s, &from.event, to); err != nil {
			return err
		}
		if l != nil {
			if err := t.jobs.EndIn(s, l, dead); err != nil {
				return err
			}
		}
		for i := range added {
			if err := t.jobs.AddIn(s, &added[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// updateTogether reads an event, and writes what update makes of it if nobody else has
// changed it meanwhile. So update holds up nobody, and the write is one of many. If done is
// false, nothing is changed.
func (t *Store) updateTogether(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) ([]mortise.Job, error), l *mortise.Lease, dead bool,
) (done bool, err error) {
	if t.db.IsHosted(ctx) {
		return false, nil
	}
	from, err := t.readEvent(ctx, org, id)
	if err != nil {
		return false, err
	}
	to, added, err := from.change(update)
	if err != nil {
		return false, err
	}
	if len(added) > 0 || !sameContent(&from.event, to) {
		return false, nil // it is seldom, and a key may be taken: that is the failure of one
	}
	statement, args := updateIfSame, []any{}
	if l != nil {
		statement, args = updateAndEnd[dead], jobs.HeldArgs(l)
	}
	if args, err = appendProgress(append(args, id, org, from.version), to); err != nil {
		return false, err
	}
	changed := false
	err = t.db.InOrder(ctx, org, id.String(), 1024+len(to.LastError), func(b *engine.Batch) {
		changed = false
		b.Seek()
		b.Share(statement, func(bool) { changed = true }, args...)
	})
	if err != nil { // and the pipeline may still be under way
		return false, err
	}
	return changed, nil
}

// These are for an ID, an organization, a version, and the values of progressColumns. They
// return a row if they have changed the event.
var (
	updateIfSame = &engine.Shared{
		One:   changeEvent(1) + " RETURNING 1::bigint, true",
		Many:  sqltext.RowsOf(changeTypes, changeColumns) + " " + changeEvents + ", true",
		Types: changeTypes,
	}

	// The first arguments are HeldArgs. By whether the job becomes a dead letter.
	updateAndEnd = map[bool]*engine.Shared{false: changeAndEnd(jobs.DeleteJob, " USING"), true: changeAndEnd(jobs.MakeJobDead, " FROM")}
)

var (
	changeTypes   = strings.Fields("uuid text bigint " + progressTypes)
	changeColumns = "id, organization, version, " + progressColumns

	changeEvents = "UPDATE @.trigger_events SET version = trigger_events.version + 1, " + assignFrom("r", progressColumns) + " FROM r" +
		" WHERE " + sqltext.IsOne("trigger_events.id", "id") + " AND trigger_events.organization || '' = r.organization AND trigger_events.version = r.version" +
		" AND " + eventNotDeleted + " RETURNING r.n"
)

// changeAndEnd changes an event, and then does something with its job if the lease still
// holds it. from is what begins a further table.
func changeAndEnd(end, from string) *engine.Shared {
	types := append([]string{"text", "text", "text", "uuid"}, changeTypes...)
	return &engine.Shared{
		One: "WITH changed AS (" + changeEvent(5) + " RETURNING 1), ended AS (" + end + " WHERE " + jobs.JobIsHeld +
			" AND EXISTS (SELECT FROM changed)) SELECT 1::bigint, true FROM changed",
		Many: sqltext.RowsOf(types, "job, job_kind, job_organization, job_token, "+changeColumns) + ", changed AS (" + changeEvents + "), ended AS (" + end + from +
			" r WHERE " + sqltext.IsOne("jobs.id", "job") + " AND jobs.kind = r.job_kind AND jobs.organization = r.job_organization AND jobs.token = r.job_token" +
			" AND " + sqltext.IsIn("n", "changed") + ") SELECT n, true FROM changed",
		Types: types,
	}
}

func changeEvent(first int) string {
	return "UPDATE @.trigger_events SET version = version + 1, " + sqltext.Assign(progressColumns, first+3) +
		" WHERE id = " + sqltext.Parameter(first) + " AND organization || '' = " + sqltext.Parameter(first+1) + " AND version = " + sqltext.Parameter(first+2) +
		" AND " + eventNotDeleted
}

// change calls update with a copy, and returns the event that it leaves, and its jobs.
func (v *versionedEvent) change(update func(*trigger.Event) ([]mortise.Job, error)) (*trigger.Event, []mortise.Job, error) {
	changed := v.event.Clone()
	added, err := update(&changed)
	if err != nil {
		return nil, nil, err
	}
	changed.ID, changed.Organization, changed.SubmittedAt = v.event.ID, v.event.Organization, v.event.SubmittedAt
	return &changed, added, nil
}

// For the values of progressColumns and an ID. Content is written only if it has changed:
// what is long stands apart (TOAST), and would be written anew.
var (
	updateProgress = "UPDATE @.trigger_events SET version = version + 1, " + sqltext.Assign(progressColumns, 2) + " WHERE id = $1"
	updateContent  = "UPDATE @.trigger_events SET version = version + 1, " + sqltext.Assign(contentColumns, 2) + " WHERE id = $1"
)

var errKeyTaken = errors.New("postgres: another event has this idempotency key")

// writeEvent writes an event that the transaction has locked.
func writeEvent(s *engine.Session, from, to *trigger.Event) error {
	args, err := appendProgress([]any{to.ID}, to)
	if err != nil {
		return err
	}
	if _, err := s.Exec(updateProgress, args...); err != nil || sameContent(from, to) {
		return err
	}
	_, err = s.Exec(updateContent, appendContent([]any{to.ID}, to)...)
	if engine.IsUnique(err, "trigger_events_key") {
		return errKeyTaken
	}
	return err
}

// assignFrom returns the assignments of columns to those of another table.
func assignFrom(table, columns string) string {
	names := strings.Split(columns, ", ")
	for i, name := range names {
		names[i] = name + " = " + table + "." + name
	}
	return strings.Join(names, ", ")
}
