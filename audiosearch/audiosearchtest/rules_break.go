package audiosearchtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

const brokenText = "While the backend fails, every call returns an error that is none of the sentinels, nothing is lost, and afterwards all is as before."

// breakRules say what a failure of the backend looks like from outside.
var breakRules = []rule{
	{Rule{"datasets/failure", brokenText}, needDatasets | needBreak,
		func(t *testing.T, s *subject) {
			d := s.makeDataset(t, orgA, setA)
			heal := s.breakIt(t)
			allFail(t.Context(), t, s.datasetCalls())
			_, err := s.Datasets.Dataset(t.Context(), orgB, setA)
			isFailure(t, "Dataset that is not there", err)
			heal()
			s.hasDataset(t, d)
			allWork(t, s.datasetCalls())
		}},

	{Rule{"catalog/failure", brokenText}, needCatalog | needBreak,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			heal := s.breakIt(t)
			allFail(t.Context(), t, s.catalogCalls())
			_, err := s.oneVideo(t.Context(), orgB, setA, "v")
			isFailure(t, "Videos of what is not there", err)
			heal()
			s.hasVideo(t, orgA, setA, v)
			allWork(t, s.catalogCalls())
		}},

	{Rule{"scores/failure", brokenText}, needScores | needBreak,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.score(t, orgA, setA, v, modelX, "7", 10, 20)
			heal := s.breakIt(t)
			allFail(t.Context(), t, s.scoreCalls())
			_, err := s.oneScoring(t.Context(), orgA, setA, "v", modelY)
			isFailure(t, "Scorings of what is not there", err)
			heal()
			s.hasScoring(t, orgA, setA, "v", scoring(modelX, 2, "7"))
			require.Equal(t, []string{"v 1 20", "v 0 10"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
			allWork(t, s.scoreCalls())
		}},

	{Rule{"compactor/failure", brokenText}, needScores | needCompactor | needBreak,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.score(t, orgA, setA, v, modelX, "7", 10, 20)
			heal := s.breakIt(t)
			_, _, err := s.Scores.(audiosearch.Pruner).Compact(t.Context(), audiosearch.CompactOptions{}, 1000)
			isFailure(t, "Compact", err)
			heal()
			s.compact(t)
			require.Equal(t, []string{"v 1 20", "v 0 10"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
		}},

	{Rule{"runs/failure", brokenText}, needRuns | needBreak,
		func(t *testing.T, s *subject) {
			r := endedRun(orgA, 0)
			r.State = audiosearch.StateRunning
			r = s.createRun(t, r)
			heal := s.breakIt(t)
			allFail(t.Context(), t, s.runCalls(r.ID))
			_, err := s.Runs.Run(t.Context(), orgB, r.ID)
			isFailure(t, "Run that is not there", err)
			heal()
			s.hasRun(t, r)
			sameResults(t, r.Results, s.results(t, r))
			allWork(t, s.runCalls(r.ID))
		}},
}
