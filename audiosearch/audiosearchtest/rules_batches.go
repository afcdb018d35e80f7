package audiosearchtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// videosOf reads videos of setA by their IDs, and asks again for those that were not looked
// for. It returns how often it asked.
func (s *subject) videosOf(t *testing.T, ids []string) (all []audiosearch.Video, calls int) {
	t.Helper()
	for len(ids) > 0 {
		found, looked, err := s.Catalog.Videos(t.Context(), orgA, setA, ids)
		require.NoError(t, err)
		calls++
		require.Positive(t, looked, "for how many of %d it looked", len(ids))
		require.LessOrEqual(t, looked, len(ids))
		var left []string
		for _, v := range found {
			left = append(left, v.ID)
		}
		require.Subset(t, ids[:looked], left, "videos that it did not look for")
		all, ids = append(all, found...), ids[looked:]
	}
	return all, calls
}

// batchRules are the rules of reads of many videos at once.
var batchRules = []rule{
	{Rule{"catalog/videos-in-order", "Videos returns videos in the order of the IDs, without those that are not there."}, needCatalog,
		func(t *testing.T, s *subject) {
			var videos []audiosearch.Video
			for i, id := range orderedNames {
				videos = append(videos, video(id, metadata.Map{"n": metadata.Int(int64(i))}))
			}
			s.makeDataset(t, orgA, setA)
			s.put(t, orgA, setA, videos...)
			var ids []string
			var want []audiosearch.Video
			for _, i := range scattered(len(videos)) {
				ids = append(ids, videos[i].ID, fmt.Sprint("nobody ", i))
				want = append(want, videos[i])
			}
			for len(ids) > 0 {
				got, _ := s.videosOf(t, ids)
				require.Equal(t, videoIDs(want), videoIDs(got))
				for i := range want {
					sameVideo(t, want[i], got[i])
				}
				ids, want = ids[2:], want[1:]
			}
			got, _ := s.videosOf(t, []string{"nobody", "NOBODY"})
			require.Empty(t, got)
		}},

	{Rule{"catalog/videos-none", "Videos of no IDs are none, without an error."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.put(t, orgA, setA, video("v", nil))
			for _, ids := range [][]string{nil, {}} {
				found, looked, err := s.Catalog.Videos(t.Context(), orgA, setA, ids)
				require.NoError(t, err)
				require.Empty(t, found)
				require.Zero(t, looked)
			}
			_, _, err := s.Catalog.Videos(t.Context(), orgA, setB, nil)
			require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
		}},

	{Rule{"catalog/videos-bound", "Videos stops at 1 MiB of metadata beside that of one video, and says for how many IDs it looked, one at least: " +
		"asking again for the others brings all."}, needCatalog,
		func(t *testing.T, s *subject) {
			const each = 60_000
			s.makeDataset(t, orgA, setA)
			var ids, want []string
			for i := range 60 {
				v := video(fmt.Sprint("v", 10+i), metadata.Map{"text": metadata.String(strings.Repeat(string(rune('a'+i%26)), each))})
				s.put(t, orgA, setA, v)
				ids, want = append(ids, v.ID, "nobody "+v.ID), append(want, v.ID)
			}
			got, calls := s.videosOf(t, ids)
			require.Equal(t, want, videoIDs(got))
			for i, v := range got {
				require.Equal(t, strings.Repeat(string(rune('a'+i%26)), each), v.Metadata["text"].Text())
			}
			found, _, err := s.Catalog.Videos(t.Context(), orgA, setA, ids)
			require.NoError(t, err)
			require.LessOrEqual(t, len(found)*each, 1<<20+each, "bytes of metadata in one answer")
			require.GreaterOrEqual(t, calls, 60*each/(1<<20+each))
		}},

	{Rule{"catalog/videos-many", "Videos takes a thousand IDs and more."}, needCatalog,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			var videos []audiosearch.Video
			for i := range 1500 {
				videos = append(videos, video(fmt.Sprintf("v%04d", i), nil))
			}
			s.put(t, orgA, setA, videos...)
			ids := videoIDs(videos)
			slices.Reverse(ids)
			got, _ := s.videosOf(t, ids)
			require.Equal(t, ids, videoIDs(got))
		}},

	{Rule{"scores/scorings", "Scorings returns what came of scoring each of some videos by one model, without those that nobody has tried " +
		"to score by it, or that are not there."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, exactNames...)
			want := make(map[string]audiosearch.Scoring)
			ids := []string{"nobody"}
			for i, v := range videos {
				ids = append(ids, v.ID)
				switch i % 4 {
				case 0:
					want[v.ID] = scoring(modelX, 1+i, "7", "8")
				case 1:
					want[v.ID] = problem(modelX, "no sound")
				case 2:
					want[v.ID] = partly(modelX, "cut off", 1+i, "9")
				default:
					s.score(t, orgA, setA, v, modelY, "7", 10)
					continue
				}
				sc := want[v.ID]
				s.putScoring(t, orgA, setA, v, sc, noise(1, sc.Windows, len(sc.Classes)))
			}
			got, err := s.Scores.Scorings(t.Context(), orgA, setA, modelX, ids)
			require.NoError(t, err)
			require.Len(t, got, len(want))
			for id, sc := range want {
				require.Contains(t, got, id)
				sameScoring(t, sc, got[id])
			}
			got, err = s.Scores.Scorings(t.Context(), orgA, setA, modelX, ids[1:2])
			require.NoError(t, err)
			require.Len(t, got, 1, "others than asked for")
			got, err = s.Scores.Scorings(t.Context(), orgA, setA, "z/1", ids)
			require.NoError(t, err)
			require.Empty(t, got)
		}},

	{Rule{"scores/scorings-many", "Scorings takes a thousand IDs, and none."}, needScores,
		func(t *testing.T, s *subject) {
			var ids []string
			for i := range 1000 {
				ids = append(ids, fmt.Sprintf("v%04d", i))
			}
			videos := s.withVideos(t, ids...)
			want := 1 // with the last one
			for i := 0; i < len(videos)-1; i += 3 {
				s.putScoring(t, orgA, setA, videos[i], problem(modelX, videos[i].ID), nil)
				want++
			}
			s.score(t, orgA, setA, videos[999], modelX, "7", 10)
			got, err := s.Scores.Scorings(t.Context(), orgA, setA, modelX, ids)
			require.NoError(t, err)
			require.Len(t, got, want)
			for id, sc := range got {
				if id != ids[999] {
					require.Equal(t, id, sc.Problem)
				}
			}
			sameScoring(t, scoring(modelX, 1, "7"), got[ids[999]])
			for _, none := range [][]string{nil, {}} {
				got, err := s.Scores.Scorings(t.Context(), orgA, setA, modelX, none)
				require.NoError(t, err)
				require.Empty(t, got)
			}
		}},

	{Rule{"scores/without", "Without counts the videos that pass the filters and have no scores by the model, those of other pages included: " +
		"a problem is no score, half a file has some."}, needScores,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			var videos []audiosearch.Video
			for i := range 12 {
				videos = append(videos, video(fmt.Sprint("v", 10+i), metadata.Map{"half": metadata.Int(int64(i % 2))}))
			}
			s.put(t, orgA, setA, videos...)
			without := func(want int, q audiosearch.UnscoredQuery) {
				t.Helper()
				if q.Limit == 0 {
					q.Limit = 100
				}
				page, err := s.Scores.Unscored(t.Context(), orgA, setA, q)
				require.NoError(t, err)
				require.Equal(t, want, page.Without, "Without of %+v", q)
			}
			without(12, audiosearch.UnscoredQuery{Model: modelX})
			s.score(t, orgA, setA, videos[0], modelX, "7", 10)
			s.putScoring(t, orgA, setA, videos[1], problem(modelX, "no sound"), nil)
			s.putScoring(t, orgA, setA, videos[2], partly(modelX, "cut off", 1, "7"), [][]uint16{{10}})
			s.score(t, orgA, setA, videos[3], modelY, "7", 10)
			s.score(t, orgA, setA, videos[5], modelX, "7", 10)
			without(9, audiosearch.UnscoredQuery{Model: modelX})
			without(9, audiosearch.UnscoredQuery{Model: modelX, Limit: 1})
			without(9, audiosearch.UnscoredQuery{Model: modelX, After: "v20", Limit: 1})
			without(9, audiosearch.UnscoredQuery{Model: modelX, After: "z"})
			without(11, audiosearch.UnscoredQuery{Model: modelY})
			without(12, audiosearch.UnscoredQuery{Model: "z/1"})
			even, odd := []metadata.Filter{{Key: "half", Value: "0"}}, []metadata.Filter{{Key: "half", Value: "1"}}
			without(4, audiosearch.UnscoredQuery{Model: modelX, Filters: even})
			without(5, audiosearch.UnscoredQuery{Model: modelX, Filters: odd, Limit: 2})
			without(0, audiosearch.UnscoredQuery{Model: modelX, Filters: append(even, odd...)})
			s.putScoring(t, orgA, setA, videos[0], problem(modelX, "no sound"), nil)
			without(5, audiosearch.UnscoredQuery{Model: modelX, Filters: even})
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, videos[4].ID))
			without(4, audiosearch.UnscoredQuery{Model: modelX, Filters: even})
		}},
}
