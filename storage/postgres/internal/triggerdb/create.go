package triggerdb

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/jobs"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/trigger"
)

// eventTypes are the types of eventColumns, and progressTypes the types of progressColumns.
var eventTypes = strings.Fields("uuid text timestamptz " + progressTypes +
	" text text bytea text uuid text bytea text text timestamptz")

const progressTypes = "smallint timestamptz timestamptz bigint bytea bytea text bigint timestamptz timestamptz text uuid"

// insertEvent returns the statement that inserts an event, unless its organization was
// deleted, or another event stands in its way. Its arguments are eventArgs, of which first
// is the number of the first. The version begins by chance: an event that has the ID of one
// which was removed is another one.
func insertEvent(first int) string {
	values := make([]string, len(eventTypes))
	for i, is := range eventTypes {
		values[i] = sqltext.Parameter(first+i) + "::" + is
	}
	return "INSERT INTO @.trigger_events (" + eventColumns + ", version) SELECT " + strings.Join(values, ", ") + ", (random() * 1e9)::bigint" +
		" WHERE (SELECT d.since FROM @.trigger_deleted AS d WHERE d.organization = " + values[1] + ") IS NULL ON CONFLICT DO NOTHING"
}

var (
	insertEventAlone = insertEvent(1)

	// Its arguments are eventArgs. It returns a row if it stores the event.
	createEvent = &engine.Shared{
		One: insertEventAlone + " RETURNING 1::bigint, true",
		Many: sqltext.RowsOf(eventTypes, eventColumns) + firstOfEach + ", event AS (" + insertFirst + ")" +
			" SELECT n, true FROM one WHERE " + sqltext.IsIn("id", "event"),
		Types: eventTypes,
	}

	// Its arguments are newJob's and eventArgs. It returns a row if it stores the event, and
	// whether its job is ready.
	createEventAndJob = &engine.Shared{
		One: "WITH event AS (" + insertEvent(7) + " RETURNING 1)" +
			", job AS (" + jobs.InsertJobFrom + " WHERE EXISTS (SELECT FROM event)" + jobs.InsertJobEnd + ")" +
			" SELECT 1::bigint, coalesce((SELECT ready FROM job), false) FROM event",
		Many: sqltext.RowsOf(eventAndJobTypes, "now, job, job_kind, job_organization, job_at, job_trace, "+eventColumns) +
			firstOfEach + ", event AS (" + insertFirst + ")" +
			", job AS (INSERT INTO @.jobs (id, kind, organization, claimable_at, deliveries, dead, trace)" +
			" SELECT job, job_kind, job_organization, coalesce(job_at, now, statement_timestamp()), 0, false, job_trace" +
			" FROM one WHERE " + sqltext.IsIn("id", "event") + " ORDER BY n ON CONFLICT DO NOTHING RETURNING id, kind, organization, claimable_at)" +
			" SELECT n, (job, job_kind, job_organization) IN (SELECT id, kind, organization FROM job WHERE claimable_at <= coalesce(now, statement_timestamp()))" +
			" FROM one WHERE " + sqltext.IsIn("id", "event"),
		Types: eventAndJobTypes,
	}
	eventAndJobTypes = append(strings.Fields("timestamptz text text text timestamptz text"), eventTypes...)
)

// firstOfEach are the rows with an ID of their own, and of others the first; insertFirst
// inserts their events as insertEvent does.
const (
	firstOfEach = ", one AS MATERIALIZED (SELECT DISTINCT ON (id) * FROM r ORDER BY id, n)"
	insertFirst = "INSERT INTO @.trigger_events (" + eventColumns + ", version) SELECT " + eventColumns + ", (random() * 1e9)::bigint FROM one" +
		" WHERE (SELECT d.since FROM @.trigger_deleted AS d WHERE d.organization = one.organization) IS NULL ON CONFLICT DO NOTHING RETURNING id"
)

// CreateEvent implements [trigger.Store].
func (t *Store) CreateEvent(ctx context.Context, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	return t.create(ctx, &e, keySince, nil)
}

// CreateEventAndAdd implements [trigger.TxStore].
func (t *Store) CreateEventAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j mortise.Job) (trigger.Event, bool, error) {
	return t.create(ctx, &e, keySince, &j)
}

// create stores an event, and its job, if there is one.
func (t *Store) create(ctx context.Context, e *trigger.Event, keySince time.Time, j *mortise.Job) (trigger.Event, bool, error) {
	args, err := eventArgs(e)
	if err != nil {
		return trigger.Event{}, false, err
	}
	switch created, err := t.createTogether(ctx, e, args, j); {
	case err != nil:
		return trigger.Event{}, false, err
	case created:
		return e.Clone(), true, nil
	}
	var earlier *trigger.Event
	err = t.db.Transact(ctx, e.Organization, func(s *engine.Session) (err error) {
		if earlier, err = storeEvent(s, e, args, keySince); err == nil && earlier == nil && j != nil {
			err = t.jobs.AddIn(s, j)
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

// createTogether stores an event, and its job, if nothing stands in its way. Which nothing
// hardly ever does.
func (t *Store) createTogether(ctx context.Context, e *trigger.Event, args []any, j *mortise.Job) (created bool, err error) {
	elsewhere, takesMany := t.db.HasQueue()
	elsewhere = elsewhere && j != nil
	if t.db.IsHosted(ctx) || elsewhere && !takesMany {
		return false, nil
	}
	org, size, stored := e.Organization, 1024+len(e.Instructions)+len(e.Context)+len(e.LastError), false
	store := func(b *engine.Batch) {
		stored = false
		b.LockShared(triggerDeletion, org)
		b.Share(createEvent, func(bool) {
			stored = true
			b.Stored()
		}, args...)
	}
	switch {
	case elsewhere:
		job := *j
		job.Trace = maps.Clone(j.Trace)
		err = t.db.WithJob(ctx, org, size, &job, store)
	case j == nil:
		err = t.db.Together(ctx, org, size, store)
	default:
		job := t.jobs.NewJob(j)
		args := append(slices.Clone(job.Args), args...)
		err = t.db.Together(ctx, org, size, func(b *engine.Batch) {
			stored = false
			b.LockShared(triggerDeletion, org)
			b.Share(createEventAndJob, func(ready bool) {
				if stored = true; ready {
					b.OnCommit(func() { t.jobs.Added.Added(job) })
				}
			}, args...)
		})
	}
	if err != nil { // and the pipeline may still be under way
		return false, err
	}
	return stored, nil
}

var errIDTaken = errors.New("postgres: another organization has an event with this ID")

// storeEvent inserts the event, unless the organization was deleted, or returns the one
// that stands in its way.
func storeEvent(s *engine.Session, e *trigger.Event, args []any, keySince time.Time) (earlier *trigger.Event, err error) {
	if err := keepFromDeletion(s, e.Organization); err != nil {
		return nil, err
	}
	for {
		// What this finds, or has waited for, is committed; what it met may be gone again
		// when the next statement looks.
		created, err := s.Exec(insertEventAlone, args...)
		if err != nil || created == 1 {
			return nil, err
		}
		if deleted, err := triggerDeleted(s, e.Organization); err != nil {
			return nil, err
		} else if deleted {
			return nil, mortise.ErrDeleted
		}
		found, err := event(s, eventAnyID, e.ID)
		switch {
		case err == nil && found.Organization != e.Organization:
			return nil, errIDTaken
		case err == nil:
			return found, nil
		case !engine.IsNoRow(err):
			return nil, err
		}
		found, err = event(s, eventByKey, e.Organization, e.IdempotencyKey)
		switch {
		case engine.IsNoRow(err):
			continue
		case err != nil:
			return nil, err
		case !found.SubmittedAt.Before(keySince):
			return found, nil
		}
		if _, err := s.Exec(releaseKey, found.ID); err != nil {
			return nil, err
		}
	}
}
