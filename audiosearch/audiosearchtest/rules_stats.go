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
	"github.com/seed-6363c74e/mortise/internal/conformance/countertest"
)

// exactly is the Count of n things that were counted to the end.
func exactly(n int) mortise.Count { return mortise.Count{N: n} }

// hasStats requires that Stats returns want, where it counts up to most.
func (s *subject) hasStats(t *testing.T, org string, most int, want audiosearch.Stats) {
	t.Helper()
	got, err := s.Counter.Stats(t.Context(), org, most)
	require.NoError(t, err, "Stats of %q up to %d", org, most)
	conformance.SameTime(t, "OldestWaiting", want.OldestWaiting, &got.OldestWaiting)
	require.Equal(t, want, got, "Stats of %q up to %d", org, most)
}

// hasStatsAll is hasStats for StatsAll.
func (s *subject) hasStatsAll(t *testing.T, most int, want audiosearch.AllStats) {
	t.Helper()
	got, err := s.Counter.StatsAll(t.Context(), most)
	require.NoError(t, err, "StatsAll up to %d", most)
	conformance.SameTime(t, "NextDue", want.NextDue, &got.NextDue)
	require.Equal(t, want, got, "StatsAll up to %d", most)
}

// waitingRun returns a new run, which is due when it was created.
func waitingRun(org string, created time.Duration) audiosearch.Run {
	r := plainRun(org, created)
	r.DueAt = r.CreatedAt
	return r
}

// counter shows how runs are counted.
func (s *subject) counter() *countertest.Counter[audiosearch.Run] {
	in := func(state audiosearch.State, end audiosearch.Termination) func(*audiosearch.Run) {
		return func(r *audiosearch.Run) { r.State, r.Termination = state, end }
	}
	return &countertest.Counter[audiosearch.Run]{
		States: []countertest.State[audiosearch.Run]{
			{Set: in(audiosearch.StatePending, ""), Waits: true, Stats: 0, All: 0},
			{Set: in(audiosearch.StateQueued, ""), Waits: true, Stats: 0, All: 0},
			{Set: in(audiosearch.StateRunning, ""), Stats: 1, All: 1},
			{Set: in(audiosearch.StateTerminating, ""), Stats: 1, All: 1},
			{Set: in(audiosearch.StateTerminated, audiosearch.Success), Stats: 2, All: -1},
			{Set: in(audiosearch.StateTerminated, audiosearch.ClientError), Stats: 3, All: -1},
			{Set: in(audiosearch.StateTerminated, audiosearch.InternalError), Stats: 4, All: -1},
		},
		Names:  exactNames,
		New:    waitingRun,
		Due:    func(r *audiosearch.Run, at time.Time) { r.DueAt = at },
		Add:    s.createRun,
		Update: s.updateRun,
		Stats: func(ctx context.Context, org string, most int) (countertest.Counts, error) {
			got, err := s.Counter.Stats(ctx, org, most)
			return countertest.Counts{
				Numbers: []mortise.Count{
					got.Waiting, got.Running, got.Succeeded, got.ClientErrors, got.InternalErrors, got.Datasets, got.Videos,
				},
				First: got.OldestWaiting,
			}, err
		},
		StatsAll: func(ctx context.Context, most int) (countertest.Counts, error) {
			got, err := s.Counter.StatsAll(ctx, most)
			return countertest.Counts{Numbers: []mortise.Count{got.Waiting, got.Running}, First: got.NextDue}, err
		},
	}
}

// sharedStatsRules are those of every counter. Two of them count datasets and videos, too.
func sharedStatsRules() []rule {
	words := countertest.Words{Things: "runs", Made: "CreatedAt", Open: "that wait, and those that are running"}
	counted := func(needs conformance.Need, rules []countertest.Rule[audiosearch.Run]) (all []rule) {
		for _, r := range rules {
			all = append(all, rule{Rule{r.ID, r.Text}, needs, func(t *testing.T, s *subject) {
				r.Check(t, s.counter())
				switch r.ID {
				case "counter/of-organization":
					s.countsSetsOfOrganizations(t)
				case "counter/most":
					s.countsSetsUpToMost(t)
				}
			}})
		}
		return all
	}
	return append(counted(needCounter, countertest.Rules[audiosearch.Run]("counter/runs", words)),
		counted(needRuns|needCounterField, countertest.RulesOfAll[audiosearch.Run](words))...)
}

// hasSets requires that Stats counts so many datasets and videos, up to most.
func (s *subject) hasSets(t *testing.T, org string, most, datasets, videos int) {
	t.Helper()
	got, err := s.Counter.Stats(t.Context(), org, most)
	require.NoError(t, err)
	require.Equal(t, mortise.CountUpTo(datasets, most), got.Datasets, "datasets of %q up to %d", org, most)
	require.Equal(t, mortise.CountUpTo(videos, most), got.Videos, "videos of %q up to %d", org, most)
}

func (s *subject) countsSetsOfOrganizations(t *testing.T) {
	t.Helper()
	for i, org := range exactNames {
		s.makeDataset(t, org, setA)
		for n := range i {
			s.put(t, org, setA, video(fmt.Sprint(n), nil))
		}
	}
	for i, org := range exactNames {
		s.hasSets(t, org, 100, 1, i)
	}
}

func (s *subject) countsSetsUpToMost(t *testing.T) {
	t.Helper()
	for i := range 3 {
		id := fmt.Sprint("set", i)
		s.makeDataset(t, orgA, id)
		s.put(t, orgA, id, video("a", nil), video("b", nil), video("c", nil))
	}
	for most := 3; most < 12; most++ { // never fewer than there are datasets
		s.hasSets(t, orgA, most, 3, 9)
	}
}

// statsRules are what else Stats counts.
var statsRules = []rule{
	{Rule{
		"counter/nothing",
		"An organization that has nothing has nothing to count, without an error.",
	}, needCounter,
		func(t *testing.T, s *subject) {
			s.hasStats(t, orgA, 10, audiosearch.Stats{})
			s.makeDataset(t, orgB, setA)
			s.put(t, orgB, setA, video("v", nil))
			s.createRun(t, plainRun(orgB, 0))
			s.hasStats(t, orgA, 10, audiosearch.Stats{})
			s.hasStats(t, "", 10, audiosearch.Stats{})
		}},

	{Rule{
		"counter/videos",
		"Stats counts datasets, and the videos of all of them, as they are now.",
	}, needCounter,
		func(t *testing.T, s *subject) {
			has := func(datasets, videos int) {
				t.Helper()
				want := audiosearch.Stats{Datasets: exactly(datasets), Videos: exactly(videos)}
				s.hasStats(t, orgA, 100, want)
			}
			s.makeDataset(t, orgA, setA)
			has(1, 0)
			s.makeDataset(t, orgA, setB)
			s.put(t, orgA, setA, video("a", nil), video("b", nil), video("c", nil))
			s.put(t, orgA, setB, video("a", nil), video("d", nil))
			has(2, 5)
			s.put(t, orgA, setA, video("a", everyKind()), video("e", nil)) // one of them is replaced
			has(2, 6)
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "b"))
			has(2, 5)
			require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA))
			has(1, 2)
			s.makeDataset(t, orgA, setA)
			has(2, 2)
		}},

	{Rule{
		"counter/most-datasets", "If there are more than most datasets, Videos is not more than there are, or " +
			"than most, and it has More unless it is exact.",
	}, needCounter,
		func(t *testing.T, s *subject) {
			const datasets = 6
			for i := range datasets {
				id := fmt.Sprint("set", i)
				s.makeDataset(t, orgA, id)
				if i%2 == 1 {
					s.put(t, orgA, id, video("a", nil))
				}
			}
			for most := 1; most <= datasets; most++ {
				got, err := s.Counter.Stats(t.Context(), orgA, most)
				require.NoError(t, err)
				require.Equal(t, mortise.CountUpTo(datasets, most), got.Datasets, "up to %d", most)
				require.LessOrEqual(t, got.Videos.N, min(most, datasets/2), "up to %d", most)
				if got.Videos.N != datasets/2 {
					require.True(t, got.Videos.More, "videos up to %d: %s", most, got.Videos)
				}
			}
		}},

	{Rule{
		"counter/forgotten-runs", "Runs that were forgotten are not counted.",
	}, needCounter | needRunPruner,
		func(t *testing.T, s *subject) {
			for i := range 4 {
				s.createRun(t, endedRun(orgA, time.Duration(i)*time.Hour))
			}
			s.hasStats(t, orgA, 10, audiosearch.Stats{Succeeded: exactly(4)})
			require.Equal(t, 1, s.prune(t, time.Minute, 10))
			s.hasStats(t, orgA, 10, audiosearch.Stats{Succeeded: exactly(3)})
			require.Equal(t, 2, s.trim(t, 1, 10))
			s.hasStats(t, orgA, 10, audiosearch.Stats{Succeeded: exactly(1)})
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

// counterRules are about Stats and StatsAll.
var counterRules = []rule{
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
			for _, state := range s.counter().States {
				r := waitingRun(orgA, 0)
				state.Set(&r)
				s.createRun(t, r)
			}
			want := audiosearch.Stats{
				Datasets: exactly(1), Videos: exactly(2), Waiting: exactly(2), Running: exactly(2), OldestWaiting: moment(0),
				Succeeded: exactly(1), ClientErrors: exactly(1), InternalErrors: exactly(1),
			}
			open := audiosearch.AllStats{Waiting: exactly(2), Running: exactly(2), NextDue: moment(0)}
			s.hasStats(t, orgA, 10, want)
			s.hasStatsAll(t, 10, open)
			s.reopen(t)
			s.hasStats(t, orgA, 10, want)
			s.hasStatsAll(t, 10, open)
		}},
}
