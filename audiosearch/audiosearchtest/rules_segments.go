package audiosearchtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// windowRules are the rules of WindowScores.
var windowRules = []rule{
	{Rule{"scores/windows", "WindowScores returns one row a segment, with one value for each of the scoring's Classes."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			s.putScoring(t, orgA, setA, videos[0], scoring(modelX, 3, "0", "7", "526"), [][]uint16{{1, 2, 3}, {10, 0, 30}, {100, 200, 65535}})
			s.score(t, orgA, setA, videos[1], modelX, "8", 5)
			s.score(t, orgA, setA, videos[0], modelY, "8", 6)
			want := [][]uint16{{1, 10, 100}, {2, 0, 200}, {3, 30, 65535}}
			require.Equal(t, want, s.windows(t, orgA, setA, "v", modelX, 0, 3))
			for from := range want {
				for to := from + 1; to <= len(want); to++ {
					require.Equal(t, want[from:to], s.windows(t, orgA, setA, "v", modelX, from, to), "from %d to %d", from, to)
				}
			}
			require.Equal(t, [][]uint16{{5}}, s.windows(t, orgA, setA, "w", modelX, 0, 1))
			require.Equal(t, [][]uint16{{6}}, s.windows(t, orgA, setA, "v", modelY, 0, 1))
		}},

	{Rule{"scores/windows-range", "The range of WindowScores is cut to what there is."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.score(t, orgA, setA, v, modelX, "7", 10, 20, 30)
			all := [][]uint16{{10}, {20}, {30}}
			for _, c := range []struct {
				from, to int
				want     [][]uint16
			}{
				{0, 1000, all}, {2, 4, all[2:]}, {3, 4, nil}, {1000, 2000, nil}, {0, 0, nil}, {2, 2, nil}, {-5, 1, all[:1]}, {-5, -1, nil}, {-1, 1 << 40, all}, {1 << 40, 1 << 41, nil},
			} {
				got := s.windows(t, orgA, setA, "v", modelX, c.from, c.to)
				require.Len(t, got, len(c.want), "from %d to %d", c.from, c.to)
				for i := range got {
					require.Equal(t, c.want[i], got[i])
				}
			}
		}},

	{Rule{"scores/windows-not-scored", "WindowScores is ErrNotScored if there are no scores; also if there is no such video."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			s.score(t, orgA, setA, videos[0], modelX, "7", 10)
			s.putScoring(t, orgA, setA, videos[1], problem(modelX, "no sound"), nil)
			for _, c := range [][2]string{{"v", modelY}, {"w", modelX}, {"nobody", modelX}} {
				for _, to := range []int{0, 1} {
					_, err := s.Scores.WindowScores(t.Context(), orgA, setA, c[0], c[1], 0, to)
					require.ErrorIs(t, err, audiosearch.ErrNotScored, "%s by %s", c[0], c[1])
				}
			}
		}},
}
