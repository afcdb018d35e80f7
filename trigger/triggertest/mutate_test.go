package triggertest_test

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// everyEvent applies change to all events that the mutant's store returns.
func (m *mutant) everyEvent(change func(*trigger.Event)) {
	m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
		stored, created, err := m.Trigger.CreateEvent(ctx, e, since)
		change(&stored)
		return stored, created, err
	}
	m.get = func(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
		e, err := m.Trigger.Event(ctx, org, id)
		change(&e)
		return e, err
	}
	m.list = func(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
		page, err := m.Trigger.ListEvents(ctx, org, q)
		for i := range page.Items {
			change(&page.Items[i])
		}
		return page, err
	}
}

// everyPage applies change to all pages that the mutant's ListEvents returns.
func (m *mutant) everyPage(change func(*trigger.EventQuery, *mortise.Page[trigger.Event])) {
	m.list = func(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
		page, err := m.Trigger.ListEvents(ctx, org, q)
		change(&q, &page)
		return page, err
	}
}

// everyQuery applies change to all queries that the mutant's ListEvents is asked.
func (m *mutant) everyQuery(change func(*string, *trigger.EventQuery)) {
	m.list = func(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
		change(&org, &q)
		return m.Trigger.ListEvents(ctx, org, q)
	}
}

// reversed returns the events in the opposite order.
func reversed(events []trigger.Event) []trigger.Event {
	events = slices.Clone(events)
	slices.Reverse(events)
	return events
}
