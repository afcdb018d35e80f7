package audiosearchtest

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// withVideos makes the dataset setA of orgA with videos of these IDs, and returns them.
func (s *subject) withVideos(t *testing.T, ids ...string) []audiosearch.Video {
	t.Helper()
	s.makeDataset(t, orgA, setA)
	var videos []audiosearch.Video
	for _, id := range ids {
		videos = append(videos, video(id, nil))
	}
	s.put(t, orgA, setA, videos...)
	return videos
}

// scoringRules are the rules of PutScoring, and of Scorings for one video.
var scoringRules = []rule{
	{Rule{"scores/no-dataset", "Each method of ScoreStore returns ErrDatasetNotFound if there is no such dataset, or if another organization has it."}, needScores,
		func(t *testing.T, s *subject) {
			for _, c := range s.scoreCalls() {
				require.ErrorIs(t, c.do(t.Context(), orgA, setA), audiosearch.ErrDatasetNotFound, c.name)
			}
			s.withVideos(t, "v")
			for _, c := range s.scoreCalls() {
				require.NoError(t, c.do(t.Context(), orgA, setA), c.name)
				require.ErrorIs(t, c.do(t.Context(), orgA, setB), audiosearch.ErrDatasetNotFound, c.name)
				require.ErrorIs(t, c.do(t.Context(), orgB, setA), audiosearch.ErrDatasetNotFound, c.name)
			}
		}},

	{Rule{"scores/longest", "Every text of a scoring comes back whole, as long as it can be."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			want := partly(modelX, "cut off", 2, "7")
			mutate.Stretch(&want)
			s.putScoring(t, orgA, setA, v, want, columns([]uint16{1, 2}, 1))
			got, err := s.Scores.Scorings(t.Context(), orgA, setA, want.Model, []string{v.ID})
			require.NoError(t, err)
			sameScoring(t, want, got[v.ID])
		}},

	{Rule{"scores/put-and-get", "PutScoring stores what came of scoring a video, and Scorings returns it as it was, every field."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w", "x", "y", "z")
			full := scoring(modelX, 3, "7", "é, 0", "526")
			full.FileSize, full.FileTime, full.Digest = 1<<53+1, moment(time.Microsecond), [32]byte{0: 255, 31: 1}
			full.At = moment(2 * time.Microsecond)
			full.Hop, full.Window = 2_000_000_500, 10_000_000_001 // a model's own times are as fine as they are
			full.Keyframes = []time.Duration{0, 40 * time.Millisecond, 99 * time.Hour}
			bare := scoring(modelX, 1, "7")
			bare.HasVideo, bare.Keyframes, bare.Duration = false, nil, time.Millisecond
			every := scoring(modelX, 1, vocabulary(527)...)
			bad := problem(modelX, "the file is empty: upload it again (\u00e9 '\"\\ %)")
			s.putScoring(t, orgA, setA, videos[0], full, columns([]uint16{1, 2, 3}, 3))
			s.putScoring(t, orgA, setA, videos[1], bare, columns([]uint16{1}, 1))
			s.putScoring(t, orgA, setA, videos[2], bad, nil)
			half := partly(modelX, "cut off", 2, "7")
			s.putScoring(t, orgA, setA, videos[4], half, columns([]uint16{1, 2}, 1))
			s.putScoring(t, orgA, setA, videos[3], every, columns([]uint16{1}, 527))
			for i, want := range []audiosearch.Scoring{full, bare, bad, every, half} {
				s.hasScoring(t, orgA, setA, videos[i].ID, want)
			}
		}},

	{Rule{"scores/scoring-unknown", "Scorings leaves out a video that nobody tried to score by the model, or that is not there, and WindowScores of it is ErrNotScored."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v", "w")[0]
			s.makeDataset(t, orgA, setB)
			s.put(t, orgA, setB, v)
			s.score(t, orgA, setA, v, modelX, "7", 10)
			s.notScored(t, orgA, setA, "v", modelY)
			s.notScored(t, orgA, setA, "w", modelX)
			s.notScored(t, orgA, setA, "nobody", modelX)
			s.notScored(t, orgA, setB, "v", modelX)
		}},

	{Rule{"scores/replace", "PutScoring stores instead of what the store has of the same video and model: of the old scores nothing is left."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			s.score(t, orgA, setA, videos[1], modelX, "7", 500)
			s.putScoring(t, orgA, setA, videos[0], scoring(modelX, 4, "7", "8"), columns([]uint16{900, 800, 700, 600}, 2))
			fewer := scoring(modelX, 2, "7", "9")
			fewer.At, fewer.Digest = moment(time.Hour), [32]byte{77}
			s.putScoring(t, orgA, setA, videos[0], fewer, [][]uint16{{50, 60}, {1, 2}})
			s.hasScoring(t, orgA, setA, "v", fewer)
			require.Equal(t, []string{"w 0 500", "v 1 60", "v 0 50"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "8"}))
			require.Equal(t, []string{"v 1 2", "v 0 1"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "9"})))
			require.Equal(t, [][]uint16{{50, 1}, {60, 2}}, s.windows(t, orgA, setA, "v", modelX, 0, 10))

			more := scoring(modelX, 5, "7")
			s.putScoring(t, orgA, setA, videos[0], more, [][]uint16{{1, 2, 3, 4, 5}})
			require.Equal(t, []string{"w 0 500", "v 4 5", "v 3 4", "v 2 3", "v 1 2", "v 0 1"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "9"}))
		}},

	{Rule{"scores/replace-with-itself", "Scores stored twice are there once."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			for range 3 {
				s.score(t, orgA, setA, v, modelX, "7", 10, 20)
				require.Equal(t, []string{"v 1 20", "v 0 10"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
			}
		}},

	{Rule{"scores/problem", "A scoring with a Problem and no segments has no scores, and leaves none of an earlier scoring; scores may come after it."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.score(t, orgA, setA, v, modelX, "7", 10, 20)
			s.putScoring(t, orgA, setA, v, problem(modelX, "cut off"), nil)
			s.hasScoring(t, orgA, setA, "v", problem(modelX, "cut off"))
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"}))
			_, err := s.Scores.WindowScores(t.Context(), orgA, setA, "v", modelX, 0, 10)
			require.ErrorIs(t, err, audiosearch.ErrNotScored)
			s.score(t, orgA, setA, v, modelX, "7", 30)
			s.hasScoring(t, orgA, setA, "v", scoring(modelX, 1, "7"))
			require.Equal(t, []string{"v 0 30"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
		}},

	{Rule{"scores/partly", "A scoring with a Problem may have scores as well, of the part of the file that is there: those are found as others are."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v", "w")[0]
			s.putScoring(t, orgA, setA, v, problem(modelX, "no sound"), nil)
			half := partly(modelX, "cut off", 2, "7", "9")
			s.putScoring(t, orgA, setA, v, half, [][]uint16{{10, 20}, {30, 40}})
			s.hasScoring(t, orgA, setA, "v", half)
			require.Equal(t, []string{"v 1 20", "v 0 10"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})))
			require.Equal(t, [][]uint16{{10, 30}, {20, 40}}, s.windows(t, orgA, setA, "v", modelX, 0, 5))
			s.putScoring(t, orgA, setA, v, problem(modelX, "no sound"), nil)
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"}))
		}},

	{Rule{"scores/models-are-apart", "What came of scoring a video by one model leaves that of another one; models are the same if every byte of their IDs is."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			for i, model := range exactNames {
				s.score(t, orgA, setA, v, model, "7", uint16(i), uint16(100+i))
			}
			s.putScoring(t, orgA, setA, v, problem(exactNames[0], "no"), nil)
			s.score(t, orgA, setA, v, exactNames[1], "7", 1000)
			for i, model := range exactNames[2:] {
				i += 2
				s.hasScoring(t, orgA, setA, "v", scoring(model, 2, "7"))
				require.Equal(t, []string{"v 1 " + strconv.Itoa(100+i), "v 0 " + strconv.Itoa(i)}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: model, Class: "7"})))
			}
			require.Equal(t, []string{"v 0 1000"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: exactNames[1], Class: "7"})))
			require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: exactNames[0], Class: "7"}))
		}},

	{Rule{"scores/datasets-are-apart", "Scores of a video in one dataset are not those of the same video in another, nor those in another organization's."}, needScores,
		func(t *testing.T, s *subject) {
			in := [][2]string{{orgA, setA}, {orgA, setB}, {orgB, setA}}
			v := video("v", nil)
			for i, at := range in {
				s.makeDataset(t, at[0], at[1])
				s.put(t, at[0], at[1], v)
				s.score(t, at[0], at[1], v, modelX, "7", uint16(100*i), uint16(100*i+1))
			}
			for i, at := range in {
				n := strconv.Itoa(100 * i)
				require.Equal(t, []string{"v 1 " + strconv.Itoa(100*i+1), "v 0 " + n}, hits(s.search(t, at[0], at[1], audiosearch.ScoreQuery{Class: "7"})))
				require.Equal(t, [][]uint16{{uint16(100 * i)}}, s.windows(t, at[0], at[1], "v", modelX, 0, 1))
			}
		}},

	{Rule{"scores/exact", "The stored scores have all of their 16 bits, in every class and segment, whatever their pattern."}, needScores,
		func(t *testing.T, s *subject) {
			const n = 10_000
			v := s.withVideos(t, "v")[0]
			random := rand.New(rand.NewPCG(1, 2))
			all := make([][]uint16, 4)
			for c := range all {
				all[c] = make([]uint16, n)
				for i := range all[c] {
					all[c][i] = []func() uint16{
						func() uint16 { return uint16(random.Uint32()) },
						func() uint16 { return 0 },
						func() uint16 { return uint16(i) * 3 },
						func() uint16 { return []uint16{0, math.MaxUint16}[random.IntN(2)] },
					}[c]()
				}
			}
			s.putScoring(t, orgA, setA, v, scoring(modelX, n, "0", "1", "300", "526"), all)
			rows := s.windows(t, orgA, setA, "v", modelX, 0, n)
			require.Len(t, rows, n)
			for i, row := range rows {
				require.Equal(t, []uint16{all[0][i], all[1][i], all[2][i], all[3][i]}, row, "segment %d", i)
			}
			for c, class := range []sound.Class{"0", "1", "300", "526"} {
				found := s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: class})
				require.Len(t, found, n)
				for _, h := range found {
					require.Equal(t, all[c][h.Window], h.Score, "segment %d of class %q", h.Window, class)
				}
			}
		}},

	{Rule{"scores/copies", "The store keeps nothing of what it is given, and returns nothing of what it keeps but for Classes: the rest is the caller's to change."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			given, scores := scoring(modelX, 2, "7", "8"), columns([]uint16{10, 20}, 2)
			want := scoring(modelX, 2, "7", "8")
			s.putScoring(t, orgA, setA, v, given, scores)
			given.Classes[0], given.Keyframes[1] = "3", 5
			scores[0][0], scores[1] = 999, nil
			for range 2 {
				got, err := s.oneScoring(t.Context(), orgA, setA, "v", modelX)
				require.NoError(t, err)
				sameScoring(t, want, got)
				got.Keyframes[1] = 5
				rows := s.windows(t, orgA, setA, "v", modelX, 0, 2)
				require.EqualValues(t, 10, rows[0][0])
				rows[0][0] = 999
				found := s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7"})
				require.Equal(t, []string{"v 1 20", "v 0 10"}, hits(found))
				found[0] = audiosearch.Hit{}
			}
		}},
}
