package audiosearchtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// statsAllRules are the rules of StatsAll.
var statsAllRules = []rule{
	{Rule{
		"counter/all", "StatsAll counts the runs of all organizations that wait, and those that are " +
			"running, as they are now.",
	}, needRuns | needCounterField,
		func(t *testing.T, s *subject) {
			s.hasStatsAll(t, 100, audiosearch.AllStats{})
			var want audiosearch.AllStats
			var runs []audiosearch.Run
			for i, org := range []string{orgA, orgB, "", "org-c"} {
				for n, c := range runCounts() {
					for range i + n {
						runs = append(runs, s.createRun(t, c.run(org, time.Hour)))
						if c.all != nil {
							c.all(&want).N++
						}
					}
				}
			}
			want.NextDue = moment(time.Hour)
			s.hasStatsAll(t, 100, want)
			s.hasStatsAll(t, max(want.Waiting.N, want.Running.N), want)
			for _, r := range runs {
				s.updateRun(t, r, func(r *audiosearch.Run) { r.State = audiosearch.StateTerminating })
			}
			s.hasStatsAll(t, 1000, audiosearch.AllStats{Running: exactly(len(runs))})
		}},

	{Rule{
		"counter/all-next-due", "NextDue is the earliest DueAt of the runs that wait, but for zero ones; " +
			"zero if there is none.",
	}, needRuns | needCounterField,
		func(t *testing.T, s *subject) {
			next := func(want time.Time) {
				t.Helper()
				got, err := s.Counter.StatsAll(t.Context(), 100)
				require.NoError(t, err)
				sameTime(t, "NextDue", want, &got.NextDue)
			}
			for i, c := range runCounts() {
				r := c.run(orgA, 0)
				r.DueAt = moment(-time.Duration(i+1) * time.Hour)
				if c.waits() {
					r.DueAt = time.Time{}
				}
				s.createRun(t, r)
			}
			next(time.Time{})
			counts := runCounts()
			var last audiosearch.Run
			for i, d := range []time.Duration{1000 * 365 * 24 * time.Minute, time.Hour, time.Microsecond, 0} {
				last = counts[i%2].run([]string{orgA, orgB, ""}[i%3], -time.Duration(i)*time.Hour)
				last.DueAt = moment(d)
				s.createRun(t, last)
				next(moment(d))
			}
			s.updateRun(t, last, func(r *audiosearch.Run) { r.State = audiosearch.StateRunning })
			next(moment(time.Microsecond))
			s.updateRun(t, last, func(r *audiosearch.Run) {
				r.State, r.DueAt = audiosearch.StateQueued, moment(time.Minute)
			})
			next(moment(time.Microsecond))
			s.updateRun(t, last, func(r *audiosearch.Run) { r.DueAt = moment(-time.Minute) })
			next(moment(-time.Minute))
		}},

	{Rule{
		"counter/all-most",
		"Each number of StatsAll is exact up to most, and else it is most and More.",
	}, needRuns | needCounterField,
		func(t *testing.T, s *subject) {
			for i := range 5 {
				for _, c := range runCounts() {
					s.createRun(t, c.run(fmt.Sprint("org", i%2), 0))
					if c.state == audiosearch.StateRunning {
						s.createRun(t, c.run(orgA, 0))
					}
				}
			}
			for most := 1; most < 20; most++ {
				s.hasStatsAll(t, most, audiosearch.AllStats{
					Waiting: mortise.CountUpTo(10, most),
					Running: mortise.CountUpTo(15, most), NextDue: moment(0),
				})
			}
		}},
}

// counterCalls calls every method of Counter.
func (s *subject) counterCalls() []call {
	return []call{
		{"Stats", func(ctx context.Context, org, _ string) error {
			_, err := s.Counter.Stats(ctx, org, 10)
			return err
		}},
		{"StatsAll", func(ctx context.Context, _, _ string) error {
			_, err := s.Counter.StatsAll(ctx, 10)
			return err
		}},
	}
}

// counterRules are about both.
var counterRules = []rule{
	{Rule{
		"counter/one-moment", "Stats and StatsAll count runs at one moment: one that changes meanwhile is " +
			"counted once.",
	}, needCounter,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			look := func(i int) (err error) {
				var counts []mortise.Count
				if i%2 == 0 {
					var got audiosearch.Stats
					got, err = s.Counter.Stats(t.Context(), orgA, 10)
					counts = []mortise.Count{
						got.Waiting, got.Running, got.Succeeded, got.ClientErrors, got.InternalErrors,
					}
					if err == nil && (got.Waiting.N == 0) != got.OldestWaiting.IsZero() {
						return fmt.Errorf("%s runs wait, the oldest one since %s", got.Waiting, got.OldestWaiting)
					}
				} else {
					var got audiosearch.AllStats
					got, err = s.Counter.StatsAll(t.Context(), 10)
					counts = []mortise.Count{got.Waiting, got.Running}
				}
				sum := 0
				for _, c := range counts {
					sum += c.N
				}
				if err == nil && sum != 1 {
					err = fmt.Errorf("a run is counted %d times: %v", sum, counts)
				}
				return err
			}
			open := runCounts()[1:3] // of those that StatsAll counts
			conformance.Watch(t, 4, look, 100, func(n int) {
				s.updateRun(t, r, func(r *audiosearch.Run) { r.State = open[n%len(open)].state })
			})
		}},

	{Rule{"counter/ended-context", endedText}, needCounter,
		func(t *testing.T, s *subject) {
			allFail(conformance.Ended(t), t, s.counterCalls())
			allWork(t, s.counterCalls())
		}},

	{Rule{"counter/failure", brokenText}, needCounter | needBreak,
		func(t *testing.T, s *subject) {
			heal := s.breakIt(t)
			allFail(t.Context(), t, s.counterCalls())
			heal()
			allWork(t, s.counterCalls())
		}},

	{Rule{
		"counter/durable",
		"What is counted outlives the process.",
	}, needCounter | needReopen,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.put(t, orgA, setA, video("a", nil), video("b", nil))
			want := audiosearch.Stats{Datasets: exactly(1), Videos: exactly(2), OldestWaiting: moment(0)}
			open := audiosearch.AllStats{Waiting: exactly(2), Running: exactly(2), NextDue: moment(0)}
			for _, c := range runCounts() {
				s.createRun(t, c.run(orgA, 0))
				c.stats(&want).N++
			}
			s.hasStats(t, orgA, 10, want)
			s.hasStatsAll(t, 10, open)
			s.reopen(t)
			s.hasStats(t, orgA, 10, want)
			s.hasStatsAll(t, 10, open)
		}},
}
