package columnar

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestNewFiltersEqualTheOracle asks for the best windows of so many videos that floors are
// guessed, with filters of numbers that few or many videos share, in between changes, and
// compares them with a look at all. Where scores go with the metadata, guesses fail.
func TestNewFiltersEqualTheOracle(t *testing.T) {
	nightly.Only(t)
	const rounds = 8
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 21))
		const videos = 1<<17 + 5000
		var c Columns
		var s Scores
		all, scores := make([]metadata.Map, videos), make([]uint16, videos)
		put := func(row int) {
			m := metadata.Map{"ten": metadata.Int(r.Int64N(10)), "some": metadata.Int(r.Int64N(1000))}
			m["few"] = metadata.Int(r.Int64N(videos / 8)) // on either side of maxNumbered
			m["many"] = metadata.Int(r.Int64N(videos / 40))
			if r.IntN(20) > 0 {
				m["own"] = metadata.String(fmt.Sprintf("%d.%d", r.IntN(1000), r.IntN(1000)))
			}
			m["text"] = metadata.String(fmt.Sprintf("take %d of %d at %d", row, r.IntN(1000), r.IntN(1e9)))
			score := r.IntN(1 << 16)
			if seed%2 == 1 && m["ten"].Text() == "3" {
				score /= 2 // none of the best
			}
			all[row], scores[row] = m, uint16(score)
			c.Set(uint32(row), m)
			s.Put(uint32(row), []sound.Class{"0"}, [][]uint16{{uint16(score)}})
		}
		for row := range videos {
			put(row)
		}
		for range rounds {
			for range 200 {
				put(r.IntN(videos))
			}
			if r.IntN(2) == 0 {
				s.Compact() // the rows of the videos are where their windows stand
			}
			var filters []metadata.Filter
			for range 1 + r.IntN(3) {
				key := []string{"ten", "some", "few", "own"}[r.IntN(4)]
				most := map[string]int{"ten": 10, "some": 1000, "few": videos / 8, "own": 1000}[key]
				op := []metadata.Op{"=", "!=", "<", ">=", "<", ">="}[r.IntN(6)]
				filters = append(filters, metadata.Filter{Key: key, Op: op, Value: fmt.Sprint(r.IntN(most))})
			}
			if r.IntN(3) == 0 { // a narrow range of small sets
				from := r.IntN(videos / 40)
				filters = []metadata.Filter{
					{Key: "many", Op: metadata.OpGreaterOrEqual, Value: fmt.Sprint(from)},
					{Key: "many", Op: metadata.OpLess, Value: fmt.Sprint(from + 1 + r.IntN(80))},
				}
			}
			if r.IntN(2) == 0 {
				part := []string{"", "take ", "1", "7 of", "of 77", fmt.Sprint("e ", r.IntN(videos), " o"), "TAKE", "take 1234567", " at 5"}[r.IntN(9)]
				filters = append(filters[r.IntN(len(filters)+1):], contains("text", part))
			}
			passes := oracle(t, filters)
			var want []Hit
			for row, m := range all {
				if passes(m) {
					want = append(want, Hit{Row: uint32(row), Score: scores[row]})
				}
			}
			slices.SortFunc(want, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Row, b.Row)) })
			passing := len(want)
			page := Page{Offset: []int{0, 0, 0, 100, maxSkip + 1}[r.IntN(5)], Limit: 10}
			want = want[min(len(want), page.Offset):]
			want = want[:min(len(want), page.Limit)]
			for range 1 + r.IntN(2) { // the second time it may be kept
				choose := c.Select
				if r.IntN(3) > 0 {
					choose = c.SelectToRank
				}
				selected, err := choose(t.Context(), filters)
				require.NoError(t, err)
				got, err := s.Rank(t.Context(), "0", selected, NewRanking(page, cmp.Compare[uint32]))
				require.NoError(t, err)
				require.True(t, slices.Equal(want, got), "seed %d, %v, %+v: %v, not %v", seed, filters, page, got, want)
				if r.IntN(4) == 0 {
					require.Equal(t, passing, selected.Len(), "seed %d, %v", seed, filters)
				}
			}
		}
	}
}

// TestNumbersComeAndGo: the order of the numbers holds what the rows have, and little more,
// while values pass the number of rows from which on they stand in it once.
func TestNumbersComeAndGo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 21))
	var c Columns
	const videos = 400
	for range 40_000 {
		row := uint32(r.IntN(videos))
		if r.IntN(3) == 0 {
			c.Remove(row)
			continue
		}
		c.Set(row, metadata.Map{"n": metadata.String(texts[r.IntN(len(texts))]), "m": metadata.Int(r.Int64N(12)), "k": metadata.Int(r.Int64N(100_000))})
	}
	for _, col := range c.columns {
		require.LessOrEqual(t, col.lenNumbered(), 2*videos)
		stands := map[uint32]int{}
		for _, part := range col.within(nil) {
			require.True(t, slices.IsSortedFunc(part, col.compareNumbered))
			for _, one := range part {
				switch {
				case one.row == allHolders:
					stands[one.code] += col.holders[one.code].count()
				case one.row&removedRow == 0:
					stands[one.code]++
					require.Equal(t, one.code, c.code(one.row, c.byKey[col.key]))
				}
			}
		}
		for code := range col.entries {
			if e := &col.entries[code]; e.numeric {
				require.Equal(t, col.holders[code].count(), stands[uint32(code)], "%s: %s", col.key, e.text)
			}
		}
	}
}
