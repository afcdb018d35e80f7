package triggertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/countertest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// exactly is the Count of n things that were counted to the end.
func exactly(n int) mortise.Count { return mortise.Count{N: n} }

// hasCounts requires that Counts returns want, where it counts up to most.
func (s *subject) hasCounts(t *testing.T, org string, most int, want trigger.Counts) {
	t.Helper()
	got, err := s.Store.Counts(t.Context(), org, most)
	require.NoError(t, err, "Counts of %q up to %d", org, most)
	require.Equal(t, want, got, "Counts of %q up to %d", org, most)
}

// hasBacklog is hasCounts for Backlog.
func (s *subject) hasBacklog(t *testing.T, most int, want mortise.Backlog) {
	t.Helper()
	countertest.HasBacklog(t, s.Store.Backlog, most, want)
}

// eventIn returns a new event of a status, which is due when it was submitted.
func eventIn(status trigger.Status, org string, submitted time.Duration) trigger.Event {
	e := plainEvent(org, submitted)
	e.DueAt = e.SubmittedAt
	toStatus(status)(&e)
	return e
}

func toStatus(status trigger.Status) func(*trigger.Event) {
	return func(e *trigger.Event) {
		if e.Status, e.FinishedAt = status, (time.Time{}); status.Finished() {
			e.FinishedAt = e.SubmittedAt
		}
	}
}

// counter shows how events are counted.
func (s *subject) counter() *countertest.Counter[trigger.Event] {
	return &countertest.Counter[trigger.Event]{
		States: []countertest.State[trigger.Event]{
			{Set: toStatus(trigger.StatusReceived), Waits: true, Counts: 0, Backlog: 0},
			{Set: toStatus(trigger.StatusProcessing), Counts: 1, Backlog: 1},
			{Set: toStatus(trigger.StatusFailed), Counts: 2, Backlog: 2},
			{Set: toStatus(trigger.StatusCompleted), Counts: 3, Backlog: -1},
			{Set: toStatus(trigger.StatusCancelled), Counts: 4, Backlog: -1},
		},
		Names:  exactNames,
		New:    func(org string, at time.Duration) trigger.Event { return eventIn(trigger.StatusReceived, org, at) },
		Due:    func(e *trigger.Event, at time.Time) { e.DueAt = at },
		Add:    s.create,
		Update: s.update,
		Counts: func(ctx context.Context, org string, most int) ([]mortise.Count, error) {
			got, err := s.Store.Counts(ctx, org, most)
			return []mortise.Count{got.Waiting, got.Running, got.Failed, got.Completed, got.Cancelled}, err
		},
		Backlog: s.Store.Backlog,
	}
}

// sharedCountRules are the rules of every counter.
func sharedCountRules() (all []rule) {
	for _, r := range countertest.Rules[trigger.Event]("events", "waiting, running and failed") {
		all = append(all, rule{Rule{r.ID, r.Text}, needStore, func(t *testing.T, s *subject) { r.Check(t, s.counter()) }})
	}
	return all
}

// countRules are further rules of Counts and Backlog.
var countRules = []rule{
	{Rule{
		"counter/nothing", "An organization without events has nothing to count, without an error.",
	}, needStore,
		func(t *testing.T, s *subject) {
			s.hasCounts(t, orgA, 10, trigger.Counts{})
			s.create(t, plainEvent(orgB, 0))
			s.hasCounts(t, orgA, 10, trigger.Counts{})
			s.hasCounts(t, "", 10, trigger.Counts{})
		}},

	{Rule{
		"counter/together", "What is stored and ended together with a job is counted, too.",
	}, needTx,
		func(t *testing.T, s *subject) {
			h := s.held(t, orgA) // without a DueAt
			s.hasCounts(t, orgA, 10, trigger.Counts{Waiting: exactly(1)})
			s.hasBacklog(t, 10, mortise.Backlog{Waiting: exactly(1)})
			require.NoError(t, s.endBy(t.Context(), h, fail, true))
			s.hasCounts(t, orgA, 10, trigger.Counts{Failed: exactly(1)})
			s.hasBacklog(t, 10, mortise.Backlog{Failed: exactly(1)})
		}},

	{Rule{
		"counter/forgotten-events", "Events that were forgotten are not counted.",
	}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			for i := range 3 {
				s.create(t, eventIn(trigger.StatusCompleted, orgA, time.Duration(i)*time.Hour))
				s.create(t, eventIn(trigger.StatusFailed, orgA, time.Duration(i)*time.Hour))
			}
			s.hasCounts(t, orgA, 10, trigger.Counts{Completed: exactly(3), Failed: exactly(3)})
			require.Equal(t, 4, s.prune(t, 90*time.Minute), "events removed")
			s.hasCounts(t, orgA, 10, trigger.Counts{Completed: exactly(1), Failed: exactly(1)})
			s.hasBacklog(t, 10, mortise.Backlog{Failed: exactly(1)})
		}},

	{Rule{
		"counter/durable", "What is counted outlives the process.",
	}, needStore | needReopen,
		func(t *testing.T, s *subject) {
			for _, status := range trigger.Statuses() {
				s.create(t, eventIn(status, orgA, 0))
			}
			want := trigger.Counts{Waiting: exactly(1), Running: exactly(1), Failed: exactly(1), Completed: exactly(1), Cancelled: exactly(1)}
			open := mortise.Backlog{Waiting: exactly(1), Running: exactly(1), Failed: exactly(1), NextDue: moment(0)}
			s.hasCounts(t, orgA, 10, want)
			s.hasBacklog(t, 10, open)
			s.reopen(t)
			s.hasCounts(t, orgA, 10, want)
			s.hasBacklog(t, 10, open)
		}},
}
