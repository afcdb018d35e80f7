package audiosearchtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// reopenRules say what outlives a process.
var reopenRules = []rule{
	{Rule{"datasets/durable", "A call that returned without error is durable: datasets outlive the process, and those that were deleted stay so."}, needDatasets | needReopen,
		func(t *testing.T, s *subject) {
			want := s.makeDataset(t, orgA, setA)
			s.makeDataset(t, orgA, setB)
			require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setB))
			s.reopen(t)
			s.hasDataset(t, want)
			require.Equal(t, []string{setA}, s.datasets(t, orgA))
		}},

	{Rule{"catalog/durable", "Videos outlive the process, as they were put last; those that were deleted stay so."}, needCatalog | needReopen,
		func(t *testing.T, s *subject) {
			s.withVideos(t, "gone", "v", "w")
			full := video("v", everyKind())
			s.put(t, orgA, setA, full)
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "gone"))
			s.reopen(t)
			require.Equal(t, []string{"v", "w"}, videoIDs(s.list(t, orgA, setA)))
			s.hasVideo(t, orgA, setA, full)
			require.Equal(t, []string{"nobody"}, s.missing(t, "one", "nobody", "null"))
		}},

	{Rule{"scores/durable", "Scores and problems outlive the process, those that were replaced and deleted do not; filters find them as before."}, needScores | needReopen,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "a", "b", "c", "d")
			for i, v := range videos {
				s.score(t, orgA, setA, v, modelX, "7", 1000, uint16(i))
			}
			s.score(t, orgA, setA, videos[0], modelX, "7", 500)
			s.putScoring(t, orgA, setA, videos[1], problem(modelX, "cut off"), nil)
			s.put(t, orgA, setA, video("a", metadata.Map{"n": number("1.0")}), video("d", metadata.Map{"n": metadata.Int(2)}))
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "c"))
			want := []string{"d 0 1000", "a 0 500", "d 1 3"}
			for range 2 {
				s.reopen(t)
				require.Equal(t, want, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
				require.Equal(t, want[1:2], hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", Filters: []metadata.Filter{{Key: "n", Op: lt, Value: "2"}}})))
				s.hasScoring(t, orgA, setA, "a", scoring(modelX, 1, "7"))
				s.hasScoring(t, orgA, setA, "b", problem(modelX, "cut off"))
				s.isUnscored(t, audiosearch.UnscoredQuery{}, 3, "b")
				require.Equal(t, [][]uint16{{1000}, {3}}, s.windows(t, orgA, setA, "d", modelX, 0, 10))
			}
			s.score(t, orgA, setA, videos[1], modelX, "7", 700)
			require.Equal(t, []string{"d 0 1000", "b 0 700"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", Limit: 2})))
		}},

	{Rule{"compactor/durable", "What was compacted outlives the process like everything else."}, needScores | needCompactor | needReopen,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "a", "b", "c", "d", "e", "f", "g", "h")
			for n := range 3 {
				for i, v := range videos {
					s.score(t, orgA, setA, v, modelX, "7", uint16(10*n+i), 5)
				}
			}
			s.compact(t)
			want := s.answers(t)
			s.reopen(t)
			require.Equal(t, want, s.answers(t))
			s.compact(t)
			require.Equal(t, want, s.answers(t))
		}},

	{Rule{"runs/durable", "Runs and their results outlive the process, as they were changed last."}, needRuns | needReopen,
		func(t *testing.T, s *subject) {
			full, changed := s.createRun(t, endedRun(orgA, 0)), s.createRun(t, wokenRun(orgB, 0))
			changed.WakeAt = moment(time.Minute)
			changed.State, changed.Attempts, changed.ResultSet = audiosearch.StateRunning, 4, s.putSet(t, changed, someResults()[1:])
			s.updateRun(t, changed, func(r *audiosearch.Run) { *r = changed })
			s.reopen(t)
			s.hasRun(t, full)
			s.hasRun(t, changed)
			sameResults(t, full.Results, s.results(t, full))
			sameResults(t, someResults()[1:], s.results(t, changed))
			require.Equal(t, []int64{full.ID, changed.ID}, s.overdue(t, time.Hour, 10))
			for org, r := range map[string]audiosearch.Run{orgA: full, orgB: changed} {
				listed := s.listRuns(t, org, audiosearch.RunQuery{State: r.State})
				require.Len(t, listed, 1)
				sameRun(t, r, listed[0])
			}
		}},

	{Rule{"runpruner/durable", "What PruneRuns and TrimRuns removed stays removed."}, needRuns | needRunPruner | needReopen,
		func(t *testing.T, s *subject) {
			runs := []audiosearch.Run{s.createRun(t, toldRun(orgA, 0)), s.createRun(t, toldRun(orgA, time.Hour))}
			require.Equal(t, 1, s.prune(t, time.Minute))
			require.Equal(t, 1, s.trim(t, 0))
			s.reopen(t)
			for _, r := range runs {
				s.isUnknown(t, orgA, r.ID)
			}
		}},
}
