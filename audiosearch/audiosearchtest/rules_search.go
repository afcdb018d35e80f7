package audiosearchtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// searchRules are the rules of Search, but for filters.
var searchRules = []rule{
	{Rule{"scores/search-order", "Search returns the best segments: score descending, ties by video ID ascending, byte by byte, then by segment ascending."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, orderedNames...)
			for _, i := range scattered(len(videos)) {
				s.score(t, orgA, setA, videos[i], modelX, "7", 500, 1, 500, math.MaxUint16)
			}
			var want []string
			for _, id := range orderedNames {
				want = append(want, fmt.Sprint(id, " 3 65535"))
			}
			for _, id := range orderedNames {
				want = append(want, fmt.Sprint(id, " 0 500"), fmt.Sprint(id, " 2 500"))
			}
			for _, id := range orderedNames {
				want = append(want, fmt.Sprint(id, " 1 1"))
			}
			require.Equal(t, want, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
		}},

	{Rule{"scores/search-pages", "Offset leaves segments out at the top, and Limit bounds how many come: paging over a ranking never repeats or skips."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "a", "b", "c", "d", "e")
			for i, v := range videos {
				s.score(t, orgA, setA, v, modelX, "7", 5, 5, 9, uint16(i), 5, 5, 0)
			}
			want := hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"}))
			require.Len(t, want, 35)
			for _, limit := range []int{1, 2, 3, 5, 7, 34, 35, 36, 1000} {
				var got []string
				for offset := 0; offset < 40; offset += limit {
					page := hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", Offset: offset, Limit: limit}))
					require.Len(t, page, max(0, min(limit, 35-offset)), "offset %d, limit %d", offset, limit)
					got = append(got, page...)
				}
				require.Equal(t, want, got, "limit %d", limit)
			}
		}},

	{Rule{"scores/search-offset-beyond", "Offset may be more than there are: then nothing is found, and there is no error."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", Offset: 1}))
			s.score(t, orgA, setA, v, modelX, "7", 10, 20)
			for _, offset := range []int{2, 3, 1000, 1 << 40} {
				require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", Offset: offset, Limit: 10}), "offset %d", offset)
			}
		}},

	{Rule{"scores/search-min-score", "Segments below MinScore are left out, those at it are not."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			s.score(t, orgA, setA, videos[0], modelX, "7", 10, 20, 30)
			s.score(t, orgA, setA, videos[1], modelX, "7", 20, math.MaxUint16, 0)
			all := s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})
			for _, least := range []uint16{0, 1, 10, 11, 20, 21, 30, 31, math.MaxUint16 - 1, math.MaxUint16} {
				want := slices.DeleteFunc(slices.Clone(all), func(h audiosearch.Hit) bool { return h.Score < least })
				require.Equal(t, hits(want), hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", MinScore: least})), "at least %d", least)
				require.Equal(t, hits(want[min(1, len(want)):min(3, len(want))]),
					hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", MinScore: least, Offset: 1, Limit: 2})), "at least %d, a page", least)
			}
		}},

	{Rule{"scores/search-zero", "Segments whose score is 0 are found like any other."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			s.putScoring(t, orgA, setA, videos[0], scoring(modelX, 3, "7", "8"), [][]uint16{{0, 0, 0}, {0, 1, 0}})
			s.score(t, orgA, setA, videos[1], modelX, "7", 0)
			require.Equal(t, []string{"v 0 0", "v 1 0", "v 2 0", "w 0 0"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
			require.Equal(t, []string{"v 1 1", "v 0 0", "v 2 0"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "8"})))
		}},

	{Rule{"scores/search-class", "Search reads the scores of its class, and segments scored without this class are left out."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "u", "v", "w")
			s.putScoring(t, orgA, setA, videos[0], scoring(modelX, 2, "7", "8"), [][]uint16{{10, 20}, {30, 40}})
			s.putScoring(t, orgA, setA, videos[1], scoring(modelX, 1, "0", "8", "526"), [][]uint16{{1}, {35}, {2}})
			s.putScoring(t, orgA, setA, videos[2], problem(modelX, "no"), nil)
			for class, want := range map[sound.Class][]string{
				"0": {"v 0 1"}, "1": {}, "6": {}, "7": {"u 1 20", "u 0 10"}, "8": {"u 1 40", "v 0 35", "u 0 30"}, "9": {}, "525": {}, "526": {"v 0 2"},
			} {
				require.Equal(t, want, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: class})), "class %q", class)
			}
		}},

	{Rule{"scores/search-model", "Search reads the scores of its model."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			s.score(t, orgA, setA, videos[0], modelX, "7", 10)
			s.score(t, orgA, setA, videos[0], modelY, "7", 20, 30)
			s.score(t, orgA, setA, videos[1], modelY, "7", 25)
			require.Equal(t, []string{"v 0 10"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: modelX, Class: "7"})))
			require.Equal(t, []string{"v 1 30", "w 0 25", "v 0 20"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: modelY, Class: "7"})))
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: "z/1", Class: "7"}))
		}},

	{Rule{"scores/search-empty", "Search of a dataset without videos or scores finds nothing, and there is no error."}, needScores,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"}))
			s.put(t, orgA, setA, video("v", nil))
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"}))
		}},

	{Rule{"scores/search-many", "Search is exact, whether the scores are those of few long videos or of many short ones, and whatever was replaced and deleted."}, needScores,
		func(t *testing.T, s *subject) { searchMany(t, s) }},
}

// searchMany makes videos of 1 to 9000 segments, changes some of them, and compares pages
// of the ranking with one that is sorted here.
func searchMany(t *testing.T, s *subject) {
	random := rand.New(rand.NewPCG(3, 4))
	var ids []string
	for i := range 400 {
		ids = append(ids, fmt.Sprint("video ", i))
	}
	videos := s.withVideos(t, ids...)
	all := make(map[string][]uint16)
	put := func(v audiosearch.Video, n int) {
		scores := make([]uint16, n)
		for i := range scores {
			scores[i] = uint16(random.IntN(1 << random.IntN(17)))
		}
		all[v.ID] = scores
		s.putScoring(t, orgA, setA, v, scoring(modelX, n, "7"), [][]uint16{slices.Clone(scores)})
	}
	for i, v := range videos {
		put(v, 1+random.IntN(5)+max(0, 9000-i*3000))
	}
	for range 60 {
		put(videos[random.IntN(len(videos))], 1+random.IntN(20))
		v := videos[random.IntN(len(videos))]
		delete(all, v.ID)
		require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, v.ID))
		s.put(t, orgA, setA, v)
	}
	var want []audiosearch.Hit
	for id, scores := range all {
		for i, score := range scores {
			want = append(want, audiosearch.Hit{Video: id, Window: i, Score: score})
		}
	}
	slices.SortFunc(want, func(a, b audiosearch.Hit) int {
		if a.Score != b.Score {
			return int(b.Score) - int(a.Score)
		}
		if a.Video != b.Video {
			return strings.Compare(a.Video, b.Video)
		}
		return a.Window - b.Window
	})
	for range 30 {
		q := audiosearch.ScoreQuery{Class: "7", Offset: random.IntN(1 << random.IntN(14)), Limit: 1 + random.IntN(1000)}
		got := s.search(t, orgA, setA, q)
		require.Equal(t, want[min(q.Offset, len(want)):min(q.Offset+q.Limit, len(want))], got, "offset %d, limit %d", q.Offset, q.Limit)
	}
}
