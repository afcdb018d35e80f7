package memory

import (
	"cmp"
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

// CreateEvents implements [trigger.Store].
func (t *Trigger) CreateEvents(ctx context.Context, events []trigger.Event, jobs []mortise.Job) error {
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	keys, ids := make(map[string]bool), make(map[uuid.UUID]bool)
	for i := range events {
		e := &events[i]
		if db.trigger.isDeleted(e.Organization) {
			return mortise.ErrDeleted
		}
		_, keyTaken := db.trigger.org(e.Organization).byKey[e.IdempotencyKey]
		switch _, idTaken := db.trigger.ids[e.ID]; {
		case idTaken || ids[e.ID]:
			return errIDTaken
		case keyTaken || keys[e.IdempotencyKey]:
			return errKeyTaken
		}
		keys[e.IdempotencyKey], ids[e.ID] = e.IdempotencyKey != "", true
	}
	for i := range events {
		if _, _, err := db.trigger.create(events[i], time.Time{}); err != nil {
			return err
		}
	}
	for _, j := range jobs {
		db.addJob(j)
	}
	return nil
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
	if !e.WakeAt.IsZero() {
		t.waking[e.ID] = e
	}
}

// unindex undoes index.
func (t *triggerTables) unindex(org *triggerOrg, e *trigger.Event) {
	delete(org.events, e.ID)
	delete(t.ids, e.ID)
	delete(t.waking, e.ID)
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

// UpdateEventAndJobs implements [trigger.TxStore].
func (t *Trigger) UpdateEventAndJobs(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) ([]mortise.Job, error), l mortise.Lease, dead bool,
) error {
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	var jobs []mortise.Job
	err = db.trigger.update(org, id, func(e *trigger.Event) (err error) {
		jobs, err = update(e)
		return err
	})
	if err != nil {
		return err
	}
	db.endJob(l, dead)
	for _, j := range jobs {
		db.addJob(j)
	}
	return nil
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

// Progress implements [trigger.Store].
func (t *Trigger) Progress(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]trigger.Progress, error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	found := make(map[uuid.UUID]trigger.Progress, len(ids))
	for _, id := range ids {
		if org, ok := db.trigger.live(db.trigger.ids[id]); ok {
			if e, ok := org.events[id]; ok {
				found[id] = trigger.Progress{Status: e.Status, Generation: e.Generation}
			}
		}
	}
	return found, nil
}

// Overdue implements [trigger.Store].
func (t *Trigger) Overdue(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	var found []*trigger.Event
	for _, e := range db.trigger.waking {
		if e.WakeAt.Before(before) && !db.trigger.isDeleted(e.Organization) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *trigger.Event) int {
		return cmp.Or(a.WakeAt.Compare(b.WakeAt), a.Position().Compare(b.Position())) // or a simulation would not be repeatable
	})
	found = found[:min(max(limit, 0), len(found))]
	events := make([]trigger.Event, 0, len(found))
	for _, e := range found {
		events = append(events, e.Clone())
	}
	return events, nil
}

// Prune implements [trigger.Pruner].
func (t *Trigger) Prune(
	ctx context.Context, status trigger.Status, before, keyedBefore time.Time, limit int,
) (n int, more bool, err error) {
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
			if !step.takes(e.Status == status && status.Finished() && e.WakeAt.IsZero() && e.FinishedAt.Before(bound)) {
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
