package columnar

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestGuessBesideAnotherTable: what another table gave before does not make up for windows
// that a guess that is too high leaves out, even if there are as many as are wanted then.
func TestGuessBesideAnotherTable(t *testing.T) {
	nightly.Only(t)
	const videos, poor, good = 1<<17 + 1000, 30, 20
	r := rand.New(rand.NewPCG(1, 22))
	var c Columns
	var s Scores
	want := make([]Hit, 40)
	put := func(row uint32, in bool, score uint16, classes ...sound.Class) {
		c.Set(row, metadata.Map{"in": metadata.Bool(in)})
		s.Put(row, classes, [][]uint16{{score}, {score}}[:len(classes)])
	}
	for row := range uint32(poor) {
		put(row, true, 1, "0", "1")
	}
	for row := uint32(poor); row < videos; row++ {
		switch i, left := row-poor, videos-row; {
		case left <= good:
			want[good-left] = Hit{Row: row, Score: 65535}
			put(row, true, 65535, "0")
		case i < videos/8:
			if i < uint32(len(want)-good) {
				want[good+i] = Hit{Row: row, Score: 100}
			}
			put(row, true, 100, "0")
		default:
			put(row, false, uint16(30_000+r.IntN(30_000)), "0")
		}
	}
	for _, op := range []metadata.Filter{{Key: "in", Value: "true"}, {Key: "in", Op: metadata.OpNotEqual, Value: "false"}} {
		for offset := range 40 {
			selected, err := c.Select(t.Context(), []metadata.Filter{op})
			require.NoError(t, err)
			page := Page{Offset: offset, Limit: 40 - offset}
			got, err := s.Rank(t.Context(), "0", selected, NewRanking(page, cmp.Compare[uint32]))
			require.NoError(t, err)
			require.Equal(t, want[offset:], got, "%+v, %+v", op, page)
		}
	}
}

// TestGuessIsOfAWindowAtLeast: a guess that no window can reach costs a look at all maxima
// for nothing.
func TestGuessIsOfAWindowAtLeast(t *testing.T) {
	var s Scores
	scores := make([]uint16, 1<<21)
	for i := range scores {
		scores[i] = uint16(i % 1000)
	}
	s.Put(0, []sound.Class{"0"}, [][]uint16{scores})
	for _, windows := range []float64{0.1, 1, 10, 1000} {
		guess := s.tables[0].guess(0, windows)
		require.Positive(t, guess)
		require.Less(t, guess, uint16(1000), "%v windows", windows)
	}
}
