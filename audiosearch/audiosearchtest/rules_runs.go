package audiosearchtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// runRules are the rules of CreateRun and Run.
var runRules = []rule{
	{Rule{"runs/create-and-get", "CreateRun stores a run, and Run returns it as it was, every field, without its results."}, needRuns,
		func(t *testing.T, s *subject) {
			plain := s.createRun(t, plainRun(orgA, 0))
			full := s.createRun(t, endedRun(orgA, 0))
			last := plainRun(orgB, time.Microsecond)
			last.ID = audiosearch.MaxRunID
			s.createRun(t, last)
			for _, r := range []audiosearch.Run{plain, full, last} {
				s.hasRun(t, r)
			}
		}},

	{Rule{"runs/create-exists", "If there is a run of this ID, of any organization, CreateRun stores nothing and returns ErrRunExists."}, needRuns,
		func(t *testing.T, s *subject) {
			want := s.createRun(t, endedRun(orgA, 0))
			for _, org := range []string{orgA, orgB} {
				again := plainRun(org, time.Hour)
				again.ID = want.ID
				require.ErrorIs(t, s.Runs.CreateRun(t.Context(), again), audiosearch.ErrRunExists)
			}
			s.hasRun(t, want)
			sameResults(t, want.Results, s.results(t, want))
			_, err := s.Runs.Run(t.Context(), orgB, want.ID)
			require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
		}},

	{Rule{"runs/create-concurrent", "CreateRun is atomic: of many at once with one ID, one creates the run, and the others get ErrRunExists."}, needRuns,
		func(t *testing.T, s *subject) {
			id := newRunID()
			var runs [16]audiosearch.Run
			var errs [16]error
			conformance.Together(len(runs), func(i int) {
				runs[i] = plainRun([]string{orgA, orgB}[i%2], time.Duration(i)*time.Second)
				runs[i].ID = id
				errs[i] = s.Runs.CreateRun(t.Context(), runs[i].Clone())
			})
			created := 0
			for i, err := range errs {
				if err == nil {
					created++
					s.hasRun(t, runs[i])
					continue
				}
				require.ErrorIs(t, err, audiosearch.ErrRunExists)
			}
			require.Equal(t, 1, created, "calls that created the run")
		}},

	{Rule{"runs/unknown", "A run that is not there is ErrRunNotFound, for Run, RunResults and UpdateRun, which does not call update."}, needRuns,
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
			given := want.Clone()
			require.NoError(t, s.Runs.CreateRun(t.Context(), given))
			spoilRun(&given)
			s.hasRun(t, want)
			sameResults(t, want.Results, s.results(t, want))
			got := s.run(t, want)
			spoilRun(&got)
			s.hasRun(t, want)
			spoilResults(s.results(t, want))
			sameResults(t, want.Results, s.results(t, want))
		}},
}

// isUnknown requires that the organization has no such run.
func (s *subject) isUnknown(t *testing.T, org string, id int64) {
	t.Helper()
	_, err := s.Runs.Run(t.Context(), org, id)
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound, "Run")
	_, err = s.Runs.RunResults(t.Context(), org, id)
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound, "RunResults")
	err = s.Runs.UpdateRun(t.Context(), org, id, func(*audiosearch.Run) error {
		t.Error("update was called")
		return nil
	})
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound, "UpdateRun")
}

// resultRules are the rules of RunResults.
var resultRules = []rule{
	{Rule{"runs/results", "RunResults returns the results of a run in their order, every field as it was."}, needRuns,
		func(t *testing.T, s *subject) {
			at := s.createRun(t, endedRun(orgA, 0))
			later := s.createRun(t, plainRun(orgA, 0))
			s.updateRun(t, later, func(r *audiosearch.Run) { r.Results = someResults()[1:] })
			sameResults(t, someResults(), s.results(t, at))
			sameResults(t, someResults()[1:], s.results(t, later))
		}},

	{Rule{"runs/no-results", "RunResults of a run without results returns none, and no error."}, needRuns,
		func(t *testing.T, s *subject) { require.Empty(t, s.results(t, s.createRun(t, plainRun(orgA, 0)))) }},

	{Rule{"runs/results-stay", "Results that an update leaves nil stay as they are; others are stored instead."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			for _, results := range [][]audiosearch.Result{someResults(), someResults()[2:], someResults()[:1]} {
				s.updateRun(t, r, func(r *audiosearch.Run) { r.Results = audiosearch.CloneResults(results) })
				sameResults(t, results, s.results(t, r))
				s.updateRun(t, r, func(r *audiosearch.Run) { r.Attempts++ })
				sameResults(t, results, s.results(t, r))
			}
			s.updateRun(t, r, func(r *audiosearch.Run) { r.Results = []audiosearch.Result{} })
			require.Empty(t, s.results(t, r))
		}},

	{Rule{"runs/many-results", "A run has as many results as a query may ask for."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			var many []audiosearch.Result
			for i := range 1000 {
				one := someResults()[i%3]
				one.Start = time.Duration(i) * time.Second
				many = append(many, one)
			}
			s.updateRun(t, r, func(r *audiosearch.Run) { r.Results = audiosearch.CloneResults(many) })
			sameResults(t, many, s.results(t, r))
		}},
}
