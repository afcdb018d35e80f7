package audiosearchtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// resultRules are the rules of RunResults.
var resultRules = []rule{
	{Rule{"results/read", "RunResults returns the results of the set that the run names in their order, every field as it was, with path and metadata of the set's videos."}, needRuns,
		func(t *testing.T, s *subject) {
			at := s.createRun(t, endedRun(orgA, 0))
			later := s.createRun(t, plainRun(orgA, 0))
			s.name(t, later, s.putSet(t, later, someResults()[1:]))
			sameResults(t, someResults(), s.results(t, at))
			sameResults(t, someResults()[1:], s.results(t, later))

			r := s.createRun(t, plainRun(orgA, 0))
			set, results := uuid.New(), someResults()
			require.NoError(t, s.Results.PutResultVideos(t.Context(), orgA, r.ID, set, someVideos()))
			for i := range results {
				results[i].Path, results[i].Metadata = "ignored", metadata.Map{"ignored": {}}
			}
			require.NoError(t, s.Results.PutResults(t.Context(), orgA, r.ID, set, results))
			s.name(t, r, set)
			sameResults(t, someResults(), s.results(t, r))
		}},

	{Rule{"results/none", "RunResults of a run that names no set, or one without results, returns none, and no error."}, needRuns,
		func(t *testing.T, s *subject) {
			require.Empty(t, s.results(t, s.createRun(t, plainRun(orgA, 0))))
			r := s.createRun(t, plainRun(orgA, 0))
			s.name(t, r, s.putSet(t, r, nil))
			require.Empty(t, s.results(t, r))
			ended := s.createRun(t, endedRun(orgA, 0))
			for _, from := range []int{3, 4, 1000} {
				page, err := s.Results.RunResults(t.Context(), orgA, ended.ID, from)
				require.NoError(t, err)
				require.Empty(t, page)
			}
		}},

	{Rule{"results/pages", "RunResults returns at least one result from the place on if there is one, 100 at most, with 1 MiB of metadata at most beside that of one video."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			var many []audiosearch.Result
			for i := range 1000 {
				one := someResults()[i%3]
				one.Start = time.Duration(i) * time.Second
				many = append(many, one)
			}
			s.name(t, r, s.putSet(t, r, many))
			sameResults(t, many, s.results(t, r))
			for _, from := range []int{0, 1, 99, 100, 101, 500, 999} {
				page, err := s.Results.RunResults(t.Context(), orgA, r.ID, from)
				require.NoError(t, err)
				require.NotEmpty(t, page)
				require.LessOrEqual(t, len(page), 100)
				sameResults(t, many[from:from+len(page)], page)
			}

			const size = 50_000
			var large []audiosearch.Result
			for i := range 60 {
				large = append(large, audiosearch.Result{VideoID: fmt.Sprint("v", i), Metadata: metadata.Map{
					"k": metadata.String(fmt.Sprint(i) + strings.Repeat("x", size)),
				}})
			}
			s.name(t, r, s.putSet(t, r, large))
			sameResults(t, large, s.results(t, r))
			for from := 0; from < len(large); {
				page, err := s.Results.RunResults(t.Context(), orgA, r.ID, from)
				require.NoError(t, err)
				require.NotEmpty(t, page)
				require.LessOrEqual(t, (len(page)-1)*size, 1<<20)
				from += len(page)
			}
		}},

	{Rule{"results/copies", "What goes into a set and what comes out of it is the caller's to change."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			set, videos, results := uuid.New(), someVideos(), someResults()
			require.NoError(t, s.Results.PutResultVideos(t.Context(), orgA, r.ID, set, videos))
			require.NoError(t, s.Results.PutResults(t.Context(), orgA, r.ID, set, results))
			videos[0].Metadata["spoiled"] = metadata.Bool(true)
			spoilResults(results)
			s.name(t, r, set)
			spoilResults(s.results(t, r))
			sameResults(t, someResults(), s.results(t, r))
		}},
}

// resultSetRules are the rules of what puts results, and of the sets that runs name.
var resultSetRules = []rule{
	{Rule{"results/unseen", "Nobody sees what was put into a set before the run names it."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			first, second := s.putSet(t, r, someResults()[:1]), s.putSet(t, r, someResults())
			require.Empty(t, s.results(t, r))
			s.hasRun(t, r)
			for _, set := range []uuid.UUID{first, second} {
				s.name(t, r, set)
				r.ResultSet = set
				s.hasRun(t, r)
				s.putSet(t, r, someResults()[1:])
				want := someResults()
				if set == first {
					want = want[:1]
				}
				sameResults(t, want, s.results(t, r))
			}
		}},

	{Rule{"results/sets-are-apart", "Sets are apart: those of one run, and those of two runs that have the same name."}, needRuns,
		func(t *testing.T, s *subject) {
			set := uuid.New()
			runs := []audiosearch.Run{s.createRun(t, plainRun(orgA, 0)), s.createRun(t, plainRun(orgA, 0)), s.createRun(t, plainRun(orgB, 0))}
			want := make([][]audiosearch.Result, len(runs))
			for i, r := range runs {
				video := audiosearch.Video{ID: "v", Path: fmt.Sprint(i), Metadata: metadata.Map{"k": metadata.Int(int64(i))}}
				want[i] = withVideos([]audiosearch.Video{video}, []audiosearch.Result{{VideoID: "v", Start: time.Duration(i)}})
				require.NoError(t, s.Results.PutResultVideos(t.Context(), r.Organization, r.ID, set, []audiosearch.Video{video}))
				require.NoError(t, s.Results.PutResults(t.Context(), r.Organization, r.ID, set, want[i]))
			}
			for i, r := range runs {
				s.name(t, r, set)
				sameResults(t, want[i], s.results(t, r))
			}
		}},

	{Rule{"results/put-again", "PutResults puts results in place of those that the set has, also fewer or none; a video that the set has stays as it is there."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			set := s.putSet(t, r, someResults())
			s.name(t, r, set)
			changed := someVideos()
			changed[0].Path, changed[0].Metadata = "elsewhere", metadata.Map{"k": metadata.Int(2)}
			require.NoError(t, s.Results.PutResultVideos(t.Context(), orgA, r.ID, set, changed))
			var many []audiosearch.Result
			for range 300 {
				many = append(many, someResults()...)
			}
			for _, results := range [][]audiosearch.Result{many, someResults(), someResults()[2:], nil, someResults()[:1]} {
				require.NoError(t, s.Results.PutResults(t.Context(), orgA, r.ID, set, results))
				sameResults(t, results, s.results(t, r))
			}
		}},

	{Rule{"results/as-they-were", "Results show a video as it was put, whatever the catalog says of it later, and whichever other run found it otherwise."}, needCatalog | needRuns,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			var runs []audiosearch.Run
			var want [][]audiosearch.Result
			for i := range 3 {
				v.Metadata = metadata.Map{"k": metadata.Int(int64(i % 2))}
				s.put(t, orgA, setA, v)
				r := plainRun(orgA, 0)
				r.Results = withVideos([]audiosearch.Video{v}, []audiosearch.Result{{VideoID: "v", Start: time.Duration(i)}})
				runs, want = append(runs, s.createRun(t, r)), append(want, r.Results)
			}
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"))
			for i, r := range runs {
				sameResults(t, want[i], s.results(t, r))
			}
		}},

	{Rule{"results/ended", "PutResultVideos and PutResults return ErrFinished if the run has ended, and store nothing."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, endedRun(orgA, 0))
			for _, set := range []uuid.UUID{r.ResultSet, uuid.New()} {
				err := s.Results.PutResultVideos(t.Context(), orgA, r.ID, set, []audiosearch.Video{{ID: "new"}})
				require.ErrorIs(t, err, audiosearch.ErrFinished)
				require.ErrorIs(t, s.Results.PutResults(t.Context(), orgA, r.ID, set, nil), audiosearch.ErrFinished)
			}
			sameResults(t, r.Results, s.results(t, r))
		}},

	{Rule{"results/no-video", "PutResults of a result whose video the set lacks is an error that is not a sentinel."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			set := uuid.New()
			isFailure(t, "PutResults", s.Results.PutResults(t.Context(), orgA, r.ID, set, someResults()))
			require.NoError(t, s.Results.PutResultVideos(t.Context(), orgA, r.ID, set, someVideos()[:1]))
			isFailure(t, "PutResults", s.Results.PutResults(t.Context(), orgA, r.ID, set, someResults()))
			require.NoError(t, s.Results.PutResults(t.Context(), orgA, r.ID, set, someResults()[:1]))
		}},

	{Rule{"results/unknown-set", "An update that names a set into which nothing was put for the run changes nothing, with an error that is not a sentinel."}, needRuns,
		func(t *testing.T, s *subject) {
			r, other := s.createRun(t, plainRun(orgA, 0)), s.createRun(t, plainRun(orgA, 0))
			for _, set := range []uuid.UUID{uuid.New(), s.putSet(t, other, someResults())} {
				isFailure(t, "UpdateRun", s.Runs.UpdateRun(t.Context(), orgA, r.ID, func(r *audiosearch.Run) error {
					r.State, r.Termination, r.ResultSet = audiosearch.StateTerminated, audiosearch.Success, set
					return nil
				}))
				s.hasRun(t, r)
			}
			created := plainRun(orgA, 0)
			created.ResultSet = uuid.New()
			isFailure(t, "CreateRun", s.Runs.CreateRun(t.Context(), created, manyRuns))
			s.isUnknown(t, orgA, created.ID)
		}},

	{Rule{"results/others-go", "When a run has ended, its sets but the one that it names are forgotten."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			other, named := s.putSet(t, r, someResults()[:1]), s.putSet(t, r, someResults())
			s.updateRun(t, r, func(r *audiosearch.Run) { r.State, r.ResultSet = audiosearch.StateTerminated, named })
			sameResults(t, someResults(), s.results(t, r))
			isFailure(t, "UpdateRun", s.Runs.UpdateRun(t.Context(), orgA, r.ID, func(r *audiosearch.Run) error {
				r.ResultSet = other
				return nil
			}))
			if c, ok := s.Scores.(audiosearch.Pruner); ok {
				for more := true; more; {
					var err error
					_, more, err = c.Compact(t.Context(), audiosearch.CompactOptions{}, 1000)
					require.NoError(t, err)
				}
			}
			sameResults(t, someResults(), s.results(t, r))
		}},
}
