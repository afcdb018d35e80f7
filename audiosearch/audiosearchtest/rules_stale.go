package audiosearchtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
)

// stale returns the IDs of the runs that StaleRuns returns, whatever their DueAt.
func (s *subject) stale(t *testing.T, checked time.Duration, limit int) []int64 {
	t.Helper()
	return s.staleDue(t, moment(checked), time.Time{}, limit)
}

func (s *subject) staleDue(t *testing.T, checked, due time.Time, limit int) []int64 {
	t.Helper()
	runs, err := s.Runs.StaleRuns(t.Context(), checked, due, limit)
	require.NoError(t, err)
	ids := make([]int64, 0, len(runs))
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// checkedRun returns a run whose job was last known to be queued at the moment.
func checkedRun(org string, checked time.Duration) audiosearch.Run {
	r := plainRun(org, -time.Hour)
	r.CheckedAt = moment(checked)
	return r
}

// staleRules are the rules of StaleRuns.
var staleRules = []rule{
	{Rule{"runs/stale-oldest-first",
		"StaleRuns returns runs of all organizations, whole ones without results, by " +
			"CheckedAt, those checked longest ago first."}, needRuns,
		func(t *testing.T, s *subject) {
			require.Empty(t, s.stale(t, 0, 10))
			want := make([]audiosearch.Run, 6)
			for _, i := range []int{4, 1, 5, 0, 3, 2} {
				want[i] = endedRun([]string{orgA, orgB, "org-c"}[i%3], 0)
				want[i].State, want[i].CreatedAt = audiosearch.StateRunning, moment(-time.Duration(i)*time.Hour)
				want[i].CheckedAt, want[i].DueAt = moment(time.Duration(i)*time.Microsecond),
					moment(-time.Duration(i)*time.Minute)
				if i == 0 {
					want[i].CheckedAt = time.Time{}
				}
				want[i] = s.createRun(t, want[i])
			}
			got, err := s.Runs.StaleRuns(t.Context(), moment(time.Hour), moment(time.Hour), 100)
			require.NoError(t, err)
			require.Len(t, got, len(want))
			for i := range got {
				sameRun(t, want[i], got[i])
				spoilRun(&got[i])
				s.hasRun(t, want[i])
			}
		}},

	{Rule{"runs/stale-checked-is-strict",
		"StaleRuns returns runs whose CheckedAt is before the given time, not those at " +
			"it."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, checkedRun(orgA, 0))
			require.Empty(t, s.stale(t, -time.Microsecond, 10))
			require.Empty(t, s.stale(t, 0, 10))
			require.Equal(t, []int64{r.ID}, s.stale(t, time.Microsecond, 10))
		}},

	{Rule{"runs/stale-due-is-strict",
		"StaleRuns returns runs whose DueAt is before the given time, not those at it."}, needRuns,
		func(t *testing.T, s *subject) {
			for _, checked := range []time.Time{{}, moment(0)} {
				r := plainRun(orgA, 0)
				r.CheckedAt, r.DueAt = checked, moment(time.Hour)
				s.createRun(t, r)
				for due, want := range map[time.Duration]int{-time.Microsecond: 0, 0: 0, time.Microsecond: 1} {
					require.Len(t, s.staleDue(t, moment(1), moment(time.Hour+due), 10), want,
						"%v after its DueAt", due)
				}
				s.updateRun(t, r, func(r *audiosearch.Run) { r.State = audiosearch.StateTerminated })
			}
		}},

	{Rule{"runs/stale-zero-times",
		"A zero CheckedAt or DueAt is before every time, and a zero due selects runs " +
			"whatever their DueAt."}, needRuns,
		func(t *testing.T, s *subject) {
			var runs []int64
			for i, due := range []time.Time{{}, moment(1000 * time.Hour)} {
				for j, checked := range []time.Time{{}, moment(0)} {
					r := plainRun(orgA, 0)
					r.ID, r.CheckedAt, r.DueAt = int64(1+i+2*j), checked, due
					runs = append(runs, s.createRun(t, r).ID)
				}
			}
			never, once := []int64{runs[0], runs[2]}, []int64{runs[1], runs[3]}
			earliest := time.Time{}.Add(time.Microsecond)
			require.ElementsMatch(t, never, s.staleDue(t, earliest, time.Time{}, 10))
			require.Equal(t, never[:1], s.staleDue(t, earliest, earliest, 10))
			require.ElementsMatch(t, runs, s.staleDue(t, moment(time.Hour), time.Time{}, 10))
			require.Equal(t, []int64{never[0], once[0]}, s.staleDue(t, moment(time.Hour), earliest, 10))
		}},

	{Rule{"runs/stale-not-ended",
		"StaleRuns returns runs that have not ended, in whatever state they are."}, needRuns,
		func(t *testing.T, s *subject) {
			for _, checked := range []bool{true, false} {
				var want []int64
				for i, state := range []audiosearch.State{
					audiosearch.StatePending, audiosearch.StateQueued, audiosearch.StateRunning,
					audiosearch.StateTerminating, audiosearch.StateTerminated,
				} {
					r := checkedRun(orgA, time.Duration(i)*time.Second)
					if r.State = state; !checked {
						r.CheckedAt = time.Time{}
					}
					s.createRun(t, r)
					if state != audiosearch.StateTerminated {
						want = append(want, r.ID)
					}
				}
				require.ElementsMatch(t, want, s.stale(t, time.Hour, 10))
				for _, id := range want {
					s.updateRun(t, audiosearch.Run{Organization: orgA, ID: id},
						func(r *audiosearch.Run) { r.State = audiosearch.StateTerminated })
				}
				require.Empty(t, s.stale(t, time.Hour, 10))
			}
		}},

	{Rule{"runs/stale-limit", "StaleRuns returns at most limit runs."}, needRuns,
		func(t *testing.T, s *subject) {
			var want []int64
			for i := range 5 {
				r := checkedRun(orgA, time.Duration(i)*time.Second)
				if i == 0 {
					r.CheckedAt = time.Time{}
				}
				want = append(want, s.createRun(t, r).ID)
			}
			for limit := 1; limit <= 6; limit++ {
				require.Equal(t, want[:min(limit, 5)], s.stale(t, time.Hour, limit))
			}
		}},

	{Rule{"runs/stale-follows-updates", "StaleRuns goes by the runs as they are now."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, checkedRun(orgA, 0))
			s.updateRun(t, r, func(r *audiosearch.Run) { r.CheckedAt = moment(2 * time.Hour) })
			require.Empty(t, s.stale(t, time.Hour, 10))
			require.Equal(t, []int64{r.ID}, s.stale(t, 3*time.Hour, 10))
			s.updateRun(t, r, func(r *audiosearch.Run) { r.DueAt = moment(4 * time.Hour) })
			require.Empty(t, s.staleDue(t, moment(3*time.Hour), moment(3*time.Hour), 10))
			s.updateRun(t, r, func(r *audiosearch.Run) { r.CheckedAt = time.Time{} })
			require.Equal(t, []int64{r.ID}, s.stale(t, -time.Hour, 10))
			s.updateRun(t, r, func(r *audiosearch.Run) { r.State = audiosearch.StateTerminated })
			require.Empty(t, s.stale(t, 3*time.Hour, 10))
		}},
}

// pruning is PruneRuns with a time.
func (s *subject) pruning(before time.Duration) steptest.Do {
	return func(ctx context.Context, limit int) (int, bool, error) {
		return s.Runs.(audiosearch.Pruner).PruneRuns(ctx, moment(before), limit)
	}
}

// prune returns how many runs PruneRuns removed, in all its steps.
func (s *subject) prune(t *testing.T, before time.Duration) int {
	t.Helper()
	return steptest.All(t, 10, s.pruning(before))
}

// pruneRules are the rules of Runs that are a Pruner.
var pruneRules = []rule{
	{Rule{"runpruner/removes", "PruneRuns removes runs of all organizations that finished before the given time, with their results, and returns how many."}, needRuns | needRunPruner,
		func(t *testing.T, s *subject) {
			require.Zero(t, s.prune(t, 0))
			old := []audiosearch.Run{s.createRun(t, endedRun(orgA, -time.Hour)), s.createRun(t, endedRun(orgB, -2*time.Hour))}
			kept := s.createRun(t, endedRun(orgA, time.Hour))
			require.Equal(t, 2, s.prune(t, 0))
			for _, r := range old {
				s.isUnknown(t, r.Organization, r.ID)
				again := plainRun(r.Organization, 0)
				again.ID = r.ID
				s.createRun(t, again)
				require.Empty(t, s.results(t, again), "the results of the run before")
			}
			s.hasRun(t, kept)
			sameResults(t, kept.Results, s.results(t, kept))
			require.Zero(t, s.prune(t, 0))
		}},

	{Rule{"runpruner/before-is-strict", "PruneRuns removes runs that finished before the given time, not those that finished at it."}, needRuns | needRunPruner,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, endedRun(orgA, 0))
			require.Zero(t, s.prune(t, -time.Microsecond))
			require.Zero(t, s.prune(t, 0))
			s.hasRun(t, r)
			require.Equal(t, 1, s.prune(t, time.Microsecond))
		}},

	{Rule{"runpruner/not-finished", "PruneRuns leaves runs that have not finished, however old they are."}, needRuns | needRunPruner,
		func(t *testing.T, s *subject) {
			for _, state := range []audiosearch.State{audiosearch.StatePending, audiosearch.StateQueued, audiosearch.StateRunning, audiosearch.StateTerminating} {
				r := plainRun(orgA, -1000*time.Hour)
				r.State = state
				s.createRun(t, r)
				require.Zero(t, s.prune(t, 1000*time.Hour), state)
				s.hasRun(t, r)
			}
		}},
}

// trimming is TrimRuns with a number of runs that stay.
func (s *subject) trimming(keep int) steptest.Do {
	return func(ctx context.Context, limit int) (int, bool, error) {
		return s.Runs.(audiosearch.Pruner).TrimRuns(ctx, keep, limit)
	}
}

// trim returns how many runs TrimRuns removed, in all its steps.
func (s *subject) trim(t *testing.T, keep int) int {
	t.Helper()
	return steptest.All(t, 10, s.trimming(keep))
}

// trimRules are the rules of TrimRuns.
var trimRules = []rule{
	{Rule{"runpruner/trim", "TrimRuns leaves, of each organization, as many of the runs that finished last as it is to keep, removes the others with their results, and returns how many."}, needRuns | needRunPruner,
		func(t *testing.T, s *subject) {
			require.Zero(t, s.trim(t, 0))
			var runs []audiosearch.Run
			for i := range 5 {
				runs = append(runs, s.createRun(t, endedRun(orgA, -time.Duration(i)*time.Hour)))
			}
			few := s.createRun(t, endedRun(orgB, -1000*time.Hour))
			require.Zero(t, s.trim(t, 5))
			require.Equal(t, 3, s.trim(t, 2))
			for i, r := range runs {
				if i < 2 {
					s.hasRun(t, r)
					sameResults(t, r.Results, s.results(t, r))
					continue
				}
				s.isUnknown(t, orgA, r.ID)
			}
			s.hasRun(t, few)
			require.Zero(t, s.trim(t, 2))
			require.Equal(t, 3, s.trim(t, 0))
			s.isUnknown(t, orgB, few.ID)
		}},

	{Rule{"runpruner/trim-ties", "Of two runs that finished at one time, TrimRuns removes the one with the smaller ID first."}, needRuns | needRunPruner,
		func(t *testing.T, s *subject) {
			var ids []int64
			for range 6 {
				ids = append(ids, s.createRun(t, endedRun(orgA, 0)).ID)
			}
			slices.Sort(ids)
			require.Equal(t, 3, s.trim(t, 3))
			for i, id := range ids {
				_, err := s.Runs.Run(t.Context(), orgA, id)
				if i < 3 {
					require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
				} else {
					require.NoError(t, err)
				}
			}
		}},

	{Rule{"runpruner/trim-not-ended", "Runs that have not ended neither go by TrimRuns nor count."}, needRuns | needRunPruner,
		func(t *testing.T, s *subject) {
			var open []audiosearch.Run
			for _, state := range []audiosearch.State{audiosearch.StatePending, audiosearch.StateQueued, audiosearch.StateRunning, audiosearch.StateTerminating} {
				r := plainRun(orgA, 0)
				r.State = state
				open = append(open, s.createRun(t, r))
			}
			ended := s.createRun(t, endedRun(orgA, 0))
			require.Zero(t, s.trim(t, 1))
			require.Equal(t, 1, s.trim(t, 0))
			s.isUnknown(t, orgA, ended.ID)
			for _, r := range open {
				s.hasRun(t, r)
			}
		}},
}
