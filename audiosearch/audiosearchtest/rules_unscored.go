package audiosearchtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// unscored returns the IDs of the videos of a page, and how many matched.
func (s *subject) unscored(t *testing.T, q audiosearch.UnscoredQuery) ([]string, int) {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	if q.Model == "" {
		q.Model = modelX
	}
	page, err := s.Scores.Unscored(t.Context(), orgA, setA, q)
	require.NoError(t, err)
	return videoIDs(page.Videos), page.Matched
}

// isUnscored requires what a query returns.
func (s *subject) isUnscored(t *testing.T, q audiosearch.UnscoredQuery, matched int, want ...string) {
	t.Helper()
	ids, n := s.unscored(t, q)
	require.Equal(t, append([]string{}, want...), ids, "%+v", q)
	require.Equal(t, matched, n, "Matched of %+v", q)
}

// unscoredRules are the rules of Unscored.
var unscoredRules = []rule{
	{Rule{"scores/unscored", "Unscored returns the videos that are not wholly scored by the model: nobody tried, or there was a problem, even beside scores. Matched counts scored ones too."}, needScores,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.isUnscored(t, audiosearch.UnscoredQuery{}, 0)
			s.put(t, orgA, setA, video("v", nil), video("w", nil), video("x", nil), video("y", nil))
			s.isUnscored(t, audiosearch.UnscoredQuery{}, 4, "v", "w", "x", "y")
			s.score(t, orgA, setA, video("w", nil), modelX, "7", 10)
			s.putScoring(t, orgA, setA, video("x", nil), problem(modelX, "no sound"), nil)
			s.score(t, orgA, setA, video("y", nil), modelY, "7", 10)
			s.isUnscored(t, audiosearch.UnscoredQuery{}, 4, "v", "x", "y")
			s.isUnscored(t, audiosearch.UnscoredQuery{Model: modelY}, 4, "v", "w", "x")
			s.putScoring(t, orgA, setA, video("w", nil), partly(modelX, "cut off", 1, "7"), columns([]uint16{10}, 1))
			s.isUnscored(t, audiosearch.UnscoredQuery{}, 4, "v", "w", "x", "y")
			s.isUnscored(t, audiosearch.UnscoredQuery{After: "v", Limit: 1}, 4, "w")
			s.isUnscored(t, audiosearch.UnscoredQuery{Model: modelY}, 4, "v", "w", "x")
			s.isUnscored(t, audiosearch.UnscoredQuery{Model: "z/1"}, 4, "v", "w", "x", "y")
		}},

	{Rule{"scores/unscored-media", "Unscored with a Media returns also videos whose scores are of another media, which Without does not count. Without a Media it does not look."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			s.score(t, orgA, setA, videos[0], modelX, "7", 10)
			s.score(t, orgA, setA, videos[1], modelX, "7", 10)
			newer := scoring(modelX, 1, "7")
			newer.Media = mediaN
			s.putScoring(t, orgA, setA, videos[1], newer, columns([]uint16{10}, 1))
			s.isUnscored(t, audiosearch.UnscoredQuery{}, 2)
			s.isUnscored(t, audiosearch.UnscoredQuery{Media: mediaM}, 2, "w")
			s.isUnscored(t, audiosearch.UnscoredQuery{Media: mediaN}, 2, "v")
			s.isUnscored(t, audiosearch.UnscoredQuery{Media: "media/3"}, 2, "v", "w")
			u, err := s.Scores.Unscored(t.Context(), orgA, setA, audiosearch.UnscoredQuery{Model: modelX, Media: "media/3", Limit: 1})
			require.NoError(t, err)
			require.Zero(t, u.Without, "they have scores")
		}},

	{Rule{"scores/unscored-follows-changes", "Unscored goes by scores and problems as they are now."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			for _, step := range []struct {
				what string
				do   func()
				want []string
			}{
				{"nothing", func() {}, []string{"v"}},
				{"scores", func() { s.score(t, orgA, setA, v, modelX, "7", 10) }, nil},
				{"a problem instead", func() { s.putScoring(t, orgA, setA, v, problem(modelX, "cut"), nil) }, []string{"v"}},
				{"scores of a part", func() {
					s.putScoring(t, orgA, setA, v, partly(modelX, "cut", 1, "7"), columns([]uint16{10}, 1))
				}, []string{"v"}},
				{"scores instead", func() { s.score(t, orgA, setA, v, modelX, "7", 10) }, nil},
				{"other metadata", func() { s.put(t, orgA, setA, video("v", everyKind())) }, nil},
				{"another path", func() { s.put(t, orgA, setA, audiosearch.Video{ID: "v", Path: "moved"}) }, []string{"v"}},
			} {
				step.do()
				s.isUnscored(t, audiosearch.UnscoredQuery{}, 1, step.want...)
			}
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"))
			s.isUnscored(t, audiosearch.UnscoredQuery{}, 0)
		}},

	{Rule{"scores/unscored-filters", "Unscored and Matched are of the videos that pass the filters, as in Search."}, needScores,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			for i := range 6 {
				m := metadata.Map{"n": metadata.Int(int64(i)), "odd": metadata.Bool(i%2 == 1)}
				v := s.put(t, orgA, setA, video(fmt.Sprint(i), m))
				if i == 3 {
					s.score(t, orgA, setA, v, modelX, "7", 10)
				}
			}
			s.put(t, orgA, setA, video("x", metadata.Map{"n": {}}))
			filters := func(f ...metadata.Filter) audiosearch.UnscoredQuery { return audiosearch.UnscoredQuery{Filters: f} }
			s.isUnscored(t, filters(), 7, "0", "1", "2", "4", "5", "x")
			s.isUnscored(t, filters(metadata.Filter{Key: "n", Op: ge, Value: "2.0"}), 4, "2", "4", "5")
			s.isUnscored(t, filters(metadata.Filter{Key: "odd", Value: "true"}), 3, "1", "5")
			s.isUnscored(t, filters(metadata.Filter{Key: "odd", Value: "true"}, metadata.Filter{Key: "n", Op: lt, Value: "5"}), 2, "1")
			s.isUnscored(t, filters(metadata.Filter{Key: "n", Op: ne, Value: "9"}), 6, "0", "1", "2", "4", "5")
			s.isUnscored(t, filters(metadata.Filter{Key: "n", Value: "3"}), 1)
			s.isUnscored(t, filters(metadata.Filter{Key: "nobody", Op: ne, Value: "1"}), 0)
		}},

	{Rule{"scores/unscored-pages", "Unscored returns at most Limit videos with IDs greater than After, byte by byte, in that order; Matched counts those of other pages too."}, needScores,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			var want []string
			for _, i := range scattered(len(orderedNames)) {
				s.put(t, orgA, setA, video(orderedNames[i], nil))
			}
			for i, id := range orderedNames {
				if i%3 == 1 {
					s.score(t, orgA, setA, video(id, nil), modelX, "7", 10)
					continue
				}
				want = append(want, id)
			}
			s.isUnscored(t, audiosearch.UnscoredQuery{}, len(orderedNames), want...)
			for limit := 1; limit <= len(want)+1; limit++ {
				var got []string
				for after := ""; ; after = got[len(got)-1] {
					page, matched := s.unscored(t, audiosearch.UnscoredQuery{After: after, Limit: limit})
					require.LessOrEqual(t, len(page), limit)
					require.Equal(t, len(orderedNames), matched)
					got = append(got, page...)
					require.LessOrEqual(t, len(got), len(want), "paging repeats")
					if len(page) < limit {
						break
					}
				}
				require.Equal(t, want, got, "limit %d", limit)
			}
		}},

	{Rule{"scores/unscored-whole", "Unscored returns whole videos, which are the caller's to change."}, needScores,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			want := s.put(t, orgA, setA, video("v", everyKind()))
			page, err := s.Scores.Unscored(t.Context(), orgA, setA, audiosearch.UnscoredQuery{Model: modelX, Limit: 1})
			require.NoError(t, err)
			require.Len(t, page.Videos, 1)
			sameVideo(t, video("v", everyKind()), page.Videos[0])
			clear(page.Videos[0].Metadata)
			s.hasVideo(t, orgA, setA, want)
		}},
}
