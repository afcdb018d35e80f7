package audiosearchtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// exactly is the Count of n things that were counted to the end.
func exactly(n int) mortise.Count { return mortise.Count{N: n} }

// hasStats requires that Stats returns want, where it counts up to most.
func (s *subject) hasStats(t *testing.T, org string, most int, want audiosearch.Stats) {
	t.Helper()
	got, err := s.Counter.Stats(t.Context(), org, most)
	require.NoError(t, err, "Stats of %q up to %d", org, most)
	sameTime(t, "OldestWaiting", want.OldestWaiting, &got.OldestWaiting)
	require.Equal(t, want, got, "Stats of %q up to %d", org, most)
}

// hasStatsAll is hasStats for StatsAll.
func (s *subject) hasStatsAll(t *testing.T, most int, want audiosearch.AllStats) {
	t.Helper()
	got, err := s.Counter.StatsAll(t.Context(), most)
	require.NoError(t, err, "StatsAll up to %d", most)
	sameTime(t, "NextDue", want.NextDue, &got.NextDue)
	require.Equal(t, want, got, "StatsAll up to %d", most)
}

// aCount is a place of Stats or StatsAll for runs like one.
type aCount struct {
	state       audiosearch.State
	termination audiosearch.Termination
	stats       func(*audiosearch.Stats) *mortise.Count
	all         func(*audiosearch.AllStats) *mortise.Count // nil: it has ended
}

// runCounts are where runs are counted.
func runCounts() []aCount {
	waiting := func(s *audiosearch.Stats) *mortise.Count { return &s.Waiting }
	running := func(s *audiosearch.Stats) *mortise.Count { return &s.Running }
	allWaiting := func(o *audiosearch.AllStats) *mortise.Count { return &o.Waiting }
	allRunning := func(o *audiosearch.AllStats) *mortise.Count { return &o.Running }
	const ended = audiosearch.StateTerminated
	return []aCount{
		{audiosearch.StatePending, "", waiting, allWaiting},
		{audiosearch.StateQueued, "", waiting, allWaiting},
		{audiosearch.StateRunning, "", running, allRunning},
		{audiosearch.StateTerminating, "", running, allRunning},
		{ended, audiosearch.Success,
			func(s *audiosearch.Stats) *mortise.Count { return &s.Succeeded }, nil},
		{ended, audiosearch.ClientError,
			func(s *audiosearch.Stats) *mortise.Count { return &s.ClientErrors }, nil},
		{ended, audiosearch.InternalError,
			func(s *audiosearch.Stats) *mortise.Count { return &s.InternalErrors }, nil},
	}
}

// run returns a new run that is counted there, and is due when it was created.
func (c *aCount) run(org string, created time.Duration) audiosearch.Run {
	r := plainRun(org, created)
	r.State, r.Termination, r.DueAt = c.state, c.termination, r.CreatedAt
	return r
}

func (c *aCount) waits() bool {
	return c.state == audiosearch.StatePending || c.state == audiosearch.StateQueued
}

// statsRules are the rules of Stats.
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
		"counter/of-organization",
		"Stats counts what one organization has, whose name is the same if every byte " +
			"is.",
	}, needCounter,
		func(t *testing.T, s *subject) {
			for i, org := range exactNames {
				s.makeDataset(t, org, setA)
				for n := range i {
					s.put(t, org, setA, video(fmt.Sprint(n), nil))
				}
				for _, c := range runCounts() {
					for range i % 3 {
						s.createRun(t, c.run(org, time.Duration(i)*time.Second))
					}
				}
			}
			for i, org := range exactNames {
				want := audiosearch.Stats{Datasets: exactly(1), Videos: exactly(i)}
				for _, c := range runCounts() {
					c.stats(&want).N += i % 3
				}
				if i%3 > 0 {
					want.OldestWaiting = moment(time.Duration(i) * time.Second)
				}
				s.hasStats(t, org, 100, want)
			}
		}},

	{Rule{
		"counter/runs", "Stats counts the runs that wait and those that are running by their State, and " +
			"those that have ended by their Termination, as they are now.",
	}, needCounter,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			other := runCounts()[4]
			s.createRun(t, other.run(orgA, 0))
			for _, from := range runCounts() {
				for _, c := range append(runCounts(), from) {
					s.updateRun(t, r, func(r *audiosearch.Run) {
						r.State, r.Termination = c.state, c.termination
					})
					want := audiosearch.Stats{}
					other.stats(&want).N++
					c.stats(&want).N++
					if c.waits() {
						want.OldestWaiting = moment(0)
					}
					s.hasStats(t, orgA, 100, want)
				}
			}
		}},

	{Rule{
		"counter/oldest-waiting", "OldestWaiting is the earliest CreatedAt of the runs that wait, and zero if " +
			"none does.",
	}, needCounter,
		func(t *testing.T, s *subject) {
			oldest := func(want time.Time) {
				t.Helper()
				got, err := s.Counter.Stats(t.Context(), orgA, 100)
				require.NoError(t, err)
				sameTime(t, "OldestWaiting", want, &got.OldestWaiting)
			}
			for i, c := range runCounts() {
				if !c.waits() {
					s.createRun(t, c.run(orgA, -time.Duration(i)*time.Hour))
				}
			}
			oldest(time.Time{})
			s.createRun(t, plainRun(orgB, -time.Hour))
			counts := runCounts()
			var runs []audiosearch.Run
			for _, i := range []int{2, 0, 3, 1} {
				r := counts[i%2].run(orgA, time.Duration(i)*time.Microsecond)
				runs = append(runs, s.createRun(t, r))
			}
			oldest(moment(0))
			for i, at := range []int{1, 3, 0, 2} { // oldest first
				s.updateRun(t, runs[at], func(r *audiosearch.Run) { r.State = audiosearch.StateRunning })
				if i < 3 {
					oldest(moment(time.Duration(i+1) * time.Microsecond))
				}
			}
			oldest(time.Time{})
			s.updateRun(t, runs[2], func(r *audiosearch.Run) { r.State = audiosearch.StateQueued })
			oldest(runs[2].CreatedAt)
		}},

	{Rule{
		"counter/most",
		"Each number of Stats is exact up to most, and else it is most and More.",
	}, needCounter,
		func(t *testing.T, s *subject) {
			want := audiosearch.Stats{OldestWaiting: moment(0)}
			n := 2
			for _, c := range runCounts() {
				if c.state != audiosearch.StatePending && c.state != audiosearch.StateRunning {
					n++ // the waiting and the running are counted together
				}
				c.stats(&want).N += n
				for i := range n {
					s.createRun(t, c.run(orgA, time.Duration(i)*time.Second))
				}
			}
			for i := range 3 {
				id := fmt.Sprint("set", i)
				s.makeDataset(t, orgA, id)
				s.put(t, orgA, id, video("a", nil), video("b", nil), video("c", nil))
			}
			want.Datasets, want.Videos = exactly(3), exactly(9)
			for most := 3; most < 12; most++ { // never fewer than there are datasets
				limited := want
				counts := []*mortise.Count{&limited.Datasets, &limited.Videos}
				for _, c := range runCounts() {
					if c.state != audiosearch.StateQueued && c.state != audiosearch.StateTerminating {
						counts = append(counts, c.stats(&limited))
					}
				}
				for _, c := range counts {
					*c = mortise.CountUpTo(c.N, most)
				}
				s.hasStats(t, orgA, most, limited)
			}
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
