package memory

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// CreateEvent implements [trigger.Store].
func (t *Trigger) CreateEvent(ctx context.Context, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	db, err := t.db.write(ctx)
	if err != nil {
		return trigger.Event{}, false, err
	}
	defer db.end()
	return db.trigger.create(e, keySince)
}

// The failures of an ID and of a key that another event has.
var (
	errIDTaken  = errors.New("memory: another organization has an event with this ID")
	errKeyTaken = errors.New("memory: another event has this idempotency key")
)

// CreateEventAndAdd implements [trigger.TxStore].
func (t *Trigger) CreateEventAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j mortise.Job) (trigger.Event, bool, error) {
	db, err := t.db.write(ctx)
	if err != nil {
		return trigger.Event{}, false, err
	}
	defer db.end()
	stored, created, err := db.trigger.create(e, keySince)
	if created {
		db.addJob(j)
	}
	return stored, created, err
}

func (t *triggerTables) create(e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	if t.isDeleted(e.Organization) {
		return trigger.Event{}, false, mortise.ErrDeleted
	}
	if org, ok := t.ids[e.ID]; ok && org != e.Organization {
		return trigger.Event{}, false, errIDTaken
	}
	org := t.org(e.Organization)
	if earlier, ok := org.events[e.ID]; ok {
		return earlier.Clone(), false, nil
	}
	if id, ok := org.byKey[e.IdempotencyKey]; ok {
		earlier := org.events[id]
		if !earlier.SubmittedAt.Before(keySince) {
			return earlier.Clone(), false, nil
		}
		earlier.IdempotencyKey = ""
		delete(org.byKey, e.IdempotencyKey)
	}
	kept := e.Clone()
	at := sort.Search(len(org.order), func(i int) bool { return org.order[i].Position().Compare(kept.Position()) > 0 })
	org.order = slices.Insert(org.order, at, &kept)
	t.index(org, &kept)
	return kept.Clone(), true, nil
}

// index enters an event where its fields say.
func (t *triggerTables) index(org *triggerOrg, e *trigger.Event) {
	org.events[e.ID] = e
	t.ids[e.ID] = e.Organization
	if e.IdempotencyKey != "" {
		org.byKey[e.IdempotencyKey] = e.ID
	}
	if e.Status == trigger.StatusReceived && !e.UnqueuedSince.IsZero() {
		t.unqueued[e.ID] = e
	}
}

// unindex undoes index.
func (t *triggerTables) unindex(org *triggerOrg, e *trigger.Event) {
	delete(org.events, e.ID)
	delete(t.ids, e.ID)
	delete(t.unqueued, e.ID)
	if org.byKey[e.IdempotencyKey] == e.ID {
		delete(org.byKey, e.IdempotencyKey)
	}
}

// Event implements [trigger.Store].
func (t *Trigger) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return trigger.Event{}, err
	}
	defer db.end()
	if o, ok := db.trigger.live(org); ok {
		if e, ok := o.events[id]; ok {
			return e.Clone(), nil
		}
	}
	return trigger.Event{}, mortise.ErrNotFound
}

// UpdateEvent implements [trigger.Store].
func (t *Trigger) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	return db.trigger.update(org, id, update)
}

// UpdateEventAndRemove implements [trigger.TxStore].
func (t *Trigger) UpdateEventAndRemove(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error, l mortise.Lease, dead bool,
) error {
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	err = db.trigger.update(org, id, update)
	if err == nil {
		db.endJob(l, dead)
	}
	return err
}

func (t *triggerTables) update(org string, id uuid.UUID, update func(*trigger.Event) error) error {
	o, ok := t.live(org)
	if !ok {
		return mortise.ErrNotFound
	}
	kept, ok := o.events[id]
	if !ok {
		return mortise.ErrNotFound
	}
	changed := kept.Clone()
	if err := update(&changed); err != nil {
		return err
	}
	changed.ID, changed.Organization, changed.SubmittedAt = kept.ID, kept.Organization, kept.SubmittedAt
	if other, ok := o.byKey[changed.IdempotencyKey]; ok && other != id {
		return errKeyTaken
	}
	t.unindex(o, kept)
	*kept = changed.Clone() // in place, because order points to it
	t.index(o, kept)
	return nil
}

// Unqueued implements [trigger.Unfinished].
func (t *Trigger) Unqueued(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	var found []*trigger.Event
	for _, e := range db.trigger.unqueued {
		if e.UnqueuedSince.Before(before) && !db.trigger.isDeleted(e.Organization) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *trigger.Event) int {
		if c := a.UnqueuedSince.Compare(b.UnqueuedSince); c != 0 {
			return c
		}
		return a.Position().Compare(b.Position())
	})
	found = found[:min(max(limit, 0), len(found))]
	events := make([]trigger.Event, 0, len(found))
	for _, e := range found {
		events = append(events, e.Clone())
	}
	return events, nil
}

// Stale implements [trigger.Unfinished].
func (t *Trigger) Stale(ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	var found []*trigger.Event
	for org, o := range db.trigger.orgs {
		if db.trigger.isDeleted(org) {
			continue
		}
		for _, e := range o.order {
			if !e.Status.Finished() && e.UnqueuedSince.IsZero() && e.CheckedAt.Before(checked) && (due.IsZero() || e.DueAt.Before(due)) {
				found = append(found, e)
			}
		}
	}
	slices.SortFunc(found, func(a, b *trigger.Event) int { return a.CheckedAt.Compare(b.CheckedAt) })
	found = found[:min(max(limit, 0), len(found))]
	events := make([]trigger.Event, 0, len(found))
	for _, e := range found {
		events = append(events, e.Clone())
	}
	return events, nil
}

// Prune implements [trigger.Pruner].
func (t *Trigger) Prune(ctx context.Context, before, keyedBefore time.Time, limit int) (n int, more bool, err error) {
	db, err := t.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	step := boundedStep{limit: limit}
	for _, o := range db.trigger.orgs {
		o.order = slices.DeleteFunc(o.order, func(e *trigger.Event) bool {
			bound := before
			if e.IdempotencyKey != "" {
				bound = keyedBefore
			}
			if !step.takes(e.Status.Finished() && e.FinishedAt.Before(bound)) {
				return false
			}
			db.trigger.unindex(o, e)
			db.forgetDead(e)
			return true
		})
	}
	return step.n, step.more, nil
}

// forgetDead removes the dead jobs of an event, of all its generations.
func (t *tables) forgetDead(e *trigger.Event) {
	j := *e
	for j.Generation = 0; j.Generation <= e.Generation; j.Generation++ {
		t.jobs.forgetDead(j.Job())
	}
}
