package audiosearchtest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// runRules are the rules of CreateRun and Run.
var runRules = []rule{
	{Rule{"runs/create-and-get", "CreateRun stores a run, and Run returns it as it was, every field, without its results."}, needRuns,
		func(t *testing.T, s *subject) {
			plain := s.createRun(t, plainRun(orgA, 0))
			full := s.createRun(t, endedRun(orgA, 0))
			last := plainRun(orgB, time.Microsecond)
			last.ID = maxRunID
			s.createRun(t, last)
			for _, r := range []audiosearch.Run{plain, full, last} {
				s.hasRun(t, r)
			}
		}},

	{Rule{"runs/longest", "Every text of a run comes back whole, as long as it can be."}, needRuns,
		func(t *testing.T, s *subject) {
			r := endedRun(orgA, 0)
			r.Results = nil
			mutate.Stretch(&r)
			s.createRun(t, r)
			s.hasRun(t, r)
			sameRun(t, r, s.listRuns(t, r.Organization, audiosearch.RunQuery{})[0])
			short := s.createRun(t, plainRun(orgB, 0))
			short.Message = r.Message
			s.updateRun(t, short, func(left *audiosearch.Run) { left.Message = r.Message })
			s.hasRun(t, short)
		}},

	{Rule{"runs/create-exists", "If there is a run of this ID, of any organization, CreateRun stores nothing and returns ErrExists."}, needRuns,
		func(t *testing.T, s *subject) {
			want := s.createRun(t, endedRun(orgA, 0))
			for _, org := range []string{orgA, orgB} {
				again := plainRun(org, time.Hour)
				again.ID = want.ID
				require.ErrorIs(t, s.Runs.CreateRun(t.Context(), again, manyRuns), mortise.ErrExists)
			}
			s.hasRun(t, want)
			sameResults(t, want.Results, s.results(t, want))
			_, err := s.Runs.Run(t.Context(), orgB, want.ID)
			require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
		}},

	{Rule{"runs/create-concurrent", "CreateRun is atomic: of many at once with one ID, one creates the run, and the others get ErrExists."}, needRuns,
		func(t *testing.T, s *subject) {
			id := newRunID()
			var runs [16]audiosearch.Run
			var errs [16]error
			conformance.Together(len(runs), func(i int) {
				runs[i] = plainRun([]string{orgA, orgB}[i%2], time.Duration(i)*time.Second)
				runs[i].ID = id
				errs[i] = s.Runs.CreateRun(t.Context(), runs[i].Clone(), manyRuns)
			})
			created := 0
			for i, err := range errs {
				if err == nil {
					created++
					s.hasRun(t, runs[i])
					continue
				}
				require.ErrorIs(t, err, mortise.ErrExists)
			}
			require.Equal(t, 1, created, "calls that created the run")
		}},

	{Rule{"runs/unknown", "A run that is not there is ErrRunNotFound, for Run, for what puts and reads results, and for UpdateRun, which does not call update."}, needRuns,
		func(t *testing.T, s *subject) { s.isUnknown(t, orgA, newRunID()) }},

	{Rule{"runs/organizations-are-apart", "A run of another organization reads like one that does not exist; organizations are the same if every byte is."}, needRuns,
		func(t *testing.T, s *subject) {
			var runs []audiosearch.Run
			for _, org := range exactNames {
				runs = append(runs, s.createRun(t, endedRun(org, 0)))
			}
			for _, r := range runs {
				for _, org := range append([]string{""}, exactNames...) {
					if org != r.Organization {
						s.isUnknown(t, org, r.ID)
					}
				}
				s.hasRun(t, r)
			}
		}},

	{Rule{"runs/copies", "What comes in and goes out is the caller's to change."}, needRuns,
		func(t *testing.T, s *subject) {
			want := endedRun(orgA, 0)
			want.State, want.Results = audiosearch.StateRunning, nil
			given := want.Clone()
			require.NoError(t, s.Runs.CreateRun(t.Context(), given, manyRuns))
			spoilRun(&given)
			s.hasRun(t, want)
			got := s.run(t, want)
			spoilRun(&got)
			s.hasRun(t, want)
		}},
}

// isUnknown requires that the organization has no such run.
func (s *subject) isUnknown(t *testing.T, org string, id int64) {
	t.Helper()
	_, err := s.Runs.Run(t.Context(), org, id)
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound, "Run")
	require.NotContains(t, runIDs(s.listRuns(t, org, audiosearch.RunQuery{})), id, "ListRuns")
	_, err = s.Results.RunResults(t.Context(), org, id, 0)
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound, "RunResults")
	err = s.Results.PutResultVideos(t.Context(), org, id, uuid.New(), someVideos())
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound, "PutResultVideos")
	err = s.Results.PutResults(t.Context(), org, id, uuid.New(), nil)
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound, "PutResults")
	err = s.Runs.UpdateRun(t.Context(), org, id, func(*audiosearch.Run) error {
		t.Error("update was called")
		return nil
	})
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound, "UpdateRun")
}

// waitingRules are the rules of the bound of CreateRun.
var waitingRules = []rule{
	{Rule{"runs/create-bounded", "If the organization has as many runs that have not ended as CreateRun is to allow, it stores nothing and returns ErrTooManyRuns; " +
		"runs that have ended and those of other organizations do not count."}, needRuns,
		func(t *testing.T, s *subject) {
			create := func(org string, most int) (audiosearch.Run, error) {
				r := plainRun(org, 0)
				return r, s.Runs.CreateRun(t.Context(), r, most)
			}
			for range 3 {
				s.createRun(t, endedRun(orgA, 0))
				s.createRun(t, plainRun(orgB, 0))
			}
			var runs []audiosearch.Run
			for range 2 {
				r, err := create(orgA, 2)
				require.NoError(t, err)
				runs = append(runs, r)
			}
			for _, most := range []int{2, 1} {
				r, err := create(orgA, most)
				require.ErrorIs(t, err, audiosearch.ErrTooManyRuns)
				s.isUnknown(t, orgA, r.ID)
			}
			_, err := create(orgB, 4)
			require.NoError(t, err)
			for _, state := range []audiosearch.State{
				audiosearch.StateQueued, audiosearch.StateRunning, audiosearch.StateTerminating, audiosearch.StateTerminated,
			} {
				s.updateRun(t, runs[0], func(r *audiosearch.Run) { r.State = state })
				if state != audiosearch.StateTerminated {
					_, err := create(orgA, 2)
					require.ErrorIs(t, err, audiosearch.ErrTooManyRuns, state)
				}
			}
			_, err = create(orgA, 2)
			require.NoError(t, err)
		}},

	{Rule{"runs/create-bounded-concurrent", "Of many calls of CreateRun at once no more pass than there is room for."}, needRuns,
		func(t *testing.T, s *subject) {
			const most = 3
			var errs [16]error
			conformance.Together(len(errs), func(i int) { errs[i] = s.Runs.CreateRun(t.Context(), plainRun(orgA, 0), most) })
			created := 0
			for _, err := range errs {
				if err == nil {
					created++
					continue
				}
				require.ErrorIs(t, err, audiosearch.ErrTooManyRuns)
			}
			require.Equal(t, most, created, "calls that created a run")
		}},
}
