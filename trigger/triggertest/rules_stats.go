package triggertest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/countertest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// exactly is the Count of n things that were counted to the end.
func exactly(n int) mortise.Count { return mortise.Count{N: n} }

// hasStats requires that Stats returns want, where it counts up to most.
func (s *subject) hasStats(t *testing.T, org string, most int, want trigger.Stats) {
	t.Helper()
	got, err := s.Store.Stats(t.Context(), org, most)
	require.NoError(t, err, "Stats of %q up to %d", org, most)
	conformance.SameTime(t, "OldestWaiting", want.OldestWaiting, &got.OldestWaiting)
	require.Equal(t, want, got, "Stats of %q up to %d", org, most)
}

// hasStatsAll is hasStats for StatsAll.
func (s *subject) hasStatsAll(t *testing.T, most int, want trigger.AllStats) {
	t.Helper()
	got, err := s.Store.StatsAll(t.Context(), most)
	require.NoError(t, err, "StatsAll up to %d", most)
	conformance.SameTime(t, "NextDue", want.NextDue, &got.NextDue)
	require.Equal(t, want, got, "StatsAll up to %d", most)
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
			{Set: toStatus(trigger.StatusReceived), Waits: true, Stats: 0, All: 0},
			{Set: toStatus(trigger.StatusProcessing), Stats: 1, All: 1},
			{Set: toStatus(trigger.StatusFailed), Stats: 2, All: 2},
			{Set: toStatus(trigger.StatusCompleted), Stats: 3, All: -1},
		},
		Names:  exactNames,
		New:    func(org string, at time.Duration) trigger.Event { return eventIn(trigger.StatusReceived, org, at) },
		Due:    func(e *trigger.Event, at time.Time) { e.DueAt = at },
		Add:    s.create,
		Update: s.update,
		Stats: func(ctx context.Context, org string, most int) (countertest.Counts, error) {
			got, err := s.Store.Stats(ctx, org, most)
			return countertest.Counts{Numbers: []mortise.Count{got.Waiting, got.Running, got.Failed, got.Completed}, First: got.OldestWaiting}, err
		},
		StatsAll: func(ctx context.Context, most int) (countertest.Counts, error) {
			got, err := s.Store.StatsAll(ctx, most)
			return countertest.Counts{Numbers: []mortise.Count{got.Waiting, got.Running, got.Failed}, First: got.NextDue}, err
		},
	}
}

// sharedStatsRules are those of every counter.
func sharedStatsRules() (all []rule) {
	words := countertest.Words{Things: "events", Made: "SubmittedAt", Open: "that wait, that are running, and that have failed"}
	for _, r := range slices.Concat(countertest.Rules[trigger.Event]("counter/statuses", words), countertest.RulesOfAll[trigger.Event](words)) {
		all = append(all, rule{Rule{r.ID, r.Text}, needStore, func(t *testing.T, s *subject) { r.Check(t, s.counter()) }})
	}
	return all
}

// statsRules are what else is counted of events.
var statsRules = []rule{
	{Rule{
		"counter/nothing", "An organization without events has nothing to count, without an error.",
	}, needStore,
		func(t *testing.T, s *subject) {
			s.hasStats(t, orgA, 10, trigger.Stats{})
			s.create(t, plainEvent(orgB, 0))
			s.hasStats(t, orgA, 10, trigger.Stats{})
			s.hasStats(t, "", 10, trigger.Stats{})
		}},

	{Rule{
		"counter/together", "What is stored and ended together with a job is counted, too.",
	}, needTx,
		func(t *testing.T, s *subject) {
			h := s.held(t, orgA) // without a DueAt
			s.hasStats(t, orgA, 10, trigger.Stats{Waiting: exactly(1), OldestWaiting: h.event.SubmittedAt})
			s.hasStatsAll(t, 10, trigger.AllStats{Waiting: exactly(1)})
			require.NoError(t, s.endBy(t.Context(), h, fail, true))
			s.hasStats(t, orgA, 10, trigger.Stats{Failed: exactly(1)})
			s.hasStatsAll(t, 10, trigger.AllStats{Failed: exactly(1)})
		}},

	{Rule{
		"counter/forgotten-events", "Events that were forgotten are not counted.",
	}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			for i := range 3 {
				s.create(t, eventIn(trigger.StatusCompleted, orgA, time.Duration(i)*time.Hour))
				s.create(t, eventIn(trigger.StatusFailed, orgA, time.Duration(i)*time.Hour))
			}
			s.hasStats(t, orgA, 10, trigger.Stats{Completed: exactly(3), Failed: exactly(3)})
			require.Equal(t, 4, s.prune(t, 90*time.Minute, 10), "events removed")
			s.hasStats(t, orgA, 10, trigger.Stats{Completed: exactly(1), Failed: exactly(1)})
			s.hasStatsAll(t, 10, trigger.AllStats{Failed: exactly(1)})
		}},

	{Rule{
		"counter/durable", "What is counted outlives the process.",
	}, needStore | needReopen,
		func(t *testing.T, s *subject) {
			for _, status := range trigger.Statuses() {
				s.create(t, eventIn(status, orgA, 0))
			}
			want := trigger.Stats{
				Waiting: exactly(1), Running: exactly(1), Failed: exactly(1), Completed: exactly(1), OldestWaiting: moment(0),
			}
			open := trigger.AllStats{
				Waiting: exactly(1), Running: exactly(1), Failed: exactly(1), NextDue: moment(0),
			}
			s.hasStats(t, orgA, 10, want)
			s.hasStatsAll(t, 10, open)
			s.reopen(t)
			s.hasStats(t, orgA, 10, want)
			s.hasStatsAll(t, 10, open)
		}},
}
