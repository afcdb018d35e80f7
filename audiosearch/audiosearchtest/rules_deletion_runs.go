package audiosearchtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// deletionRunRules say what becomes of the runs of a deleted organization.
var deletionRunRules = []rule{
	{Rule{"deletion/hides-runs",
		"The runs of a deleted organization are ErrRunNotFound, with their results, and cannot be " +
			"changed."}, needDeletion | needRuns,
		func(t *testing.T, s *subject) {
			r := endedRun(orgA, 0)
			r.State = audiosearch.StateRunning
			r = s.createRun(t, r)
			calls := but(s.runCalls(r.ID), "CreateRun", "CreateRunAndAdd", "ListRuns", "Overdue", "PruneRuns", "TrimRuns")
			allWork(t, calls)
			s.mark(t, orgA, 0)
			for range 2 {
				for _, c := range calls {
					require.ErrorIs(t, c.do(t.Context(), orgA, setA), audiosearch.ErrRunNotFound, c.name)
				}
				s.removeAll(t, 1)
			}
		}},

	{Rule{"deletion/hides-lists",
		"ListRuns and Overdue know no runs of a deleted organization."}, needDeletion | needRuns,
		func(t *testing.T, s *subject) {
			stays := s.createRun(t, wokenRun(orgB, time.Minute))
			s.createRun(t, wokenRun(orgA, 0))
			s.createRun(t, plainRun(orgA, time.Second))
			s.createRun(t, endedRun(orgA, time.Minute))
			require.Len(t, s.overdue(t, time.Hour, 10), 3)
			s.mark(t, orgA, 0)
			for range 2 {
				for _, q := range []audiosearch.RunQuery{
					{}, {Open: true}, {Dataset: setA}, {Actor: "alice"}, {State: audiosearch.StateTerminated}, {From: moment(-time.Hour)},
				} {
					require.Empty(t, s.listRuns(t, orgA, q), "%+v", q)
				}
				require.Equal(t, []int64{stays.ID}, s.overdue(t, time.Hour, 1))
				s.removeAll(t, 1)
			}
			require.Equal(t, []int64{stays.ID}, runIDs(s.listRuns(t, orgB, audiosearch.RunQuery{})))
		}},

	{Rule{"deletion/hides-counts",
		"The Counts of a deleted organization are zero, and Backlog counts none of its runs."}, needDeletion | needCounter,
		func(t *testing.T, s *subject) {
			s.furnished(t)
			due := plainRun(orgB, 0)
			due.DueAt = moment(time.Hour)
			s.createRun(t, due)
			for _, state := range []audiosearch.State{audiosearch.StatePending, audiosearch.StateQueued, audiosearch.StateRunning} {
				r := plainRun(orgA, 0)
				r.State, r.DueAt = state, moment(time.Second)
				s.createRun(t, r)
			}
			s.createRun(t, endedRun(orgA, 0))
			s.mark(t, orgA, 0)
			for range 2 {
				for _, most := range []int{1, 10} {
					s.hasCounts(t, orgA, most, audiosearch.Counts{})
					s.hasBacklog(t, most, mortise.Backlog{Waiting: exactly(1), NextDue: moment(time.Hour)})
				}
				s.removeAll(t, 1)
			}
			s.hasCounts(t, orgB, 10, audiosearch.Counts{Waiting: exactly(1)})
		}},

	{Rule{"deletion/refuses-runs",
		"CreateRun in a deleted organization is ErrDeleted, however many runs it has, and of " +
			"whatever ID."}, needDeletion | needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			s.mark(t, orgA, 0)
			for range 2 {
				require.ErrorIs(t, s.Runs.CreateRun(t.Context(), plainRun(orgA, 0), manyRuns), mortise.ErrDeleted)
				require.ErrorIs(t, s.Runs.CreateRun(t.Context(), r, manyRuns), mortise.ErrDeleted, "an ID that is taken")
				require.ErrorIs(t, s.Runs.CreateRun(t.Context(), plainRun(orgA, 0), 1), mortise.ErrDeleted, "there are too many")
				s.removeAll(t, 1)
			}
		}},

	{Rule{"deletion/run-concurrent",
		"A run that is made while the organization is marked is there before the mark, and " +
			"hidden, or is ErrDeleted."}, needDeletion | needRuns,
		func(t *testing.T, s *subject) {
			const workers = 6
			var errs [workers]error
			conformance.Together(workers, func(i int) {
				if i == 0 {
					_, errs[0] = s.Deletion.MarkDeleted(t.Context(), orgA, moment(0))
					return
				}
				errs[i] = s.Runs.CreateRun(t.Context(), plainRun(orgA, 0), manyRuns)
			})
			for _, err := range errs {
				if err != nil {
					require.ErrorIs(t, err, mortise.ErrDeleted)
				}
			}
			require.Empty(t, s.listRuns(t, orgA, audiosearch.RunQuery{}))
			s.removeAll(t, 1)
			require.Empty(t, s.listRuns(t, orgA, audiosearch.RunQuery{}))
		}},

	{Rule{"deletion/refuses-jobs",
		"CreateRunAndAdd in a deleted organization is ErrDeleted, and adds no job."}, needDeletion | needTx,
		func(t *testing.T, s *subject) {
			s.mark(t, orgA, 0)
			r := plainRun(orgA, 0)
			require.ErrorIs(t, s.tx().CreateRunAndAdd(t.Context(), r, manyRuns, r.Job()), mortise.ErrDeleted)
			require.Empty(t, s.claim(t))
		}},

	{Rule{"deletion/removes-jobs",
		"RemoveDeleted removes the jobs of the runs that it removes, held ones too, and no " +
			"others."}, needDeletion | needTx,
		func(t *testing.T, s *subject) {
			held := s.addRun(t, plainRun(orgA, 0))
			for _, org := range append([]string{orgA}, neighbours...) {
				r := plainRun(org, 0)
				require.NoError(t, s.tx().CreateRunAndAdd(t.Context(), r, manyRuns, r.Job()))
			}
			s.mark(t, orgA, 0)
			s.removeAll(t, 1)
			s.holds(t, held, false)
			var left []string
			for _, l := range s.claim(t) {
				left = append(left, l.Job.Organization)
			}
			require.ElementsMatch(t, neighbours, left)
		}},
}
