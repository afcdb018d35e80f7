package triggertest_test

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// counted changes what Counts returns.
func counted(change func(m *mutant, s *trigger.Counts, org string, most int)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		c.Go()
		change(m, mutate.Get[trigger.Counts](c.Out), c.In[1].String(), *mutate.Get[int](c.In))
	}, "Counts")
}

// backlog changes what Backlog returns.
func backlog(change func(m *mutant, b *mortise.Backlog)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		c.Go()
		change(m, mutate.Get[mortise.Backlog](c.Out))
	}, "Backlog")
}

// allEvents returns the events of organizations, newest first each.
func (m *mutant) allEvents(orgs ...string) (events []trigger.Event) {
	for _, org := range orgs {
		page, _ := m.Trigger.ListEvents(context.Background(), org, trigger.EventQuery{Limit: 10_000})
		events = append(events, page.Items...)
	}
	return events
}

// everyOrg are the organizations of the rules of Backlog.
var everyOrg = []string{"org-a", "org-b", "org-c", "", "org0", "org1"}

var countMutants = []broken{
	{name: "does not know who has nothing", breaks: "counter/nothing", mutate: around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); *mutate.Get[trigger.Counts](c.Out) == (trigger.Counts{}) {
			*c.Err() = mortise.ErrNotFound
		}
	}, "Counts")},
	{name: "counts for organizations that are alike", breaks: "counter/of-organization", mutate: arg(
		func(org *string) { *org = strings.ToLower(*org) }, "Counts")},
	{name: "counts events as they were created", breaks: "counter/states", mutate: func(m *mutant) {
		first := make(map[uuid.UUID]trigger.Status)
		in(func(e *trigger.Event) { first[e.ID] = e.Status }, "CreateEvent")(m)
		counted(func(m *mutant, s *trigger.Counts, org string, _ int) {
			s.Waiting.N = 0
			for _, e := range m.allEvents(org) {
				if first[e.ID] == trigger.StatusReceived {
					s.Waiting.N++
				}
			}
		})(m)
	}},
	{name: "takes an event that waits for its retry for a running one", breaks: "counter/states", mutate: func(m *mutant) {
		running := make(map[uuid.UUID]bool)
		in(func(e *trigger.Event) { running[e.ID] = running[e.ID] || e.Status == trigger.StatusProcessing }, "UpdateEvent")(m)
		counted(func(m *mutant, s *trigger.Counts, org string, _ int) {
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
		counted(func(_ *mutant, s *trigger.Counts, org string, _ int) { s.Waiting.N -= together[org] })(m)
	}},
	{name: "says more when it is just most", breaks: "counter/most", mutate: counted(
		func(_ *mutant, s *trigger.Counts, _ string, most int) { s.Failed.More = s.Failed.N >= most })},
	{name: "counts ended events in all and then by how", breaks: "counter/most", mutate: counted(
		func(_ *mutant, s *trigger.Counts, _ string, most int) {
			s.Completed = mortise.CountUpTo(s.Completed.N, most-s.Failed.N)
		})},
	{name: "counts events that were forgotten", breaks: "counter/forgotten-events", mutate: func(m *mutant) {
		var ended int
		out(func(s *trigger.Counts) {
			ended = max(ended, s.Completed.N)
			s.Completed.N = ended
		})(m)
	}},
}

var backlogMutants = []broken{
	{name: "leaves one organization out of all", breaks: "counter/backlog", mutate: backlog(func(m *mutant, b *mortise.Backlog) {
		s, _ := m.Trigger.Counts(bg, "org-a", 1000)
		b.Running.N -= s.Running.N
	})},
	{name: "counts dead letters and what was done", breaks: "counter/backlog", mutate: backlog(func(m *mutant, b *mortise.Backlog) {
		for _, e := range m.allEvents(everyOrg...) {
			if e.Status == trigger.StatusCompleted {
				b.Failed.N++
			}
		}
	})},
	{name: "says when the next open event is due", breaks: "counter/next-due", mutate: backlog(func(m *mutant, b *mortise.Backlog) {
		for _, e := range m.allEvents(everyOrg...) {
			first := b.NextDue.IsZero() || e.DueAt.Before(b.NextDue)
			if first && !e.Status.Finished() && !e.DueAt.IsZero() {
				b.NextDue = e.DueAt
			}
		}
	})},
	{name: "takes an event that is due at no time for the next one", breaks: "counter/next-due", mutate: backlog(
		func(m *mutant, b *mortise.Backlog) {
			for _, e := range m.allEvents(everyOrg...) {
				if e.Status == trigger.StatusReceived && e.DueAt.IsZero() {
					b.NextDue = time.Time{}
				}
			}
		})},
	{name: "takes the oldest waiting event for the next one", breaks: "counter/next-due", mutate: backlog(
		func(m *mutant, b *mortise.Backlog) {
			var oldest trigger.Event
			for _, e := range m.allEvents(everyOrg...) {
				waits := e.Status == trigger.StatusReceived && !e.DueAt.IsZero()
				if waits && (oldest.ID == uuid.Nil || e.SubmittedAt.Before(oldest.SubmittedAt)) {
					oldest = e
				}
			}
			b.NextDue = oldest.DueAt
		})},
	{name: "counts the events of all up to one more", breaks: "counter/backlog-most", mutate: arg(func(most *int) { *most++ }, "Backlog")},
	{name: "counts for nobody", breaks: "store/ended-context", mutate: arg(func(ctx *context.Context) { *ctx = bg }, "Backlog")},
}
