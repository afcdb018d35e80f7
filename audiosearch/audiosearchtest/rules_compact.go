package audiosearchtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// compact compacts until there is nothing more to do.
func (s *subject) compact(t *testing.T) {
	t.Helper()
	s.compactBy(t, audiosearch.CompactOptions{})
}

// answers returns everything that can be seen of the scores of setA.
func (s *subject) answers(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, model := range []string{modelX, modelY} {
		for _, class := range []sound.Class{"7", "8"} {
			all = append(all, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: model, Class: class}))...)
		}
		for _, v := range s.list(t, orgA, setA) {
			rows, err := s.Scores.WindowScores(t.Context(), orgA, setA, v.ID, model, 0, 1000)
			sc, err2 := s.oneScoring(t.Context(), orgA, setA, v.ID, model)
			all = append(all, fmt.Sprint(v.ID, " ", rows, " ", err, " ", sc.Windows, " ", sc.Classes, " ", sc.Problem, " ", err2))
		}
		ids, matched := s.unscored(t, audiosearch.UnscoredQuery{Model: model})
		all = append(all, fmt.Sprint(ids, " ", matched))
	}
	return all
}

// compactRules are the rules of Scores that are a Pruner.
var compactRules = []rule{
	{Rule{"compactor/nothing-to-do", "Compact of an empty store does nothing and reports that there is no more."}, needScores | needCompactor,
		func(t *testing.T, s *subject) {
			s.compact(t)
			s.makeDataset(t, orgA, setA)
			s.compact(t)
		}},

	{Rule{"compactor/changes-no-answer", "Compact changes no answer, in each of its steps, after whatever was stored, replaced and deleted."}, needScores | needCompactor,
		func(t *testing.T, s *subject) {
			random := rand.New(rand.NewPCG(5, 6))
			var ids []string
			for i := range 30 {
				ids = append(ids, fmt.Sprint("v", i))
			}
			videos := s.withVideos(t, ids...)
			for range 3 {
				for range videos {
					v := videos[random.IntN(len(videos))]
					model, n := []string{modelX, modelY}[random.IntN(2)], 1+random.IntN(30)
					switch random.IntN(10) {
					case 0:
						s.putScoring(t, orgA, setA, v, problem(model, "no"), nil)
					case 1:
						require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, v.ID))
						s.put(t, orgA, setA, v)
					default:
						scores := make([]uint16, n)
						for i := range scores {
							scores[i] = uint16(random.IntN(50))
						}
						s.putScoring(t, orgA, setA, v, scoring(model, n, "7", "8"), columns(scores, 2))
					}
				}
				want := s.answers(t)
				for step := 0; ; step++ {
					require.Less(t, step, 10_000, "Compact always reports that there is more")
					_, more, err := s.Scores.(audiosearch.Pruner).Compact(t.Context(), audiosearch.CompactOptions{}, 1000)
					require.NoError(t, err)
					require.Equal(t, want, s.answers(t))
					if !more {
						break
					}
				}
			}
		}},

	{Rule{"compactor/concurrent", "While Compact runs, in several goroutines too, scores are stored, replaced and found as ever."}, needScores | needCompactor,
		func(t *testing.T, s *subject) {
			var ids []string
			for i := range 12 {
				ids = append(ids, fmt.Sprint("v", 10+i))
			}
			videos := s.withVideos(t, ids...)
			for _, v := range videos {
				s.score(t, orgA, setA, v, modelX, "7", 9, 9)
			}
			want := 2 * len(videos)
			conformance.Watch(t, 3, func(i int) error {
				if i < 2 {
					_, _, err := s.Scores.(audiosearch.Pruner).Compact(t.Context(), audiosearch.CompactOptions{}, 1000)
					return err
				}
				found, err := s.Scores.Search(t.Context(), orgA, setA, audiosearch.ScoreQuery{Model: modelX, Class: "7", Limit: 1000})
				if err == nil && len(found) != want {
					return fmt.Errorf("found %d segments of %d", len(found), want)
				}
				return err
			}, 5*len(videos), func(n int) {
				s.score(t, orgA, setA, videos[n%len(videos)], modelX, "7", 9, uint16(n/len(videos)))
			})
			s.compact(t)
			for _, v := range videos {
				require.Equal(t, [][]uint16{{9}, {4}}, s.windows(t, orgA, setA, v.ID, modelX, 0, 10))
			}
			require.Len(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"}), want)
		}},
}
