package triggertest_test

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// counted changes what Stats returns.
func counted(change func(m *mutant, s *trigger.Stats, org string, most int)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		c.Go()
		change(m, mutate.Get[trigger.Stats](c.Out), c.In[1].String(), *mutate.Get[int](c.In))
	}, "Stats")
}

// countedAll changes what StatsAll returns.
func countedAll(change func(m *mutant, s *trigger.AllStats)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		c.Go()
		change(m, mutate.Get[trigger.AllStats](c.Out))
	}, "StatsAll")
}

// mixed makes a method return a field as it counts it before or after a pause.
func mixed[T any](method string, field func(*T) any, later bool) func(*mutant) {
	return around(func(_ *mutant, c *mutate.Call) {
		c.Go()
		first := *mutate.Get[T](c.Out)
		conformance.Seam()
		c.Go()
		second := mutate.Get[T](c.Out)
		if !later {
			reflect.ValueOf(field(second)).Elem().Set(reflect.ValueOf(field(&first)).Elem())
			return
		}
		reflect.ValueOf(field(&first)).Elem().Set(reflect.ValueOf(field(second)).Elem())
		*second = first
	}, method)
}

// allEvents returns the events of organizations, newest first each.
func (m *mutant) allEvents(orgs ...string) (events []trigger.Event) {
	for _, org := range orgs {
		page, _ := m.Trigger.ListEvents(context.Background(), org, trigger.EventQuery{Limit: 10_000})
		events = append(events, page.Items...)
	}
	return events
}

// everyOrg are the organizations of the rules of StatsAll.
var everyOrg = []string{"org-a", "org-b", "org-c", "", "org0", "org1"}

var statsMutants = []broken{
	{name: "does not know who has nothing", breaks: "counter/nothing", mutate: around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); *mutate.Get[trigger.Stats](c.Out) == (trigger.Stats{}) {
			*c.Err() = mortise.ErrNotFound
		}
	}, "Stats")},
	{name: "counts for organizations that are alike", breaks: "counter/of-organization", mutate: arg(
		func(org *string) { *org = strings.ToLower(*org) }, "Stats")},
	{name: "counts events as they were created", breaks: "counter/statuses", mutate: func(m *mutant) {
		first := make(map[uuid.UUID]trigger.Status)
		in(func(e *trigger.Event) { first[e.ID] = e.Status }, "CreateEvent")(m)
		counted(func(m *mutant, s *trigger.Stats, org string, _ int) {
			s.Waiting.N = 0
			for _, e := range m.allEvents(org) {
				if first[e.ID] == trigger.StatusReceived {
					s.Waiting.N++
				}
			}
		})(m)
	}},
	{name: "takes an event that waits for its retry for a running one", breaks: "counter/statuses", mutate: func(m *mutant) {
		running := make(map[uuid.UUID]bool)
		in(func(e *trigger.Event) { running[e.ID] = running[e.ID] || e.Status == trigger.StatusProcessing }, "UpdateEvent")(m)
		counted(func(m *mutant, s *trigger.Stats, org string, _ int) {
			for _, e := range m.allEvents(org) {
				if e.Status == trigger.StatusReceived && running[e.ID] {
					s.Waiting.N--
					s.Running.N++
				}
			}
		})(m)
	}},
	{name: "counts what CreateEvent stored only", breaks: "counter/together", mutate: func(m *mutant) {
		together := make(map[string]int)
		in(func(e *trigger.Event) { together[e.Organization]++ }, "CreateEventAndAdd")(m)
		counted(func(_ *mutant, s *trigger.Stats, org string, _ int) { s.Waiting.N -= together[org] })(m)
	}},
	{name: "takes the oldest open event for the oldest waiting one", breaks: "counter/oldest-waiting", mutate: counted(
		func(m *mutant, s *trigger.Stats, org string, _ int) {
			for _, e := range m.allEvents(org) {
				if !e.Status.Finished() {
					s.OldestWaiting = e.SubmittedAt
				}
			}
		})},
	{name: "takes the waiting event that is due first for the oldest one", breaks: "counter/oldest-waiting", mutate: counted(
		func(m *mutant, s *trigger.Stats, org string, _ int) {
			var first trigger.Event
			for _, e := range m.allEvents(org) {
				if e.Status == trigger.StatusReceived && (first.ID == uuid.Nil || e.DueAt.Before(first.DueAt)) {
					first = e
				}
			}
			s.OldestWaiting = first.SubmittedAt
		})},
	{name: "says more when it is just most", breaks: "counter/most", mutate: counted(
		func(_ *mutant, s *trigger.Stats, _ string, most int) { s.Failed.More = s.Failed.N >= most })},
	{name: "counts ended events in all and then by how", breaks: "counter/most", mutate: counted(
		func(_ *mutant, s *trigger.Stats, _ string, most int) {
			s.Completed = mortise.CountUpTo(s.Completed.N, most-s.Failed.N)
		})},
	{name: "counts events that were forgotten", breaks: "counter/forgotten-events", mutate: func(m *mutant) {
		var ended int
		out(func(s *trigger.Stats) {
			ended = max(ended, s.Completed.N)
			s.Completed.N = ended
		})(m)
	}},
}

var statsAllMutants = []broken{
	{name: "leaves one organization out of all", breaks: "counter/all", mutate: countedAll(func(m *mutant, o *trigger.AllStats) {
		s, _ := m.Trigger.Stats(bg, "org-a", 1000)
		o.Running.N -= s.Running.N
	})},
	{name: "counts dead letters and what was done", breaks: "counter/all", mutate: countedAll(func(m *mutant, o *trigger.AllStats) {
		for _, e := range m.allEvents(everyOrg...) {
			if e.Status == trigger.StatusCompleted {
				o.Failed.N++
			}
		}
	})},
	{name: "says when the next open event is due", breaks: "counter/all-next-due", mutate: countedAll(func(m *mutant, o *trigger.AllStats) {
		for _, e := range m.allEvents(everyOrg...) {
			first := o.NextDue.IsZero() || e.DueAt.Before(o.NextDue)
			if first && !e.Status.Finished() && !e.DueAt.IsZero() {
				o.NextDue = e.DueAt
			}
		}
	})},
	{name: "takes an event that is due at no time for the next one", breaks: "counter/all-next-due", mutate: countedAll(
		func(m *mutant, o *trigger.AllStats) {
			for _, e := range m.allEvents(everyOrg...) {
				if e.Status == trigger.StatusReceived && e.DueAt.IsZero() {
					o.NextDue = time.Time{}
				}
			}
		})},
	{name: "takes the oldest waiting event for the next one", breaks: "counter/all-next-due", mutate: countedAll(
		func(m *mutant, o *trigger.AllStats) {
			var oldest trigger.Event
			for _, e := range m.allEvents(everyOrg...) {
				waits := e.Status == trigger.StatusReceived && !e.DueAt.IsZero()
				if waits && (oldest.ID == uuid.Nil || e.SubmittedAt.Before(oldest.SubmittedAt)) {
					oldest = e
				}
			}
			o.NextDue = oldest.DueAt
		})},
	{name: "counts the events of all up to one more", breaks: "counter/all-most", mutate: arg(func(most *int) { *most++ }, "StatsAll")},
	{name: "counts one status after the other", breaks: "counter/one-moment", mutate: mixed(
		"Stats", func(s *trigger.Stats) any { return &s.Running }, true)},
	{name: "counts all that is running, and then all that waits", breaks: "counter/one-moment", mutate: mixed(
		"StatsAll", func(s *trigger.AllStats) any { return &s.Waiting }, true)},
	{name: "looks for the next event before it counts", breaks: "counter/one-moment", mutate: mixed(
		"StatsAll", func(s *trigger.AllStats) any { return &s.NextDue }, false)},
	{name: "counts for nobody", breaks: "store/ended-context", mutate: arg(func(ctx *context.Context) { *ctx = bg }, "StatsAll")},
}
