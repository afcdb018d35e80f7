package triggerdb

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/jobs"
	"github.com/seed-6363c74e/mortise/trigger"
)

const (
	insertBody = "INSERT INTO trigger_bodies (event, instructions, context) VALUES (?,?,?)"

	versionOfEvent = "SELECT version FROM trigger_events WHERE id = ?"

	releaseKey = "UPDATE trigger_events SET idempotency_key = NULL, version = version + 1 WHERE id = ?"

	updateContent = "UPDATE trigger_events SET (" + contentColumns + ", version) = (?,?,?,?,?,?,?,?,?,?,?, version + 1) WHERE id = ?"
	removeBody    = "DELETE FROM trigger_bodies WHERE event = ?"
)

var (
	eventByID      = eventAnyID + " AND " + eventNotDeleted
	eventAnyID     = "SELECT " + eventFields("trigger_events") + ", version FROM trigger_events WHERE id = ?"
	insertEvent    = insertEventOf(0)
	insertNewEvent = insertEventOf(unsetCount)

	eventByKey = "SELECT " + eventFields("trigger_events") + " FROM trigger_events WHERE organization = ? AND idempotency_key = ?"
)

// insertEventOf is for the values of eventColumns, but for the last ones, which stay NULL: a value
// that a statement does not bind costs nothing.
func insertEventOf(unset int) string {
	columns := strings.Split(eventColumns, ", ")
	columns = columns[:len(columns)-unset]
	return "INSERT INTO trigger_events (" + strings.Join(columns, ", ") +
		") VALUES (?" + strings.Repeat(",?", len(columns)-1) + ") ON CONFLICT DO NOTHING"
}

// CreateEvent implements [trigger.Store].
func (t *Store) CreateEvent(ctx context.Context, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	c, err := newCreation(&e, keySince)
	if err != nil {
		return trigger.Event{}, false, err
	}
	if err := t.db.Bring(ctx, e.Organization, c.do); err != nil {
		return trigger.Event{}, false, err
	}
	return c.result(&e)
}

// creation is a Create under way. It holds copies: the event itself stays with the
// caller.
type creation struct {
	id, org, key string
	keySince     time.Time
	args, body   []any
	new          *versionedEvent // may be nil

	created bool
	earlier *trigger.Event // if not created
}

func newCreation(e *trigger.Event, keySince time.Time) (*creation, error) {
	// By chance, or an event that has the ID of one which was removed would pass for that
	// in another process, which still keeps it.
	version := rand.IntN(1 << 30)
	args, err := eventArgs(e, version)
	return &creation{
		id: string(e.ID[:]), org: e.Organization, key: e.IdempotencyKey, keySince: keySince,
		args: args, body: bodyArgs(e), new: newVersioned(e, version),
	}, err
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
func (c *creation) do(t *file.Tx) error {
	if deleted, err := triggerDeleted(t, c.org); err != nil {
		return err
	} else if deleted {
		return mortise.ErrDeleted
	}
	if err := c.insert(t); err != nil || c.created {
		return err
	}
	c.earlier = new(trigger.Event)
	found, err := readEvent(t, c.earlier, eventAnyID, []byte(c.id))
	if err != nil {
		return err
	}
	if found && c.earlier.Organization != c.org {
		return errIDTaken
	}
	if found {
		return nil
	}
	if found, err = readEvent(t, c.earlier, eventByKey, c.org, c.key); err != nil {
		return err
	}
	if found && !c.earlier.SubmittedAt.Before(c.keySince) {
		return nil
	}
	if _, err := t.Exec(releaseKey, c.earlier.ID[:]); err != nil {
		return err
	}
	if err := c.insert(t); err != nil || c.created {
		return err
	}
	return errors.New("sqlite: the event cannot be stored")
}

// insert inserts the event, unless another one stands in its way.
func (c *creation) insert(t *file.Tx) error {
	statement, args := insertEvent, c.args
	if set := len(args) - unsetCount; !slices.ContainsFunc(args[set:], func(a any) bool { return a != nil }) {
		statement, args = insertNewEvent, args[:set]
	}
	changed, err := t.Exec(statement, args...)
	if c.created = changed == 1; err == nil && c.created && c.body != nil {
		_, err = t.Exec(insertBody, c.body...)
	}
	if c.created {
		keep(t, c.new)
	}
	return err
}

// readEvent reads one event in the transaction.
func readEvent(t *file.Tx, e *trigger.Event, query string, args ...any) (found bool, err error) {
	err = t.Query(query, args, func(r *file.Row) error {
		found = true
		return scanEvent(r, e)
	})
	return found, err
}

// Event implements [trigger.Store].
func (t *Store) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	var e trigger.Event
	found := false
	err := t.db.Find(ctx, org, eventByID, []any{id[:]}, func(r *file.Row) error {
		found = true
		return scanEvent(r, &e)
	})
	if err == nil && (!found || e.Organization != org) {
		err = mortise.ErrNotFound
	}
	if err != nil {
		return trigger.Event{}, err
	}
	return e, nil
}

// CreateEventAndAdd implements [trigger.TxStore].
func (t *Store) CreateEventAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j mortise.Job) (trigger.Event, bool, error) {
	c, err := newCreation(&e, keySince)
	if err != nil {
		return trigger.Event{}, false, err
	}
	n := jobs.NewJobOf(&j)
	err = t.db.Bring(ctx, e.Organization, func(tx *file.Tx) error {
		if err := c.do(tx); err != nil || !c.created {
			return err
		}
		return t.jobs.AddIn(tx, n)
	})
	if err != nil {
		return trigger.Event{}, false, err
	}
	return c.result(&e)
}

// UpdateEvent implements [trigger.Store].
func (t *Store) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	return t.db.Write(ctx, func(tx *file.Tx) error { return updateEvent(tx, org, id, update) })
}

// UpdateEventAndJobs implements [trigger.TxStore].
func (t *Store) UpdateEventAndJobs(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) ([]mortise.Job, error), l mortise.Lease, dead bool,
) error {
	return t.db.Write(ctx, func(tx *file.Tx) error {
		var added []*jobs.NewJob
		err := updateEvent(tx, org, id, func(e *trigger.Event) error {
			list, err := update(e)
			added = nil
			for i := range list {
				added = append(added, jobs.NewJobOf(&list[i]))
			}
			return err
		})
		if err != nil {
			return err
		}
		if l.Token != uuid.Nil {
			if _, err := t.jobs.EndIn(tx, &l, dead); err != nil {
				return err
			}
		}
		for _, j := range added {
			if err := t.jobs.AddIn(tx, j); err != nil {
				return err
			}
		}
		return nil
	})
}

func updateEvent(t *file.Tx, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	if deleted, err := triggerDeleted(t, org); err != nil {
		return err
	} else if deleted {
		return mortise.ErrNotFound
	}
	if known := recentOf(t).take(id); known != nil && known.event.Organization == org {
		if done, err := changeEvent(t, known, true, update); done || err != nil {
			return err
		}
	}
	stored := versionedEvent{version: -1}
	err := t.Query(eventAnyID, []any{id[:]}, func(r *file.Row) error {
		stored.version = r.Number(versionField)
		return scanEvent(r, &stored.event)
	})
	if err != nil {
		return err
	}
	if stored.version < 0 || stored.event.Organization != org {
		return mortise.ErrNotFound
	}
	_, err = changeEvent(t, &stored, false, update)
	return err
}

// changeEvent calls update and writes what it has changed. If perhaps is true, the row may
// have changed since from was kept: if it has, done is false, and nothing is written.
func changeEvent(t *file.Tx, from *versionedEvent, perhaps bool, update func(*trigger.Event) error) (done bool, err error) {
	var progress progressUpdate
	var content, body []any
	var next *versionedEvent
	same := true
	err = t.Host(func() error {
		changed := from.event.Clone()
		if err := update(&changed); err != nil {
			return err
		}
		changed.ID, changed.Organization, changed.SubmittedAt = from.event.ID, from.event.Organization, from.event.SubmittedAt
		if same = sameContent(&from.event, &changed); !same {
			content, body = appendContent(nil, &changed), bodyArgs(&changed)
		} else {
			next = from.next(&changed)
		}
		return progress.compare(&from.event, &changed)
	})
	if t.CutOff(err) {
		return false, err
	}
	if perhaps && (err != nil || !same || progress.args == nil) {
		// No condition of an UPDATE says whether it is the same row.
		if found, err := eventVersion(t, from.event.ID); err != nil || found != from.version {
			return false, err
		}
	}
	if err != nil {
		return false, err
	}
	id, version := from.event.ID[:], from.version
	if !same {
		version++
		if _, err := t.Exec(updateContent, append(content, id)...); err != nil {
			return false, err
		}
		if _, err := t.Exec(removeBody, id); err != nil {
			return false, err
		}
		if body != nil {
			if _, err := t.Exec(insertBody, body...); err != nil {
				return false, err
			}
		}
	}
	if progress.args == nil {
		return true, nil
	}
	n, err := t.Exec(progress.statement, append(progress.args, id, version)...)
	if n == 0 && !perhaps && err == nil {
		err = errors.New("sqlite: the event that was read a moment ago is not there")
	}
	if n > 0 && same {
		keep(t, next)
	}
	return n > 0, err
}

// eventVersion returns the version of an event's row, -1 if there is none.
func eventVersion(t *file.Tx, id uuid.UUID) (version int, err error) {
	version = -1
	err = t.Query(versionOfEvent, []any{id[:]}, func(r *file.Row) error {
		version = r.Number(0)
		return nil
	})
	return version, err
}

// progressUpdate writes those of progressParts that have changed, and progressAlways.
type progressUpdate struct {
	statement string // behind its arguments are an ID and a version
	args      []any  // nil: nothing has changed
}

// An UPDATE renews the indexes of every column that it names. So a column of an index is
// named only if it has changed, and so are what may be long. The others cost nothing: the
// row is written anew as a whole.
var (
	progressNames  = strings.Split(progressColumns, ", ")
	progressAlways = []int{1, 3, 6}                                      // attempts, generation, started_at
	progressParts  = [...][]int{{0}, {4}, {5}, {7}, {2, 8, 9}, {10, 11}} // the places of columns that are named together

	progressStatements = newProgressStatements() // by the set of progressParts that they write
)

func newProgressStatements() (statements [1 << len(progressParts)]string) {
	for set := range statements {
		columns := progressAlways
		for i, part := range progressParts {
			if set>>i&1 == 1 {
				columns = slices.Concat(columns, part)
			}
		}
		var b strings.Builder
		for _, c := range columns {
			b.WriteString(progressNames[c] + " = ?, ")
		}
		statements[set] = "UPDATE trigger_events SET " + b.String() + "version = version + 1 WHERE id = ? AND version = ?"
	}
	return statements
}

// compare finds what has changed.
func (u *progressUpdate) compare(kept, changed *trigger.Event) error {
	var old, new [progressCount]any
	before, err := appendProgress(old[:0], kept)
	if err != nil {
		return err
	}
	after, err := appendProgress(new[:0], changed)
	if err != nil || slices.EqualFunc(before, after, sameValue) {
		return err
	}
	set := 0
	u.args = make([]any, 0, progressCount+2)
	for _, c := range progressAlways {
		u.args = append(u.args, after[c])
	}
	for i, part := range progressParts {
		if slices.ContainsFunc(part, func(c int) bool { return !sameValue(before[c], after[c]) }) {
			set |= 1 << i
			for _, c := range part {
				u.args = append(u.args, after[c])
			}
		}
	}
	u.statement = progressStatements[set]
	return nil
}

// progressOfEvents is for an idList.
const progressOfEvents = "SELECT trigger_events.id, status, generation FROM json_each(?)" +
	" CROSS JOIN trigger_events ON trigger_events.id = unhex(value) WHERE " + eventNotDeleted

// Progress implements [trigger.Store].
func (t *Store) Progress(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]trigger.Progress, error) {
	found := make(map[uuid.UUID]trigger.Progress, len(ids))
	err := t.db.Find(ctx, file.NoOrg, progressOfEvents, []any{idList(ids)}, func(r *file.Row) error {
		var id uuid.UUID
		r.Blob(0, id[:])
		status, err := statusOf(r, 1)
		found[id] = trigger.Progress{Status: status, Generation: r.Number(2)}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

var overdueEvents = "SELECT " + eventFields("trigger_events") + " FROM trigger_events WHERE wake_at < ?" +
	" AND " + eventNotDeleted + " ORDER BY wake_at LIMIT 0 + ?"

// Overdue implements [trigger.Store].
func (t *Store) Overdue(ctx context.Context, before time.Time, limit int) (events []trigger.Event, err error) {
	err = t.db.List(ctx, file.NoOrg, overdueEvents, []any{file.CeilMicros(before), max(limit, 0)}, func(r *file.Row) error {
		var e trigger.Event
		err := scanEvent(r, &e)
		events = append(events, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// pruning removes events of a kind, and their dead jobs. Both statements are for a status, a
// time and a limit.
type pruning struct{ jobs, events string }

var (
	pruneUnkeyed = newPruning("idempotency_key IS NULL")
	pruneKeyed   = newPruning("idempotency_key IS NOT NULL")
)

func newPruning(kind string) *pruning {
	pruned := "SELECT id FROM trigger_events WHERE status = ? AND finished_at < ? AND wake_at IS NULL AND " + kind +
		" ORDER BY finished_at, id LIMIT 0 + ?"
	return &pruning{
		// The jobs of an event are neighbours: '.' follows '-'.
		jobs: "DELETE FROM mortise_jobs WHERE seq IN (SELECT j.seq FROM (SELECT " + idText + " AS event FROM (" + pruned + "))" +
			" CROSS JOIN mortise_jobs AS j INDEXED BY mortise_jobs_id ON j.id > event || '-' AND j.id < event || '.' AND j.kind = '" + trigger.JobKind + "' AND j.dead = 1)",
		events: "DELETE FROM trigger_events WHERE id IN (" + pruned + ")",
	}
}

const idText = "lower(substr(hex(id),1,8)||'-'||substr(hex(id),9,4)||'-'||substr(hex(id),13,4)||'-'||substr(hex(id),17,4)||'-'||substr(hex(id),21))"

// Prune implements [trigger.Pruner].
func (t *Store) Prune(
	ctx context.Context, status trigger.Status, before, keyedBefore time.Time, limit int,
) (n int, more bool, err error) {
	number := -1 // which no event has
	if status.Finished() {
		number = slices.Index(statuses[:], status)
	}
	limit = min(limit, file.PruneStep)
	removed := 0
	err = t.db.Write(ctx, func(tx *file.Tx) (err error) {
		if removed, err = pruneEvents(tx, pruneUnkeyed, number, before, limit); err != nil || removed == limit {
			return err
		}
		keyed, err := pruneEvents(tx, pruneKeyed, number, keyedBefore, limit-removed)
		removed += keyed
		return err
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	return removed, removed == limit, nil
}

func pruneEvents(t *file.Tx, p *pruning, status int, before time.Time, limit int) (removed int, err error) {
	if _, err = t.Exec(p.jobs, status, file.CeilMicros(before), limit); err != nil {
		return 0, err
	}
	n, err := t.Exec(p.events, status, file.CeilMicros(before), limit)
	return int(n), err
}
