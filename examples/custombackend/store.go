package custombackend

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

var (
	_ trigger.Store   = (*File)(nil)
	_ trigger.TxStore = (*File)(nil)
)

// CreateEvent implements [trigger.Store].
func (f *File) CreateEvent(ctx context.Context, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	return f.create(ctx, e, keySince)
}

// CreateEventAndAdd implements [trigger.TxStore].
func (f *File) CreateEventAndAdd(
	ctx context.Context, e trigger.Event, keySince time.Time, j mortise.Job,
) (trigger.Event, bool, error) {
	return f.create(ctx, e, keySince, j)
}

// create writes the event and its jobs in one record.
func (f *File) create(
	ctx context.Context, e trigger.Event, keySince time.Time, jobs ...mortise.Job,
) (trigger.Event, bool, error) {
	if err := ctx.Err(); err != nil {
		return trigger.Event{}, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isDeleted(e.Organization) {
		return trigger.Event{}, false, mortise.ErrDeleted
	}
	var r record
	for _, other := range f.events {
		switch {
		case other.ID == e.ID && other.Organization != e.Organization:
			return trigger.Event{}, false, errIDTaken
		case other.ID == e.ID:
			return other.Clone(), false, nil
		case sameKey(other, e):
			r.Events = append(r.Events, other)
		}
	}
	for i, earlier := range r.Events { // there is one at most
		if !earlier.SubmittedAt.Before(keySince) {
			return earlier.Clone(), false, nil
		}
		r.Events[i].IdempotencyKey = ""
	}
	r.Events = append(r.Events, e.Clone())
	for _, j := range jobs {
		r.Jobs = append(r.Jobs, f.newRows(j)...)
	}
	if err := f.commit(r); err != nil {
		return trigger.Event{}, false, err
	}
	return e.Clone(), true, nil
}

// CreateEvents implements [trigger.Store].
func (f *File) CreateEvents(ctx context.Context, events []trigger.Event, jobs []mortise.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var r record
	for _, e := range events {
		if f.isDeleted(e.Organization) {
			return mortise.ErrDeleted
		}
		taken := func(other trigger.Event) bool { return other.ID == e.ID || sameKey(other, e) }
		if slices.ContainsFunc(r.Events, taken) || slices.ContainsFunc(slices.Collect(maps.Values(f.events)), taken) {
			return errors.New("an event has this ID or this idempotency key")
		}
		r.Events = append(r.Events, e.Clone())
	}
	r.add(f, jobs)
	return f.commit(r)
}

// add adds the rows of new jobs.
func (r *record) add(f *File, jobs []mortise.Job) {
	for _, j := range jobs {
		for _, row := range f.newRows(j) {
			row.Seq += uint64(len(r.Jobs))
			r.Jobs = append(r.Jobs, row)
		}
	}
}

// The failures of an ID and of a key that another event has.
var (
	errIDTaken  = errors.New("another organization has an event with this ID")
	errKeyTaken = errors.New("another event has this idempotency key")
)

func sameKey(a, b trigger.Event) bool {
	return a.IdempotencyKey != "" && a.IdempotencyKey == b.IdempotencyKey &&
		a.Organization == b.Organization
}

// find returns an event. The caller holds mu.
func (f *File) find(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	if err := ctx.Err(); err != nil {
		return trigger.Event{}, err
	}
	if e, ok := f.events[eventKey{org, id}]; ok && !f.isDeleted(org) {
		return e.Clone(), nil
	}
	return trigger.Event{}, mortise.ErrNotFound
}

// Event implements [trigger.Store].
func (f *File) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.find(ctx, org, id)
}

// UpdateEvent implements [trigger.Store].
func (f *File) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	return f.update(ctx, org, id, update, func() record { return record{} })
}

// UpdateEventAndJobs implements [trigger.TxStore].
func (f *File) UpdateEventAndJobs(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) ([]mortise.Job, error), l mortise.Lease, dead bool,
) error {
	var jobs []mortise.Job
	return f.update(ctx, org, id, func(e *trigger.Event) (err error) {
		jobs, err = update(e)
		return err
	}, func() (r record) {
		if j, held := f.heldRow(l); held {
			r = removal(j, dead)
		}
		r.add(f, jobs)
		return r
	})
}

// update writes the changed event and what else there is in one record.
func (f *File) update(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error, more func() record,
) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept, err := f.find(ctx, org, id)
	if err != nil {
		return err
	}
	changed := kept.Clone()
	if err := update(&changed); err != nil {
		return err
	}
	changed.ID, changed.Organization, changed.SubmittedAt = kept.ID, kept.Organization, kept.SubmittedAt
	for _, other := range f.events {
		if other.ID != id && sameKey(other, changed) {
			return errKeyTaken
		}
	}
	r := more()
	r.Events = []trigger.Event{changed.Clone()}
	return f.commit(r)
}

// ListEvents implements [trigger.Store].
func (f *File) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	return f.list(ctx, list{after: q.After, limit: q.Limit, bytes: q.Bytes, newestFirst: true,
		has: func(e *trigger.Event) bool { return e.Organization == org && q.Matches(e) }, at: (*trigger.Event).Position})
}

// AllEvents implements [trigger.Store].
func (f *File) AllEvents(ctx context.Context, q trigger.AllQuery) (mortise.Page[trigger.Event], error) {
	return f.list(ctx, list{after: q.After, limit: q.Limit, bytes: q.Bytes, newestFirst: q.Status.Finished(), has: q.Matches, at: q.Position})
}

// list is a list of events: has says which, and at in which order.
type list struct {
	after        mortise.Cursor
	limit, bytes int
	newestFirst  bool
	has          func(*trigger.Event) bool
	at           func(*trigger.Event) mortise.Position
}

func (f *File) list(ctx context.Context, l list) (page mortise.Page[trigger.Event], err error) {
	if err := ctx.Err(); err != nil {
		return page, err
	}
	// The cursor of a page is the position of the last event before it.
	var after mortise.Position
	if l.after != "" {
		if after, err = l.after.Position(); err != nil {
			return page, err
		}
	}
	compare := func(a, b mortise.Position) int {
		if l.newestFirst {
			a, b = b, a
		}
		return a.Compare(b)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if l.has(&e) && !f.isDeleted(e.Organization) && (l.after == "" || compare(l.at(&e), after) > 0) {
			page.Items = append(page.Items, e.Clone())
		}
	}
	slices.SortFunc(page.Items, func(a, b trigger.Event) int { return compare(l.at(&a), l.at(&b)) })
	size := 0
	for i := range page.Items {
		size += page.Items[i].Size()
		if full := i+1 == l.limit || l.bytes > 0 && size >= l.bytes; full && i+1 < len(page.Items) {
			page.Items, page.Next = page.Items[:i+1], l.at(&page.Items[i]).Cursor()
			break
		}
	}
	return page, nil
}

// Progress implements [trigger.Store].
func (f *File) Progress(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]trigger.Progress, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found := make(map[uuid.UUID]trigger.Progress)
	for _, e := range f.events {
		if slices.Contains(ids, e.ID) && !f.isDeleted(e.Organization) {
			found[e.ID] = trigger.Progress{Status: e.Status, Generation: e.Generation}
		}
	}
	return found, nil
}

// Overdue implements [trigger.Store].
func (f *File) Overdue(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []trigger.Event
	for _, e := range f.events {
		if !e.WakeAt.IsZero() && e.WakeAt.Before(before) && !f.isDeleted(e.Organization) {
			found = append(found, e.Clone())
		}
	}
	slices.SortFunc(found, func(a, b trigger.Event) int { return a.WakeAt.Compare(b.WakeAt) })
	return found[:min(limit, len(found))], nil
}

// Counts implements [trigger.Counter].
func (f *File) Counts(ctx context.Context, org string, most int) (counts trigger.Counts, err error) {
	err = f.count(ctx, most, map[trigger.Status]*mortise.Count{
		trigger.StatusReceived: &counts.Waiting, trigger.StatusProcessing: &counts.Running,
		trigger.StatusCompleted: &counts.Completed, trigger.StatusFailed: &counts.Failed, trigger.StatusCancelled: &counts.Cancelled,
	}, func(e *trigger.Event) bool { return e.Organization == org })
	return counts, err
}

// Backlog implements [trigger.Counter].
func (f *File) Backlog(ctx context.Context, most int) (backlog mortise.Backlog, err error) {
	err = f.count(ctx, most, map[trigger.Status]*mortise.Count{
		trigger.StatusReceived: &backlog.Waiting, trigger.StatusProcessing: &backlog.Running,
		trigger.StatusFailed: &backlog.Failed,
	}, func(e *trigger.Event) bool {
		first := backlog.NextDue.IsZero() || e.DueAt.Before(backlog.NextDue)
		if first && e.Status == trigger.StatusReceived && !e.DueAt.IsZero() {
			backlog.NextDue = e.DueAt
		}
		return true
	})
	return backlog, err
}

// count counts the events that are asked for by their status.
func (f *File) count(
	ctx context.Context, most int, counts map[trigger.Status]*mortise.Count, asked func(*trigger.Event) bool,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := make(map[trigger.Status]int)
	for _, e := range f.events {
		if !f.isDeleted(e.Organization) && asked(&e) {
			n[e.Status]++
		}
	}
	for status, count := range counts {
		*count = mortise.CountUpTo(n[status], most)
	}
	return nil
}
