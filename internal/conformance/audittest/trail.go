// Package audittest proves audit trails: that of the vault and that of authmgmt, which
// keep the same promises about events of their own. A suite says in [Events] what its
// events are, and has the rules of every trail, with the same ids in both suites;
// [Mutants] break them. What only one of the trails promises stays in its suite.
package audittest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
)

// Event is what an event of every trail says.
type Event struct {
	ID                 uuid.UUID
	Organization       string
	At                 time.Time
	Kind, Actor, About string // About is a vault, or what authmgmt calls the target
}

// Query selects events of every trail, as the AuditQuery of a domain does.
type Query struct {
	Kind, Actor, About string
	From, To           time.Time
	After              mortise.Cursor
	Limit              int
}

// whole is a Limit that shows a whole trail of a suite: MaxPageSize of both domains.
const whole = 1000

// Everything selects all events of a suite's trail.
var Everything = Query{Limit: whole}

// Events says what the events E of a domain are.
type Events[E any] struct {
	About string // the field that Event.About stands for: "Vault"
	JSON  string // what of an event is stored as JSON: "snapshots"

	New     func(Event) E                   // says this, and no more
	Say     func(*E) Event                  // is the reverse
	Fill    func(e *E, text string)         // sets what New does not: with the text, and with the time of e
	Clone   func(*E) E                      // shares nothing with e
	Spoil   func(*E)                        // changes everything that a shallow copy shares
	Same    func(t *testing.T, want, got E) // compares all fields
	Matches func(Query, *E) bool            // what the domain says of its AuditQuery
}

// List reads a trail, as ListAuditEvents does.
type List[E any] func(ctx context.Context, org string, q Query) (mortise.Page[E], error)

// Trail is the trail of a backend.
type Trail[E any] struct {
	*Events[E]
	List  List[E]
	Add   func(t *testing.T, e E) // stores the event, and no other
	Prune func(ctx context.Context, before time.Time, limit int) (n int, more bool, err error)
}

// Record stores events.
func (s *Trail[E]) Record(t *testing.T, events ...E) {
	t.Helper()
	for i := range events {
		s.Add(t, s.Clone(&events[i]))
	}
}

// Page returns a page of the trail.
func (s *Trail[E]) Page(t *testing.T, org string, q Query) mortise.Page[E] {
	t.Helper()
	page, err := s.List(t.Context(), org, q)
	require.NoError(t, err, "ListAuditEvents")
	return page
}

// Trail returns all events of an organization.
func (s *Trail[E]) Trail(t *testing.T, org string) []E {
	t.Helper()
	page := s.Page(t, org, Everything)
	require.True(t, page.Next == "", "more events than a page holds")
	return page.Items
}

// HasEvent requires that the event is in its organization's trail as it is here, once.
func (s *Trail[E]) HasEvent(t *testing.T, want E) {
	t.Helper()
	w, found := s.Say(&want), 0
	for _, e := range s.Trail(t, w.Organization) {
		if s.Say(&e).ID == w.ID {
			s.Same(t, want, e)
			found++
		}
	}
	require.Equal(t, 1, found, "events with the ID in the trail")
}

// NoEvent requires that the event is not in its organization's trail.
func (s *Trail[E]) NoEvent(t *testing.T, e E) {
	t.Helper()
	not := s.Say(&e)
	require.NotContains(t, s.IDs(s.Trail(t, not.Organization)), not.ID)
}

// OnlyEvent requires that the trail of an organization shows this event and no other,
// whatever it is asked. hidden says what another event would say.
func (s *Trail[E]) OnlyEvent(t *testing.T, e E, hidden Event) {
	t.Helper()
	is := s.Say(&e)
	all := s.Trail(t, is.Organization)
	require.Len(t, all, 1, "the trail of %q", is.Organization)
	s.Same(t, e, all[0])
	later := is.At.Add(time.Microsecond)
	for q, n := range map[Query]int{
		{Kind: is.Kind}: 1, {Actor: is.Actor}: 1, {About: is.About}: 1, {From: is.At}: 1, {To: later}: 1,
		{Kind: hidden.Kind}: 0, {Actor: hidden.Actor}: 0, {About: hidden.About}: 0, {From: later}: 0, {To: is.At}: 0,
		{After: mortise.Position{At: later, ID: string(is.ID[:])}.Cursor()}: 1, {After: is.position().Cursor()}: 0,
	} {
		for q.Limit = range 3 {
			if q.Limit == 0 {
				continue
			}
			page, err := s.List(t.Context(), is.Organization, q)
			if q.After != "" && errors.As(err, new(*mortise.ValidationError)) {
				continue // a backend with other cursors
			}
			require.NoError(t, err)
			require.Len(t, page.Items, n, "%+v", q)
			require.Empty(t, page.Next, "%+v", q)
		}
	}
}

// Prunes requires that PruneAudit removes so many events, in all its steps.
func (s *Trail[E]) Prunes(t *testing.T, want int, before time.Duration) {
	t.Helper()
	require.Equal(t, want, steptest.All(t, 10, s.pruning(before)), "events that were removed")
}

// pruning is PruneAudit with a time.
func (s *Trail[E]) pruning(before time.Duration) steptest.Do {
	return func(ctx context.Context, limit int) (int, bool, error) {
		return s.Prune(ctx, conformance.Moment(before), limit)
	}
}

// PruneWork is the work of PruneAudit in the rule of its steps.
func (s *Trail[E]) PruneWork(t *testing.T, units int) steptest.Work {
	t.Helper()
	old := make(map[uuid.UUID]bool)
	for i := range units {
		e := s.event([]string{orgA, orgB}[i%2], "x", 0)
		old[s.Say(&e).ID] = true
		s.Record(t, e)
	}
	late := s.event(orgA, "x", time.Hour)
	s.Record(t, late)
	return steptest.Work{
		Do: s.pruning(time.Hour), Exact: true,
		Left: func(t *testing.T) (n int) {
			for _, id := range slices.Concat(s.IDs(s.Trail(t, orgA)), s.IDs(s.Trail(t, orgB))) {
				if old[id] {
					n++
				}
			}
			return n
		},
		Kept: func(t *testing.T) { s.HasEvent(t, late) },
	}
}

// Listed is the trail as a list, of events about x.
func (s *Trail[E]) Listed(org string) listtest.Opened {
	event := func(i listtest.Item) Event {
		return Event{ID: listtest.UUID(org, i.N), Organization: org, At: i.At(), Kind: "made", Actor: "ann", About: "x"}
	}
	return listtest.Opened{
		Position: func(i listtest.Item) mortise.Position { return event(i).position() },
		Add: func(t *testing.T, items ...listtest.Item) {
			for _, i := range items {
				s.Record(t, s.New(event(i)))
			}
			other := event(items[0])
			other.ID, other.About = uuid.New(), "y"
			s.Record(t, s.New(other))
		},
		Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[E], error) {
			return s.List(ctx, org, Query{About: "x", After: after, Limit: limit})
		}, func(e *E) mortise.Position { return s.Say(e).position() }),
	}
}

// IDs returns the IDs of events, in their order.
func (s *Events[E]) IDs(events []E) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(events))
	for i := range events {
		ids = append(ids, s.Say(&events[i]).ID)
	}
	return ids
}

// pages returns all of the query's events, page by page, and checks each page's size and
// end.
func (s *Trail[E]) pages(t *testing.T, org string, q Query) []E {
	t.Helper()
	var all []E
	for range 10_000 {
		page := s.Page(t, org, q)
		require.LessOrEqual(t, len(page.Items), q.Limit, "events of a page")
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		require.NotEmpty(t, page.Items, "an empty page that is not the last one")
		q.After = page.Next
	}
	require.FailNow(t, "paging does not end")
	return nil
}

// selects requires that a query of orgA returns those of the events that it matches; n of
// them, unless n is less than 0.
func (s *Trail[E]) selects(t *testing.T, all []E, q Query, n int) {
	t.Helper()
	q.Limit = 7
	matching := slices.DeleteFunc(slices.Clone(all), func(e E) bool { return !s.Matches(q, &e) })
	slices.SortFunc(matching, func(a, b E) int { return s.Say(&b).position().Compare(s.Say(&a).position()) })
	require.Equal(t, s.IDs(matching), s.IDs(s.pages(t, orgA, q)), "%+v", q)
	if n >= 0 {
		require.Len(t, matching, n, "%+v", q)
	}
}

func (e Event) position() mortise.Position { return mortise.Position{At: e.At, ID: string(e.ID[:])} }
