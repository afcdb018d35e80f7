package memory

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// ListEvents implements [trigger.Store].
func (t *Trigger) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	if q.IdempotencyKey != "" {
		return t.listKey(ctx, org, &q)
	}
	events := func(t *tables) []*trigger.Event {
		if o, ok := t.trigger.live(org); ok {
			return o.order
		}
		return nil
	}
	var page mortise.Page[trigger.Event]
	size, full := 0, false
	err := newestFirst(ctx, t.db, q.After, events, func(e **trigger.Event) mortise.Position { return (*e).Position() },
		func(e **trigger.Event) (more bool) {
			switch {
			case (*e).SubmittedAt.Before(q.From):
				return false
			case !q.Matches(*e):
				return true
			case full:
				page.Next = page.Items[len(page.Items)-1].Position().Cursor()
				return false
			}
			page.Items = append(page.Items, (*e).Clone())
			size += (*e).Size()
			full = len(page.Items) == q.Limit || q.Bytes > 0 && size >= q.Bytes
			return true
		})
	if err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	return page, nil
}

// listKey is List for the one event that can have the key.
func (t *Trigger) listKey(ctx context.Context, org string, q *trigger.EventQuery) (page mortise.Page[trigger.Event], err error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	var events []*trigger.Event
	if o, ok := db.trigger.live(org); ok {
		if id, ok := o.byKey[q.IdempotencyKey]; ok && q.Matches(o.events[id]) {
			events = append(events, o.events[id])
		}
	}
	return latest(events, q.After, q.Limit, func(*trigger.Event) bool { return true }, (*trigger.Event).Clone)
}

// AllEvents implements [trigger.Store].
func (t *Trigger) AllEvents(ctx context.Context, q trigger.AllQuery) (page mortise.Page[trigger.Event], err error) {
	from, err := position(q.After)
	if err != nil {
		return page, err
	}
	db, err := t.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	compare := func(a, b mortise.Position) int {
		if q.Status.Finished() {
			a, b = b, a
		}
		return a.Compare(b)
	}
	var found []*trigger.Event
	for org, o := range db.trigger.orgs {
		if db.trigger.isDeleted(org) {
			continue
		}
		for _, e := range o.order {
			if q.Matches(e) && (from == nil || compare(q.Position(e), *from) > 0) {
				found = append(found, e)
			}
		}
	}
	slices.SortFunc(found, func(a, b *trigger.Event) int { return compare(q.Position(a), q.Position(b)) })
	size := 0
	for i, e := range found {
		page.Items = append(page.Items, e.Clone())
		size += e.Size()
		if full := i+1 == q.Limit || q.Bytes > 0 && size >= q.Bytes; full && i+1 < len(found) {
			page.Next = q.Position(e).Cursor()
			break
		}
	}
	return page, nil
}
