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

// overdue returns the IDs of the runs that Overdue returns.
func (s *subject) overdue(t *testing.T, before time.Duration, limit int) []int64 {
	t.Helper()
	runs, err := s.Runs.Overdue(t.Context(), moment(before), limit)
	require.NoError(t, err)
	return runIDs(runs)
}

// wokenRun returns a run that a worker should have by the moment.
func wokenRun(org string, wake time.Duration) audiosearch.Run {
	r := plainRun(org, -time.Hour)
	r.WakeAt = moment(wake)
	return r
}

// overdueRules are the rules of Overdue.
var overdueRules = []rule{
	{Rule{"runs/overdue-earliest-first",
		"Overdue returns runs of all organizations, whole ones without results, the earliest WakeAt first."}, needRuns,
		func(t *testing.T, s *subject) {
			require.Empty(t, s.overdue(t, 0, 10))
			want := make([]audiosearch.Run, 6)
			for _, i := range []int{4, 1, 5, 0, 3, 2} {
				r := endedRun([]string{orgA, orgB, "org-c"}[i%3], 0)
				r.State, r.CreatedAt = audiosearch.StateRunning, moment(-time.Duration(i)*time.Hour)
				r.WakeAt, r.DueAt = moment(time.Duration(i)*time.Microsecond), moment(-time.Duration(i)*time.Minute)
				want[i] = s.createRun(t, r)
			}
			got, err := s.Runs.Overdue(t.Context(), moment(time.Hour), 100)
			require.NoError(t, err)
			require.Len(t, got, len(want))
			for i := range got {
				sameRun(t, want[i], got[i])
				spoilRun(&got[i])
				s.hasRun(t, want[i])
			}
		}},

	{Rule{"runs/overdue-is-strict", "Overdue returns runs whose WakeAt is before the given time, not at it."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, wokenRun(orgA, 0))
			require.Empty(t, s.overdue(t, -time.Microsecond, 10))
			require.Empty(t, s.overdue(t, 0, 10))
			for _, later := range []time.Duration{time.Nanosecond, time.Microsecond} {
				require.Equal(t, []int64{r.ID}, s.overdue(t, later, 10), later)
			}
		}},

	{Rule{"runs/overdue-zero", "Overdue never returns a run whose WakeAt is zero."}, needRuns,
		func(t *testing.T, s *subject) {
			for _, due := range []time.Time{{}, moment(0)} {
				r := plainRun(orgA, 0)
				r.DueAt = due
				s.createRun(t, r)
			}
			r := s.createRun(t, wokenRun(orgA, 0))
			for _, before := range []time.Time{{}, time.Time{}.Add(time.Microsecond)} {
				found, err := s.Runs.Overdue(t.Context(), before, 10)
				require.NoError(t, err)
				require.Empty(t, found, before)
			}
			require.Equal(t, []int64{r.ID}, s.overdue(t, 100*365*24*time.Hour, 10))
		}},

	{Rule{"runs/overdue-every-state", "Overdue returns runs whatever their state."}, needRuns,
		func(t *testing.T, s *subject) {
			var want []int64
			for i, state := range []audiosearch.State{
				audiosearch.StatePending, audiosearch.StateQueued, audiosearch.StateRunning,
				audiosearch.StateTerminating, audiosearch.StateTerminated,
			} {
				r := wokenRun(orgA, time.Duration(i)*time.Second)
				r.State = state
				want = append(want, s.createRun(t, r).ID)
			}
			require.Equal(t, want, s.overdue(t, time.Hour, 10))
		}},

	{Rule{"runs/overdue-limit", "Overdue returns at most limit runs, also of runs of one time."}, needRuns,
		func(t *testing.T, s *subject) {
			var want []int64
			for i := range 8 {
				want = append(want, s.createRun(t, wokenRun(orgA, time.Duration(min(i, 5))*time.Second)).ID)
			}
			for limit := 1; limit <= 9; limit++ {
				got, n := s.overdue(t, time.Hour, limit), min(limit, 8)
				require.Len(t, got, n)
				require.Equal(t, want[:min(n, 5)], got[:min(n, 5)])
				slices.Sort(got)
				require.Len(t, slices.Compact(got), n)
				require.Subset(t, want, got)
			}
		}},

	{Rule{"runs/overdue-follows-updates", "Overdue goes by the WakeAt that runs have now."}, needRuns,
		func(t *testing.T, s *subject) {
			first, second := s.createRun(t, wokenRun(orgA, 0)), s.createRun(t, wokenRun(orgA, time.Minute))
			s.updateRun(t, first, func(r *audiosearch.Run) { r.WakeAt = moment(2 * time.Hour) })
			require.Equal(t, []int64{second.ID}, s.overdue(t, time.Hour, 10))
			require.Equal(t, []int64{second.ID, first.ID}, s.overdue(t, 3*time.Hour, 10))
			s.updateRun(t, second, func(r *audiosearch.Run) { r.WakeAt = time.Time{} })
			require.Equal(t, []int64{first.ID}, s.overdue(t, 3*time.Hour, 10))
			s.updateRun(t, second, func(r *audiosearch.Run) { r.WakeAt = moment(-time.Hour) })
			require.Equal(t, []int64{second.ID}, s.overdue(t, 0, 10))
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
			old := []audiosearch.Run{s.createRun(t, toldRun(orgA, -time.Hour)), s.createRun(t, toldRun(orgB, -2*time.Hour))}
			kept := s.createRun(t, toldRun(orgA, time.Hour))
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
			r := s.createRun(t, toldRun(orgA, 0))
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

// untoldRules are the rules of both methods that remove runs.
var untoldRules = []rule{
	{Rule{"runpruner/untold-stay", "Runs that have ended with a WakeAt stay, and count neither for the limit of PruneRuns nor for the limit of TrimRuns; " +
		"they count for how many runs TrimRuns keeps."}, needRuns | needRunPruner,
		func(t *testing.T, s *subject) {
			var untold []audiosearch.Run
			for _, finished := range []time.Duration{0, -20 * time.Hour, -30 * time.Hour} {
				untold = append(untold, s.createRun(t, endedRun(orgA, finished)))
			}
			for i := range 4 {
				s.createRun(t, toldRun(orgA, -time.Duration(i+1)*time.Hour))
			}
			require.Equal(t, 3, steptest.All(t, 1, s.trimming(2)), "runs that TrimRuns removed")
			require.Equal(t, 1, steptest.All(t, 1, s.pruning(time.Hour)), "runs that PruneRuns removed")
			for _, r := range untold {
				s.hasRun(t, r)
				sameResults(t, r.Results, s.results(t, r))
				s.updateRun(t, r, func(r *audiosearch.Run) { r.WakeAt = time.Time{} })
			}
			require.Equal(t, 2, s.trim(t, 1), "runs without a WakeAt")
			require.Equal(t, 1, s.prune(t, time.Hour), "runs without a WakeAt")
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
				runs = append(runs, s.createRun(t, toldRun(orgA, -time.Duration(i)*time.Hour)))
			}
			few := s.createRun(t, toldRun(orgB, -1000*time.Hour))
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
				ids = append(ids, s.createRun(t, toldRun(orgA, 0)).ID)
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
			ended := s.createRun(t, toldRun(orgA, 0))
			require.Zero(t, s.trim(t, 1))
			require.Equal(t, 1, s.trim(t, 0))
			s.isUnknown(t, orgA, ended.ID)
			for _, r := range open {
				s.hasRun(t, r)
			}
		}},
}
