package triggertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

// exactly is the Count of n things that were counted to the end.
func exactly(n int) mortise.Count { return mortise.Count{N: n} }

// hasStats requires that Stats returns want, where it counts up to most.
func (s *subject) hasStats(t *testing.T, org string, most int, want trigger.Stats) {
	t.Helper()
	got, err := s.Store.Stats(t.Context(), org, most)
	require.NoError(t, err, "Stats of %q up to %d", org, most)
	sameTime(t, "OldestWaiting", want.OldestWaiting, &got.OldestWaiting)
	require.Equal(t, want, got, "Stats of %q up to %d", org, most)
}

// hasStatsAll is hasStats for StatsAll.
func (s *subject) hasStatsAll(t *testing.T, most int, want trigger.AllStats) {
	t.Helper()
	got, err := s.Store.StatsAll(t.Context(), most)
	require.NoError(t, err, "StatsAll up to %d", most)
	sameTime(t, "NextDue", want.NextDue, &got.NextDue)
	require.Equal(t, want, got, "StatsAll up to %d", most)
}

// countOf is where Stats counts events of a status.
func countOf(s *trigger.Stats, status trigger.Status) *mortise.Count {
	return map[trigger.Status]*mortise.Count{
		trigger.StatusReceived: &s.Waiting, trigger.StatusProcessing: &s.Running,
		trigger.StatusCompleted: &s.Completed, trigger.StatusFailed: &s.Failed,
	}[status]
}

// openCountOf is where StatsAll counts events of a status; nil: nowhere.
func openCountOf(o *trigger.AllStats, status trigger.Status) *mortise.Count {
	return map[trigger.Status]*mortise.Count{
		trigger.StatusReceived: &o.Waiting, trigger.StatusProcessing: &o.Running,
		trigger.StatusFailed: &o.Failed,
	}[status]
}

// eventIn returns a new event of a status, which is due when it was submitted.
func eventIn(status trigger.Status, org string, submitted time.Duration) trigger.Event {
	e := plainEvent(org, submitted)
	e.Status, e.DueAt = status, e.SubmittedAt
	if status.Finished() {
		e.FinishedAt = e.SubmittedAt
	}
	return e
}

// statsRules are the rules of Stats.
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
		"counter/of-organization",
		"Stats counts the events of one organization, whose name is the same if every byte is.",
	}, needStore,
		func(t *testing.T, s *subject) {
			for i, org := range exactNames {
				for range i % 3 {
					for _, status := range trigger.Statuses() {
						s.create(t, eventIn(status, org, time.Duration(i)*time.Second))
					}
				}
			}
			for i, org := range exactNames {
				var want trigger.Stats
				for _, status := range trigger.Statuses() {
					countOf(&want, status).N = i % 3
				}
				if i%3 > 0 {
					want.OldestWaiting = moment(time.Duration(i) * time.Second)
				}
				s.hasStats(t, org, 100, want)
			}
		}},

	{Rule{
		"counter/statuses", "Stats counts events by their Status, as they are now.",
	}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			other := trigger.StatusCompleted
			s.create(t, eventIn(other, orgA, 0))
			for _, from := range trigger.Statuses() {
				for _, status := range append(trigger.Statuses(), from) {
					s.update(t, e, func(e *trigger.Event) { e.Status = status })
					var want trigger.Stats
					countOf(&want, other).N++
					countOf(&want, status).N++
					if status == trigger.StatusReceived {
						want.OldestWaiting = moment(0)
					}
					s.hasStats(t, orgA, 100, want)
				}
			}
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
		"counter/oldest-waiting",
		"OldestWaiting is the earliest SubmittedAt of the events that wait, and zero if none does.",
	}, needStore,
		func(t *testing.T, s *subject) {
			oldest := func(want time.Time) {
				t.Helper()
				got, err := s.Store.Stats(t.Context(), orgA, 1)
				require.NoError(t, err)
				sameTime(t, "OldestWaiting", want, &got.OldestWaiting)
			}
			for i, status := range trigger.Statuses()[1:] {
				s.create(t, eventIn(status, orgA, -time.Duration(i+1)*time.Hour))
			}
			oldest(time.Time{})
			s.create(t, plainEvent(orgB, -time.Hour))
			events := make([]trigger.Event, 4)
			for _, i := range []int{2, 0, 3, 1} {
				e := plainEvent(orgA, time.Duration(i)*time.Microsecond)
				e.DueAt = moment(-time.Duration(i) * time.Hour)
				events[i] = s.create(t, e)
			}
			for i, e := range events {
				oldest(moment(time.Duration(i) * time.Microsecond))
				s.update(t, e, func(e *trigger.Event) { e.Status = trigger.StatusProcessing })
			}
			oldest(time.Time{})
			s.update(t, events[2], func(e *trigger.Event) { e.Status = trigger.StatusReceived })
			oldest(events[2].SubmittedAt)
		}},

	{Rule{
		"counter/most",
		"Each number of Stats is exact up to most, and else it is most and More.",
	}, needStore,
		func(t *testing.T, s *subject) {
			for i, status := range trigger.Statuses() {
				for n := range 3 + i {
					s.create(t, eventIn(status, orgA, time.Duration(n)*time.Second))
				}
			}
			for most := 1; most < 9; most++ {
				want := trigger.Stats{OldestWaiting: moment(0)}
				for i, status := range trigger.Statuses() {
					*countOf(&want, status) = mortise.CountUpTo(3+i, most)
				}
				s.hasStats(t, orgA, most, want)
			}
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
}

// statsAllRules are the rules of StatsAll, and of both.
var statsAllRules = []rule{
	{Rule{
		"counter/all", "StatsAll counts the events of all organizations that wait, that are running, " +
			"and that have failed, as they are now.",
	}, needStore,
		func(t *testing.T, s *subject) {
			s.hasStatsAll(t, 100, trigger.AllStats{})
			var want trigger.AllStats
			var events []trigger.Event
			for i, org := range []string{orgA, orgB, "", "org-c"} {
				for n, status := range trigger.Statuses() {
					for range i + n {
						events = append(events, s.create(t, eventIn(status, org, time.Hour)))
						if count := openCountOf(&want, status); count != nil {
							count.N++
						}
					}
				}
			}
			want.NextDue = moment(time.Hour)
			s.hasStatsAll(t, 100, want)
			s.hasStatsAll(t, max(want.Waiting.N, want.Running.N, want.Failed.N), want)
			for _, e := range events {
				s.update(t, e, func(e *trigger.Event) { e.Status = trigger.StatusProcessing })
			}
			s.hasStatsAll(t, 1000, trigger.AllStats{Running: exactly(len(events))})
		}},

	{Rule{
		"counter/all-next-due", "NextDue is the earliest DueAt of the events that wait, but for zero ones; " +
			"zero if there is none.",
	}, needStore,
		func(t *testing.T, s *subject) {
			next := func(want time.Time) {
				t.Helper()
				got, err := s.Store.StatsAll(t.Context(), 1)
				require.NoError(t, err)
				sameTime(t, "NextDue", want, &got.NextDue)
			}
			for i, status := range trigger.Statuses() {
				e := eventIn(status, orgA, 0)
				e.DueAt = moment(-time.Duration(i+1) * time.Hour)
				if status == trigger.StatusReceived {
					e.DueAt = time.Time{}
				}
				s.create(t, e)
			}
			next(time.Time{})
			var last trigger.Event
			for i, d := range []time.Duration{1000 * 365 * 24 * time.Minute, time.Hour, time.Microsecond, 0} {
				last = plainEvent([]string{orgA, orgB, ""}[i%3], -time.Duration(i)*time.Hour)
				last.DueAt = moment(d)
				s.create(t, last)
				next(moment(d))
			}
			s.update(t, last, func(e *trigger.Event) { e.Status = trigger.StatusProcessing })
			next(moment(time.Microsecond))
			s.update(t, last, func(e *trigger.Event) {
				e.Status, e.DueAt = trigger.StatusReceived, moment(time.Minute)
			})
			next(moment(time.Microsecond))
			s.update(t, last, func(e *trigger.Event) { e.DueAt = moment(-time.Minute) })
			next(moment(-time.Minute))
		}},

	{Rule{
		"counter/all-most",
		"Each number of StatsAll is exact up to most, and else it is most and More.",
	}, needStore,
		func(t *testing.T, s *subject) {
			for i, status := range trigger.Statuses() {
				for n := range 3 + 2*i {
					s.create(t, eventIn(status, fmt.Sprint("org", n%2), time.Duration(n)*time.Second))
				}
			}
			for most := 1; most < 12; most++ {
				want := trigger.AllStats{NextDue: moment(0)}
				for i, status := range trigger.Statuses() {
					if count := openCountOf(&want, status); count != nil {
						*count = mortise.CountUpTo(3+2*i, most)
					}
				}
				s.hasStatsAll(t, most, want)
			}
		}},

	{Rule{
		"counter/one-moment", "Stats and StatsAll count at one moment: an event that changes meanwhile is " +
			"counted once.",
	}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, eventIn(trigger.StatusReceived, orgA, 0))
			look := func(i int) (err error) {
				var counts []mortise.Count
				var first time.Time
				if i%2 == 0 {
					var got trigger.Stats
					got, err = s.Store.Stats(t.Context(), orgA, 10)
					counts = []mortise.Count{got.Waiting, got.Running, got.Failed, got.Completed}
					first = got.OldestWaiting
				} else {
					var got trigger.AllStats
					got, err = s.Store.StatsAll(t.Context(), 10)
					counts = []mortise.Count{got.Waiting, got.Running, got.Failed}
					first = got.NextDue
				}
				if err != nil {
					return err
				}
				sum := 0
				for _, c := range counts {
					sum += c.N
				}
				if sum != 1 {
					return fmt.Errorf("an event is counted %d times: %v", sum, counts)
				}
				if (counts[0].N == 0) != first.IsZero() {
					return fmt.Errorf("%s events wait, the first one since %s", counts[0], first)
				}
				return nil
			}
			open := []trigger.Status{trigger.StatusProcessing, trigger.StatusFailed, trigger.StatusReceived}
			conformance.Watch(t, 4, look, 100, func(n int) {
				s.update(t, e, func(e *trigger.Event) { e.Status = open[n%len(open)] })
			})
		}},

	{Rule{
		"counter/durable", "What is counted outlives the process.",
	}, needStore | needReopen,
		func(t *testing.T, s *subject) {
			want := trigger.Stats{OldestWaiting: moment(0)}
			for _, status := range trigger.Statuses() {
				s.create(t, eventIn(status, orgA, 0))
				countOf(&want, status).N++
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
