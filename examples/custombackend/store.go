package custombackend

import (
	"cmp"
	"context"
	"errors"
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

// UpdateEventAndRemove implements [trigger.TxStore].
func (f *File) UpdateEventAndRemove(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error, l mortise.Lease, dead bool,
) error {
	return f.update(ctx, org, id, update, func() record {
		j, held := f.heldRow(l)
		if !held {
			return record{}
		}
		return removal(j, dead)
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
	if err := ctx.Err(); err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	// The cursor of a page is the position of the last event before it.
	var after mortise.Position
	if q.After != "" {
		var err error
		if after, err = q.After.Position(); err != nil {
			return mortise.Page[trigger.Event]{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var page mortise.Page[trigger.Event]
	for _, e := range f.events {
		if e.Organization == org && !f.isDeleted(org) && q.Matches(&e) && (q.After == "" || e.Position().Compare(after) < 0) {
			page.Items = append(page.Items, e.Clone())
		}
	}
	slices.SortFunc(page.Items, func(a, b trigger.Event) int { return b.Position().Compare(a.Position()) })
	size := 0
	for i := range page.Items {
		size += page.Items[i].Size()
		if full := i+1 == q.Limit || q.Bytes > 0 && size >= q.Bytes; full && i+1 < len(page.Items) {
			page.Items, page.Next = page.Items[:i+1], page.Items[i].Position().Cursor()
			break
		}
	}
	return page, nil
}

// Unqueued implements [trigger.Store].
func (f *File) Unqueued(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []trigger.Event
	for _, e := range f.events {
		if e.Status == trigger.StatusReceived && !e.UnqueuedSince.IsZero() && e.UnqueuedSince.Before(before) &&
			!f.isDeleted(e.Organization) {
			found = append(found, e.Clone())
		}
	}
	slices.SortFunc(found, func(a, b trigger.Event) int {
		return cmp.Or(a.UnqueuedSince.Compare(b.UnqueuedSince), a.Position().Compare(b.Position()))
	})
	return found[:min(limit, len(found))], nil
}

// Stale implements [trigger.Unfinished].
func (f *File) Stale(ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []trigger.Event
	for _, e := range f.events {
		if !e.Status.Finished() && e.UnqueuedSince.IsZero() && e.CheckedAt.Before(checked) &&
			(due.IsZero() || e.DueAt.Before(due)) && !f.isDeleted(e.Organization) {
			found = append(found, e.Clone())
		}
	}
	slices.SortFunc(found, func(a, b trigger.Event) int { return a.CheckedAt.Compare(b.CheckedAt) })
	return found[:min(limit, len(found))], nil
}

// Counts implements [trigger.Counter].
func (f *File) Counts(ctx context.Context, org string, most int) (counts trigger.Counts, err error) {
	err = f.count(ctx, most, map[trigger.Status]*mortise.Count{
		trigger.StatusReceived: &counts.Waiting, trigger.StatusProcessing: &counts.Running,
		trigger.StatusCompleted: &counts.Completed, trigger.StatusFailed: &counts.Failed,
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
