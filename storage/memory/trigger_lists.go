package memory

import (
	"context"

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
