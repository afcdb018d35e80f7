package audiosearchtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// catalogScoringRules say what changes of the catalog do to scores.
var catalogScoringRules = []rule{
	{Rule{"catalog/other-path-removes-scorings", "Where the path of a video changes, its scorings by all models are removed, and those of no other video."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			for _, v := range videos {
				s.score(t, orgA, setA, v, modelX, "7", 10, 20)
				s.putScoring(t, orgA, setA, v, problem(modelY, "no sound"), nil)
			}
			moved := videos[0]
			moved.Path += " "
			s.put(t, orgA, setA, moved)
			s.notScored(t, orgA, setA, "v", modelX)
			s.notScored(t, orgA, setA, "v", modelY)
			require.Equal(t, []string{"w 1 20", "w 0 10"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
			s.hasScoring(t, orgA, setA, "w", problem(modelY, "no sound"))
			s.put(t, orgA, setA, videos[0])
			s.notScored(t, orgA, setA, "v", modelX)
		}},

	{Rule{"catalog/same-path-keeps-scorings", "Where the path of a video does not change, its scorings stay, whatever its metadata becomes."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.score(t, orgA, setA, v, modelX, "7", 10, 20)
			s.putScoring(t, orgA, setA, v, problem(modelY, "no sound"), nil)
			v.Metadata = everyKind()
			s.put(t, orgA, setA, v)
			s.hasScoring(t, orgA, setA, "v", scoring(modelX, 2, "7"))
			s.hasScoring(t, orgA, setA, "v", problem(modelY, "no sound"))
			for _, filters := range [][]metadata.Filter{nil, {{Key: "one", Value: "1"}}} {
				require.Equal(t, []string{"v 1 20", "v 0 10"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", Filters: filters})))
			}
		}},

	{Rule{"catalog/delete-removes-scorings", "DeleteVideo removes a video with its scorings, and those of no other; a new video of its ID has none."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			for _, v := range videos {
				s.score(t, orgA, setA, v, modelX, "7", 10, 20)
				s.putScoring(t, orgA, setA, v, problem(modelY, "no sound"), nil)
			}
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"))
			for range 2 {
				s.notScored(t, orgA, setA, "v", modelX)
				s.notScored(t, orgA, setA, "v", modelY)
				require.Equal(t, []string{"w 1 20", "w 0 10"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
				s.put(t, orgA, setA, videos[0])
			}
		}},
}

// refused requires that PutScoring of the video at the path is ErrConflict, for scores
// and for a problem.
func (s *subject) refused(t *testing.T, dataset, id, path string) {
	t.Helper()
	err := s.Scores.PutScoring(t.Context(), orgA, dataset, id, path, scoring(modelX, 1, "7"), [][]uint16{{999}})
	require.ErrorIs(t, err, audiosearch.ErrConflict, "scores of %q", id)
	err = s.Scores.PutScoring(t.Context(), orgA, dataset, id, path, problem(modelX, "changed"), nil)
	require.ErrorIs(t, err, audiosearch.ErrConflict, "a problem of %q", id)
}

// conflictRules say when PutScoring stores nothing.
var conflictRules = []rule{
	{Rule{"scores/conflict-gone", "If the video is gone, nothing is stored, and the error is ErrConflict."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.makeDataset(t, orgA, setB)
			s.refused(t, setA, "w", "videos/w.mp4")
			s.refused(t, setB, v.ID, v.Path)
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"))
			s.refused(t, setA, v.ID, v.Path)
			require.Empty(t, s.list(t, orgA, setA))
			s.put(t, orgA, setA, v, video("w", nil))
			s.notScored(t, orgA, setA, "v", modelX)
			s.notScored(t, orgA, setA, "w", modelX)
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"}))
		}},

	{Rule{"scores/conflict-moved", "If the video's path is not the given one any more, nothing is stored, the error is ErrConflict, and what was stored stays."}, needScores,
		func(t *testing.T, s *subject) {
			old := s.withVideos(t, "v")[0]
			moved := old
			moved.Path = "moved.mp4"
			s.put(t, orgA, setA, moved)
			s.refused(t, setA, "v", old.Path)
			s.notScored(t, orgA, setA, "v", modelX)
			s.score(t, orgA, setA, moved, modelX, "7", 10)
			for _, path := range []string{old.Path, "", "Moved.mp4", "moved.mp4 "} {
				s.refused(t, setA, "v", path)
			}
			s.hasScoring(t, orgA, setA, "v", scoring(modelX, 1, "7"))
			require.Equal(t, []string{"v 0 10"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
		}},

	{Rule{"scores/conflict-concurrent", "While the path of a video changes to and fro, no scores of one path are ever those of a video that has the other."}, needScores,
		func(t *testing.T, s *subject) {
			at := [2]audiosearch.Video{s.withVideos(t, "v")[0], {ID: "v", Path: "moved.mp4"}}
			// Models of their own, so that what is stored for one path does not hide
			// that of the other.
			of := [2]string{modelX, modelY}
			none := func(i int) {
				require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: of[i], Class: "7"}), "scores of the other path")
			}
			conformance.Watch(t, 2, func(i int) error {
				err := s.Scores.PutScoring(t.Context(), orgA, setA, "v", at[i].Path, scoring(of[i], 1, "7"), [][]uint16{{uint16(1000 + i)}})
				if isConflict(err) {
					return nil
				}
				return err
			}, 30, func(step int) {
				now := step % 2
				if step > 0 {
					none(now) // the path is the other one yet, and both have tried to store since it is
				}
				s.put(t, orgA, setA, at[now])
				none(1 - now)
			})
		}},
}
