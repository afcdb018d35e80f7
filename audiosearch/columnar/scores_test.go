package columnar

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// scored is what the oracle knows of a video.
type scored struct {
	classes []audiosearch.Class
	columns [][]uint16
}

// rank is the oracle.
func rank(videos map[uint32]scored, class audiosearch.Class, selected *Selection, page Page, compare func(a, b uint32) int) []Hit {
	var hits []Hit
	for row, v := range videos {
		column, found := slices.BinarySearch(v.classes, class)
		if !found || !selected.Contains(row) {
			continue
		}
		for window, score := range v.columns[column] {
			if score >= page.MinScore {
				hits = append(hits, Hit{row, uint32(window), score})
			}
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), compare(a.Row, b.Row), cmp.Compare(a.Window, b.Window))
	})
	hits = hits[min(page.Offset, len(hits)):]
	return hits[:min(page.Limit, len(hits))]
}

func randomScored(r *rand.Rand, spread, windows int) scored {
	classes := [][]audiosearch.Class{{0}, {0, 1, 5}, {1, 5}, {526}}[r.IntN(4)]
	columns := make([][]uint16, len(classes))
	n := r.IntN(windows)
	for i := range columns {
		columns[i] = make([]uint16, n)
		for w := range columns[i] {
			columns[i][w] = uint16(r.IntN(spread))
			if r.IntN(50) == 0 {
				columns[i][w] = 65535 - uint16(r.IntN(2))
			}
		}
	}
	return scored{classes, columns}
}

func TestScoresEqualTheOracle(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		var s Scores
		videos := map[uint32]scored{}
		size := 1 + r.IntN(120)
		longest := []int{2, 10, 300, 6000}[r.IntN(4)]
		spread := []int{1, 2, 100, 65536}[r.IntN(4)]
		names := make([]string, size)
		for i, n := range r.Perm(size) {
			names[i] = fmt.Sprint(n)
		}
		compare := func(a, b uint32) int { return strings.Compare(names[a], names[b]) }
		for range 4 {
			for range size {
				row := uint32(r.IntN(size))
				switch r.IntN(8) {
				case 0, 1:
					s.Remove(row)
					delete(videos, row)
				case 2:
					s.Compact()
				default:
					v := randomScored(r, spread, longest)
					s.Put(row, v.classes, v.columns)
					if videos[row] = v; len(v.columns[0]) == 0 {
						delete(videos, row)
					}
				}
			}
			total := 0
			for row, v := range videos {
				require.True(t, s.Has(row))
				n := len(v.columns[0])
				total += n
				from := r.IntN(n)
				for w, got := range s.Windows(row, from, from+3) {
					for i := range v.classes {
						require.Equal(t, v.columns[i][from+w], got[i])
					}
				}
				require.Len(t, s.Windows(row, -1, n+1), n)
			}
			for range 10 {
				page := Page{Offset: r.IntN(10), Limit: r.IntN(50), MinScore: uint16(r.IntN(3) * r.IntN(spread) / 2)}
				if r.IntN(3) == 0 {
					page.Offset = r.IntN(total + 10)
				}
				var selected *Selection
				if r.IntN(2) == 0 {
					share := r.Float64()
					var all Columns
					for row := range uint32(size) {
						all.Set(row, audiosearch.Metadata{"in": audiosearch.Bool(r.Float64() < share*share)})
					}
					var err error
					selected, err = all.Select([]audiosearch.Filter{{Key: "in", Value: "true"}})
					require.NoError(t, err)
				}
				class := []audiosearch.Class{0, 1, 5, 526, 17}[r.IntN(5)]
				want := rank(videos, class, selected, page, compare)
				got := s.Rank(class, selected, NewRanking(page, compare))
				require.Equal(t, len(want), len(got), "seed %d, %+v", seed, page)
				for i := range want {
					require.Equal(t, want[i], got[i], "seed %d, %+v, hit %d", seed, page, i)
				}
			}
		}
	}
}
