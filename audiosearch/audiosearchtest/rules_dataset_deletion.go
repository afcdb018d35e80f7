package audiosearchtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// datasetDeletionRules are the rules of DeleteDataset.
var datasetDeletionRules = []rule{
	{Rule{"datasets/delete", "DeleteDataset removes a dataset; its ID is free then."}, needDatasets,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA))
			_, err := s.Datasets.Dataset(t.Context(), orgA, setA)
			require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
			require.Empty(t, s.datasets(t, orgA))
			s.hasDataset(t, s.makeDataset(t, orgA, setA))
		}},

	{Rule{"datasets/delete-unknown", "DeleteDataset of what is not there, or belongs to another organization, is ErrDatasetNotFound and removes nothing."}, needDatasets,
		func(t *testing.T, s *subject) {
			require.ErrorIs(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA), audiosearch.ErrDatasetNotFound)
			want := s.makeDataset(t, orgA, setA)
			require.ErrorIs(t, s.Datasets.DeleteDataset(t.Context(), orgA, setB), audiosearch.ErrDatasetNotFound)
			require.ErrorIs(t, s.Datasets.DeleteDataset(t.Context(), orgB, setA), audiosearch.ErrDatasetNotFound)
			s.hasDataset(t, want)
			require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA))
			require.ErrorIs(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA), audiosearch.ErrDatasetNotFound, "the second time")
		}},

	{Rule{"datasets/delete-videos", "DeleteDataset removes the dataset's videos, and those of no other."}, needCatalog,
		func(t *testing.T, s *subject) {
			v := video("v", metadata.Map{"key": metadata.Int(1)})
			others := [][2]string{{orgA, setB}, {orgB, setA}}
			for _, in := range append(others, [2]string{orgA, setA}) {
				s.makeDataset(t, in[0], in[1])
				s.put(t, in[0], in[1], v)
			}
			require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA))
			_, err := s.oneVideo(t.Context(), orgA, setA, "v")
			require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
			s.makeDataset(t, orgA, setA)
			_, err = s.oneVideo(t.Context(), orgA, setA, "v")
			require.ErrorIs(t, err, audiosearch.ErrVideoNotFound)
			require.Empty(t, s.list(t, orgA, setA))
			missing, err := s.Catalog.MissingKeys(t.Context(), orgA, setA, []string{"key"})
			require.NoError(t, err)
			require.Equal(t, []string{"key"}, missing)
			for _, in := range others {
				s.hasVideo(t, in[0], in[1], v)
			}
		}},

	{Rule{"datasets/delete-scores", "DeleteDataset removes the scores of the dataset's videos, and those of no other."}, needScores,
		func(t *testing.T, s *subject) {
			v := video("v", nil)
			others := [][2]string{{orgA, setB}, {orgB, setA}}
			for _, in := range append(others, [2]string{orgA, setA}) {
				s.makeDataset(t, in[0], in[1])
				s.put(t, in[0], in[1], v)
				s.score(t, in[0], in[1], v, modelX, "7", 10, 20)
			}
			require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA))
			_, err := s.Scores.Search(t.Context(), orgA, setA, audiosearch.ScoreQuery{Model: modelX, Class: "7", Limit: 1})
			require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
			s.makeDataset(t, orgA, setA)
			s.put(t, orgA, setA, v)
			s.notScored(t, orgA, setA, "v", modelX)
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"}))
			for _, in := range others {
				require.Equal(t, []string{"v 1 20", "v 0 10"}, hits(s.search(t, in[0], in[1], audiosearch.ScoreQuery{Class: "7"})))
			}
		}},

	{Rule{"datasets/delete-keeps-runs", "DeleteDataset leaves the runs of the dataset."}, needDatasets | needRuns,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			r := s.createRun(t, toldRun(orgA, 0))
			require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA))
			s.hasRun(t, r)
			require.NotEmpty(t, s.results(t, r))
		}},
}
