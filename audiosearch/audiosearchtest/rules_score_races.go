package audiosearchtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// generations are scorings that replace each other: that number n has n%3+1 segments, all
// of the score 100+n%3, in n%3+1 classes.
func generation(n int) (audiosearch.Scoring, [][]uint16) {
	n %= 3
	classes := []sound.Class{"7", "8", "9"}[:n+1]
	sc := scoring(modelX, n+1, classes...)
	scores := make([][]uint16, len(classes))
	for c := range scores {
		for range n + 1 {
			scores[c] = append(scores[c], uint16(100+n))
		}
	}
	return sc, scores
}

// scoreRaceRules say what others see of a change of scores, and what is left of changes
// made at once.
var scoreRaceRules = []rule{
	{Rule{"scores/replacement-is-one-step", "PutScoring replaces in one step: a search sees the old scores or the new ones, never both or none."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			sc, scores := generation(0)
			s.putScoring(t, orgA, setA, v, sc, scores)
			conformance.Watch(t, 3, func(int) error {
				found, err := s.Scores.Search(t.Context(), orgA, setA, audiosearch.ScoreQuery{Model: modelX, Class: "7", Limit: 10})
				if err != nil {
					return err
				}
				if len(found) == 0 || len(found) != int(found[0].Score)-99 {
					return fmt.Errorf("a search during a replacement found %v", hits(found))
				}
				for i, h := range found {
					if h.Score != found[0].Score || h.Window != i {
						return fmt.Errorf("a search during a replacement found %v", hits(found))
					}
				}
				return nil
			}, 50, func(n int) {
				sc, scores := generation(n)
				s.putScoring(t, orgA, setA, v, sc, scores)
			})
		}},

	{Rule{"scores/reads-are-whole", "Scorings, WindowScores and Unscored see all of a replacement or nothing of it."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			sc, scores := generation(0)
			s.putScoring(t, orgA, setA, v, sc, scores)
			conformance.Watch(t, 3, func(i int) error {
				switch i {
				case 0:
					sc, err := s.oneScoring(t.Context(), orgA, setA, "v", modelX)
					if err == nil && len(sc.Classes) != sc.Windows {
						err = fmt.Errorf("half a replacement: %d segments, %d classes", sc.Windows, len(sc.Classes))
					}
					return err
				case 1:
					rows, err := s.Scores.WindowScores(t.Context(), orgA, setA, "v", modelX, 0, 10)
					for _, row := range rows {
						if len(row) != len(rows) || int(row[0]) != 99+len(rows) || int(row[len(row)-1]) != 99+len(rows) {
							err = fmt.Errorf("half a replacement: %v", rows)
						}
					}
					return err
				}
				page, err := s.Scores.Unscored(t.Context(), orgA, setA, audiosearch.UnscoredQuery{Model: modelX, Limit: 10})
				if err == nil && (len(page.Videos) != 0 || page.Matched != 1) {
					err = fmt.Errorf("during a replacement, %d videos seem not scored, of %d", len(page.Videos), page.Matched)
				}
				return err
			}, 50, func(n int) {
				sc, scores := generation(n)
				s.putScoring(t, orgA, setA, v, sc, scores)
			})
		}},

	{Rule{"scores/put-concurrent", "PutScoring is safe for concurrent use: of many videos at once none is lost, and of those for one video one stays, whole."}, needScores,
		func(t *testing.T, s *subject) {
			const workers = 12
			ids := []string{"shared"}
			for i := range workers {
				ids = append(ids, fmt.Sprint("v", i))
			}
			videos := s.withVideos(t, ids...)
			var errs [workers]error
			conformance.Together(workers, func(i int) {
				sc, scores := generation(i)
				own := videos[i+1]
				errs[i] = errors.Join(
					s.Scores.PutScoring(t.Context(), orgA, setA, own.ID, own.Path, scoring(modelX, 1, "1"), [][]uint16{{uint16(i)}}),
					s.Scores.PutScoring(t.Context(), orgA, setA, "shared", videos[0].Path, sc, scores))
			})
			conformance.NoErrors(t, errs[:])
			require.Len(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "1"}), workers)
			found := s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})
			require.NotEmpty(t, found)
			sc, scores := generation(int(found[0].Score) - 100)
			require.Len(t, found, sc.Windows)
			s.hasScoring(t, orgA, setA, "shared", sc)
			require.Len(t, s.windows(t, orgA, setA, "shared", modelX, 0, 10), len(scores[0]))
		}},

	{Rule{"scores/path-change-is-one-step", "A search sees a video that is replaced by one with another path before or after: with its scores and old metadata, or not at all."}, needScores,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			version := func(i int) audiosearch.Video {
				return audiosearch.Video{ID: "v", Path: fmt.Sprint("path ", i), Metadata: metadata.Map{"n": metadata.Int(int64(i))}}
			}
			s.score(t, orgA, setA, s.put(t, orgA, setA, version(0)), modelX, "7", 0)
			conformance.Watch(t, 2, func(i int) error {
				found, err := s.Scores.Search(t.Context(), orgA, setA, audiosearch.ScoreQuery{
					Model: modelX, Class: "7", Limit: 10, Filters: []metadata.Filter{{Key: "n", Value: fmt.Sprint(i)}},
				})
				for _, h := range found {
					if int(h.Score) != i {
						err = fmt.Errorf("with the metadata of version %d of the video, the scores of version %d were found", i, h.Score)
					}
				}
				return err
			}, 50, func(n int) {
				s.score(t, orgA, setA, s.put(t, orgA, setA, version(n%2)), modelX, "7", uint16(n%2))
			})
		}},

	{Rule{"scores/delete-concurrent", "Scores that are stored while their dataset is deleted and made anew belong to no video of the new one."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			conformance.Watch(t, 2, func(i int) error {
				err := s.Scores.PutScoring(t.Context(), orgA, setA, v.ID, v.Path, scoring(modelX, 1, "7"), [][]uint16{{uint16(i)}})
				if isConflict(err) || errors.Is(err, audiosearch.ErrDatasetNotFound) {
					return nil
				}
				return err
			}, 20, func(int) {
				require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA))
				s.makeDataset(t, orgA, setA)
				require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"}))
				s.put(t, orgA, setA, v)
			})
		}},
}
