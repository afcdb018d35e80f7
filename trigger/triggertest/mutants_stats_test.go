package triggertest_test

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

// everyStats applies change to what Stats returns.
func (m *mutant) everyStats(change func(s *trigger.Stats, org string, most int)) {
	m.stats = func(ctx context.Context, org string, most int) (trigger.Stats, error) {
		s, err := m.Trigger.Stats(ctx, org, most)
		change(&s, org, most)
		return s, err
	}
}

// everyStatsAll applies change to what StatsAll returns.
func (m *mutant) everyStatsAll(change func(o *trigger.AllStats, most int)) {
	m.statsAll = func(ctx context.Context, most int) (trigger.AllStats, error) {
		o, err := m.Trigger.StatsAll(ctx, most)
		change(&o, most)
		return o, err
	}
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
	{name: "does not know who has nothing", breaks: []string{"counter/nothing"}, mutate: func(m *mutant) {
		m.stats = func(ctx context.Context, org string, most int) (trigger.Stats, error) {
			s, err := m.Trigger.Stats(ctx, org, most)
			if err == nil && s == (trigger.Stats{}) {
				err = trigger.ErrNotFound
			}
			return s, err
		}
	}},
	{name: "counts for organizations that are alike",
		breaks: []string{"counter/of-organization"}, mutate: func(m *mutant) {
			m.stats = func(ctx context.Context, org string, most int) (trigger.Stats, error) {
				return m.Trigger.Stats(ctx, strings.ToLower(org), most)
			}
		}},
	{name: "counts events as they were created",
		breaks: []string{"counter/statuses"}, mutate: func(m *mutant) {
			first := make(map[uuid.UUID]trigger.Status)
			m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
				first[e.ID] = e.Status
				return m.Trigger.CreateEvent(ctx, e, since)
			}
			m.everyStats(func(s *trigger.Stats, org string, _ int) {
				s.Waiting.N = 0
				for _, e := range m.allEvents(org) {
					if first[e.ID] == trigger.StatusReceived {
						s.Waiting.N++
					}
				}
			})
		}},
	{name: "takes an event that waits for its retry for a running one",
		breaks: []string{"counter/statuses"}, mutate: func(m *mutant) {
			running := make(map[uuid.UUID]bool)
			m.update = func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
				return m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
					err := f(e)
					running[id] = running[id] || e.Status == trigger.StatusProcessing
					return err
				})
			}
			m.everyStats(func(s *trigger.Stats, org string, _ int) {
				for _, e := range m.allEvents(org) {
					if e.Status == trigger.StatusReceived && running[e.ID] {
						s.Waiting.N--
						s.Running.N++
					}
				}
			})
		}},
	{name: "counts what CreateEvent stored only", breaks: []string{"counter/together"}, mutate: func(m *mutant) {
		together := make(map[string]int)
		m.createAndAdd = func(
			ctx context.Context, e trigger.Event, since time.Time, j mortise.Job,
		) (trigger.Event, bool, error) {
			together[e.Organization]++
			return m.Trigger.CreateEventAndAdd(ctx, e, since, j)
		}
		m.everyStats(func(s *trigger.Stats, org string, _ int) { s.Waiting.N -= together[org] })
	}},
	{name: "takes the oldest open event for the oldest waiting one",
		breaks: []string{"counter/oldest-waiting"}, mutate: func(m *mutant) {
			m.everyStats(func(s *trigger.Stats, org string, _ int) {
				for _, e := range m.allEvents(org) {
					if !e.Status.Finished() {
						s.OldestWaiting = e.SubmittedAt
					}
				}
			})
		}},
	{name: "takes the waiting event that is due first for the oldest one",
		breaks: []string{"counter/oldest-waiting"}, mutate: func(m *mutant) {
			m.everyStats(func(s *trigger.Stats, org string, _ int) {
				var first trigger.Event
				for _, e := range m.allEvents(org) {
					if e.Status == trigger.StatusReceived && (first.ID == uuid.Nil || e.DueAt.Before(first.DueAt)) {
						first = e
					}
				}
				s.OldestWaiting = first.SubmittedAt
			})
		}},
	{name: "says more when it is just most", breaks: []string{"counter/most"}, mutate: func(m *mutant) {
		m.everyStats(func(s *trigger.Stats, _ string, most int) { s.Failed.More = s.Failed.N >= most })
	}},
	{name: "counts ended events in all and then by how",
		breaks: []string{"counter/most"}, mutate: func(m *mutant) {
			m.everyStats(func(s *trigger.Stats, _ string, most int) {
				s.Completed = mortise.CountUpTo(s.Completed.N, most-s.Failed.N)
			})
		}},
	{name: "counts events that were forgotten",
		breaks: []string{"counter/forgotten-events"}, mutate: func(m *mutant) {
			var ended int
			m.everyStats(func(s *trigger.Stats, _ string, _ int) {
				ended = max(ended, s.Completed.N)
				s.Completed.N = ended
			})
		}},
}

var statsAllMutants = []broken{
	{name: "leaves one organization out of all", breaks: []string{"counter/all"}, mutate: func(m *mutant) {
		m.everyStatsAll(func(o *trigger.AllStats, most int) {
			s, _ := m.Trigger.Stats(context.Background(), "org-a", most)
			o.Running.N -= s.Running.N
		})
	}},
	{name: "counts dead letters and what was done",
		breaks: []string{"counter/all"}, mutate: func(m *mutant) {
			m.everyStatsAll(func(o *trigger.AllStats, _ int) {
				for _, e := range m.allEvents(everyOrg...) {
					if e.Status == trigger.StatusCompleted {
						o.Failed.N++
					}
				}
			})
		}},
	{name: "says when the next open event is due",
		breaks: []string{"counter/all-next-due"}, mutate: func(m *mutant) {
			m.everyStatsAll(func(o *trigger.AllStats, _ int) {
				for _, e := range m.allEvents(everyOrg...) {
					first := o.NextDue.IsZero() || e.DueAt.Before(o.NextDue)
					if first && !e.Status.Finished() && !e.DueAt.IsZero() {
						o.NextDue = e.DueAt
					}
				}
			})
		}},
	{name: "takes an event that is due at no time for the next one",
		breaks: []string{"counter/all-next-due"}, mutate: func(m *mutant) {
			m.everyStatsAll(func(o *trigger.AllStats, _ int) {
				for _, e := range m.allEvents(everyOrg...) {
					if e.Status == trigger.StatusReceived && e.DueAt.IsZero() {
						o.NextDue = time.Time{}
					}
				}
			})
		}},
	{name: "takes the oldest waiting event for the next one",
		breaks: []string{"counter/all-next-due"}, mutate: func(m *mutant) {
			m.everyStatsAll(func(o *trigger.AllStats, _ int) {
				var oldest trigger.Event
				for _, e := range m.allEvents(everyOrg...) {
					waits := e.Status == trigger.StatusReceived && !e.DueAt.IsZero()
					if waits && (oldest.ID == uuid.Nil || e.SubmittedAt.Before(oldest.SubmittedAt)) {
						oldest = e
					}
				}
				o.NextDue = oldest.DueAt
			})
		}},
	{name: "counts the events of all up to one more",
		breaks: []string{"counter/all-most"}, mutate: func(m *mutant) {
			m.statsAll = func(ctx context.Context, most int) (trigger.AllStats, error) {
				return m.Trigger.StatsAll(ctx, most+1)
			}
		}},
	{name: "counts one status after the other",
		breaks: []string{"counter/one-moment"}, mutate: func(m *mutant) {
			m.stats = func(ctx context.Context, org string, most int) (trigger.Stats, error) {
				s, err := m.Trigger.Stats(ctx, org, most)
				conformance.Seam()
				later, _ := m.Trigger.Stats(ctx, org, most)
				s.Running = later.Running
				return s, err
			}
		}},
	{name: "counts all that is running, and then all that waits",
		breaks: []string{"counter/one-moment"}, mutate: func(m *mutant) {
			m.statsAll = func(ctx context.Context, most int) (trigger.AllStats, error) {
				o, err := m.Trigger.StatsAll(ctx, most)
				conformance.Seam()
				later, _ := m.Trigger.StatsAll(ctx, most)
				o.Waiting = later.Waiting
				return o, err
			}
		}},
	{name: "looks for the next event before it counts",
		breaks: []string{"counter/one-moment"}, mutate: func(m *mutant) {
			m.statsAll = func(ctx context.Context, most int) (trigger.AllStats, error) {
				before, _ := m.Trigger.StatsAll(ctx, most)
				conformance.Seam()
				o, err := m.Trigger.StatsAll(ctx, most)
				o.NextDue = before.NextDue
				return o, err
			}
		}},
	{name: "counts for nobody", breaks: []string{"store/ended-context"}, mutate: func(m *mutant) {
		m.statsAll = func(_ context.Context, most int) (trigger.AllStats, error) {
			return m.Trigger.StatsAll(context.Background(), most)
		}
	}},
}
