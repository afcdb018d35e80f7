package triggertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// list returns the one page that holds all of the query's events.
func (s *subject) list(t *testing.T, org string, q trigger.EventQuery) []trigger.Event {
	t.Helper()
	q.Limit = mortise.MaxPageSize
	page, err := s.Store.ListEvents(t.Context(), org, q)
	require.NoError(t, err)
	require.Empty(t, page.Next, "Next is set after the last page")
	return page.Items
}

// listRules say which events ListEvents returns; listtest has the rules of their order.
var listRules = []rule{
	{Rule{"store/list-returns-whole-events", "ListEvents returns events with every field, and copies."}, needStore,
		func(t *testing.T, s *subject) {
			want := filledEvent(orgA)
			s.create(t, want.Clone())
			events := s.list(t, orgA, trigger.EventQuery{})
			require.Len(t, events, 1, "events of an organization that has one")
			sameEvent(t, want, events[0])
			spoil(&events[0])
			sameEvent(t, want, s.get(t, want))
			byKey := s.list(t, orgA, trigger.EventQuery{IdempotencyKey: want.IdempotencyKey})
			require.Len(t, byKey, 1, "events with the key")
			sameEvent(t, want, byKey[0])
			spoil(&byKey[0])
			sameEvent(t, want, s.get(t, want))
		}},

	{Rule{"store/list-by-status", "Query.Status selects the events in that state, as they are now."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			s.create(t, plainEvent(orgA, time.Hour))
			for _, status := range trigger.Statuses()[1:] {
				s.update(t, e, func(e *trigger.Event) { e.Status = status })
				inOrder(t, []uuid.UUID{e.ID}, ids(s.list(t, orgA, trigger.EventQuery{Status: status})),
					"events that are %s", status)
				require.Len(t, s.list(t, orgA, trigger.EventQuery{Status: trigger.StatusReceived}), 1,
					"events that are received, besides a %s one", status)
				require.Len(t, s.list(t, orgA, trigger.EventQuery{}), 2, "events of any status")
			}
		}},

	{Rule{"store/list-by-source", "Query.Source selects the events of that source, byte for byte."}, needStore,
		func(t *testing.T, s *subject) {
			events := make(map[string]trigger.Event)
			for _, source := range exactNames {
				e := plainEvent(orgA, 0)
				e.Source = source
				events[source] = s.create(t, e)
			}
			for _, source := range exactNames {
				found := s.list(t, orgA, trigger.EventQuery{Source: source})
				inOrder(t, []uuid.UUID{events[source].ID}, ids(found), "events of source %q", source)
			}
		}},

	{Rule{"store/list-by-key", "Query.IdempotencyKey selects the event that has the key now, if After is younger."}, needStore,
		func(t *testing.T, s *subject) {
			s.create(t, plainEvent(orgA, 0))
			s.create(t, keyedEvent(orgB, "key", 0))
			e := s.create(t, keyedEvent(orgA, "key", 0))
			inOrder(t, []uuid.UUID{e.ID}, ids(s.list(t, orgA, trigger.EventQuery{IdempotencyKey: "key"})),
				"events with the key")
			for after, want := range map[time.Duration]int{time.Hour: 1, 0: 0, -time.Hour: 0} {
				cursor := mortise.Position{At: e.SubmittedAt.Add(after), ID: e.Position().ID}.Cursor()
				require.Len(t, s.list(t, orgA, trigger.EventQuery{IdempotencyKey: "key", After: cursor}), want, "events with the key, behind one that is %v younger", after)
			}
			at := trigger.EventQuery{IdempotencyKey: "key", From: moment(0)}
			inOrder(t, []uuid.UUID{e.ID}, ids(s.list(t, orgA, at)),
				"events with the key, from their time on")
			at.From = moment(time.Microsecond)
			require.Empty(t, s.list(t, orgA, at), "events with the key, from a microsecond later on")
			s.update(t, e, func(e *trigger.Event) { e.IdempotencyKey = "" })
			require.Empty(t, s.list(t, orgA, trigger.EventQuery{IdempotencyKey: "key"}),
				"events with the key after an UpdateEvent released it")
		}},

	{Rule{"store/list-from-to", "Query.From selects what was submitted at or after it, Query.To what was submitted before it."}, needStore,
		func(t *testing.T, s *subject) {
			var events []trigger.Event
			for i := range 5 {
				events = append(events, s.create(t, plainEvent(orgA, time.Duration(i)*time.Microsecond)))
			}
			for from := range 6 {
				for to := range 6 {
					got := s.list(t, orgA, trigger.EventQuery{From: moment(time.Duration(from) * time.Microsecond), To: moment(time.Duration(to) * time.Microsecond)})
					var want []trigger.Event
					if from < to {
						want = slices.Clone(events[from:to])
						slices.Reverse(want)
					}
					inOrder(t, ids(want), ids(got), "events from %d to %d microseconds", from, to)
				}
			}
		}},

	{Rule{"store/list-times-are-instants", "Times of a query are instants: it does not matter in which location they are given."}, needStore,
		func(t *testing.T, s *subject) {
			var events []trigger.Event
			for i := range 3 {
				events = append(events, s.create(t, plainEvent(orgA, time.Duration(i)*time.Hour)))
			}
			for _, zone := range []*time.Location{time.FixedZone("east", 9*3600), time.FixedZone("west", -7*3600)} {
				q := trigger.EventQuery{From: events[1].SubmittedAt.In(zone), To: events[2].SubmittedAt.In(zone)}
				inOrder(t, []uuid.UUID{events[1].ID}, ids(s.list(t, orgA, q)),
					"the second event by From and To, in time zone %s", zone)
			}
		}},

	{Rule{"store/list-matches-query", "ListEvents returns exactly the events that EventQuery.Matches selects, whatever is combined."}, needStore,
		func(t *testing.T, s *subject) {
			random := rand.New(rand.NewPCG(7, 11))
			events := randomEvents(random, 100)
			for _, e := range events {
				s.create(t, e)
			}
			for range 150 {
				org, q := randomQuery(random, events)
				inOrder(t, ids(selected(events, org, q)), ids(s.pages(t, org, q)),
					"events of %s by %+v", org, q)
			}
		}},
}

// randomEvents returns events with few different times, states, sources and keys, so that
// queries find and miss some.
func randomEvents(random *rand.Rand, n int) []trigger.Event {
	events := make([]trigger.Event, 0, n)
	for i := range n {
		e := plainEvent([]string{orgA, orgB, "org-c"}[random.IntN(3)], time.Duration(random.IntN(n/3))*time.Microsecond)
		for j := range e.ID {
			e.ID[j] = byte(random.Uint32())
		}
		e.Status = trigger.Statuses()[random.IntN(6)]
		e.Source = []string{"api", "nightly", "person"}[random.IntN(3)]
		if random.IntN(2) == 0 {
			e.IdempotencyKey = fmt.Sprintf("key-%d", i)
		}
		events = append(events, e)
	}
	return events
}

// randomQuery returns a query that has each of its fields set now and then.
func randomQuery(random *rand.Rand, events []trigger.Event) (string, trigger.EventQuery) {
	some := func() *trigger.Event { return &events[random.IntN(len(events))] }
	sometimes := func(f func()) {
		if random.IntN(3) == 0 {
			f()
		}
	}
	q := trigger.EventQuery{Limit: 1 + random.IntN(20)}
	sometimes(func() { q.Status = some().Status })
	sometimes(func() { q.Source = some().Source })
	sometimes(func() { q.From = some().SubmittedAt })
	sometimes(func() { q.To = some().SubmittedAt })
	if random.IntN(10) == 0 {
		q.IdempotencyKey = some().IdempotencyKey
	}
	return some().Organization, q
}

// selected is what ListEvents must return for q, without its Limit.
func selected(events []trigger.Event, org string, q trigger.EventQuery) []trigger.Event {
	var found []trigger.Event
	for i := range events {
		if events[i].Organization == org && q.Matches(&events[i]) {
			found = append(found, events[i])
		}
	}
	slices.SortFunc(found, func(a, b trigger.Event) int { return b.Position().Compare(a.Position()) })
	return found
}
