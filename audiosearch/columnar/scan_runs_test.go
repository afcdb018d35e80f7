package columnar

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestScansOfRegularGroups looks up videos of as many windows each, which another
// condition may refuse, with and without ties.
func TestScansOfRegularGroups(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 21))
		count, spread, share := []int{1, 2, 70}[r.IntN(3)], []int{2, 30, 65536}[r.IntN(3)], []int{1, 3, 30}[r.IntN(3)]
		videos := 9000 / min(count, 10)
		if seed%10 == 0 { // several groups, so that maxima are looked at first
			count, spread, share, videos = 1, 2000, 30, 200_000
		}
		var s Scores
		var rows rowSet
		passing := map[uint32]scored{}
		var passes func(uint32) bool
		if r.IntN(2) == 0 {
			passes = func(row uint32) bool { return row%3 == 0 }
		}
		for row := range uint32(videos) {
			column := make([]uint16, count)
			for i := range column {
				column[i] = uint16(r.IntN(spread))
			}
			s.Put(row, []sound.Class{"0"}, [][]uint16{column})
			if r.IntN(share) == 0 {
				if rows.add(row); passes == nil || passes(row) {
					passing[row] = scored{[]sound.Class{"0"}, [][]uint16{column}}
				}
			}
		}
		compare := func(a, b uint32) int { return cmp.Compare(a^0x5555, b^0x5555) }
		page := Page{Limit: 40}
		ranking := NewRanking(page, compare)
		for ranking.Next() {
			scan := rowScan{places: &s.places, table: s.tables[0], number: 1, Ranking: ranking, passes: passes}
			if passes == nil {
				scan.prime(&rows)
			}
			scan.set(&rows)
		}
		require.Equal(t, append([]Hit{}, rank(passing, "0", nil, page, compare)...), append([]Hit{}, ranking.Hits()...), "seed %d", seed)
	}
}
