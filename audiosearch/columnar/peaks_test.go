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
)

// TestPeakOf: a peak names a window with the maximum, and says that it is alone only if it
// is; and it does say so of a floor that is clearly between the two best.
func TestPeakOf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 27))
	for range 20_000 {
		scores := make([]uint16, blockWindows)
		spread := []int{1, 2, 64, 130, 1 << 16}[r.IntN(5)]
		for i := range scores {
			scores[i] = uint16(1<<16 - 1 - r.IntN(spread))
			if r.IntN(3) == 0 {
				scores[i] = uint16(r.Uint32())
			}
		}
		p := peakOf((*[2 * blockWindows]byte)(Pack(nil, scores)), slices.Max(scores))
		require.Equal(t, slices.Max(scores), scores[p.window()])
		sorted := slices.Sorted(slices.Values(scores))
		best, second := sorted[blockWindows-1], sorted[blockWindows-2]
		for _, floor := range []uint16{0, 1, second, second + 1, second + blockWindows, best, uint16(r.Uint32())} {
			switch {
			case second >= floor:
				require.False(t, p.alone(floor), "%d, %d: %d", best, second, floor)
			case floor-second >= blockWindows:
				require.True(t, p.alone(floor), "%d, %d: %d", best, second, floor)
			}
		}
	}
}

// TestPeaksAreOfWhatStands has the peaks of all blocks that are complete, however their
// windows came.
func TestPeaksAreOfWhatStands(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 28))
		var s Scores
		longest := []int{1, 3, 100, 70_000}[seed%4]
		for range 1 + min(3000, 300_000/longest) {
			row := uint32(r.IntN(500))
			switch r.IntN(300) {
			case 0:
				s.Compact()
			case 1, 2, 3:
				s.Remove(row)
			default:
				long := randomWindows(r, 1+r.IntN(longest))
				s.Put(row, []sound.Class{"0", "1"}, [][]uint16{long, long[:r.IntN(len(long)+1)]}) // what is missing is 0
			}
		}
		for _, table := range s.tables {
			if table == nil {
				continue
			}
			for block := range table.windows / blockWindows {
				c, in := &table.chunks[block*blockWindows/chunkWindows], block%(chunkWindows/blockWindows)
				for class := range table.classes {
					scores := (*[2 * blockWindows]byte)(c.column(class)[2*blockWindows*in:])
					best := slices.Max(Unpack(nil, scores[:]))
					require.Equal(t, best, c.columnMaxima(class)[in])
					require.Equal(t, peakOf(scores, best), c.columnPeaks(class)[in], "seed %d, block %d", seed, block)
				}
			}
		}
	}
}

func randomWindows(r *rand.Rand, n int) []uint16 {
	scores := make([]uint16, n)
	for i := range scores {
		scores[i] = uint16(r.Uint32())
	}
	return scores
}

// TestTableScanByPeaks goes through blocks with one good window, with several, and with so
// many that they are looked at in another way, in any mixture: of videos whose rows are
// the numbers of their windows, and of others, some of them removed.
func TestTableScanByPeaks(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 29))
		const videos = chunkWindows + 10_000 // in two chunks, the last block incomplete
		count := []int{1, 1, 1, 3}[r.IntN(4)]
		several := []int{0, 1, 10, 50}[r.IntN(4)] // percent of the blocks
		inOrder, good := r.IntN(2) == 0, uint16(40_000)
		var s Scores
		var rows rowSet
		passing := map[uint32]scored{}
		window := 0
		for i := range uint32(videos / count) {
			row := i
			if !inOrder {
				row ^= 1
			}
			column := make([]uint16, count)
			for j := range column {
				block, in := window/blockWindows, window%blockWindows
				column[j] = uint16(r.IntN(1000))
				if in == block*7%blockWindows || block*37%100 < several && (in%5 == 0 || block%3 == 0) {
					column[j] = good + uint16(r.IntN(20_000))
				}
				window++
			}
			s.Put(row, []sound.Class{"0"}, [][]uint16{column})
			if r.IntN(3) > 0 {
				rows.add(row)
				passing[row] = scored{[]sound.Class{"0"}, [][]uint16{column}}
			}
		}
		if r.IntN(2) == 0 {
			for range 500 {
				row := uint32(r.IntN(videos / count))
				s.Remove(row)
				delete(passing, row)
			}
		}
		page := Page{Limit: []int{1, 40, 2000}[r.IntN(3)], MinScore: []uint16{0, good - 1, good + 5000}[r.IntN(3)]}
		want := rank(passing, "0", nil, page, cmp.Compare[uint32])
		ranking := NewRanking(page, cmp.Compare[uint32])
		for ranking.Next() {
			scan := tableScan{places: &s.places, table: s.tables[0], number: 1, selected: &Selection{rows: &rows}, Ranking: ranking}
			scan.run()
		}
		require.True(t, slices.Equal(want, ranking.Hits()), "seed %d", seed)
	}
}

// TestWindowsBelowTheFloorAreNotAsked counts the texts that are searched, for the best
// window alone, which is the first. Once it is found no other video is asked, be its window
// the only good one of its block or one of three.
func TestWindowsBelowTheFloorAreNotAsked(t *testing.T) {
	const videos = 20_000 // too few for a guess
	for _, test := range []struct {
		name  string
		good  int // windows of each block
		page  Page
		looks int
	}{
		{"one", 1, Page{Limit: 1}, 1}, // all 64 of the first block are above the floor of 0
		{"three", 3, Page{Limit: 1, MinScore: 30_000}, 2 * testBatch},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c Columns
			var s Scores
			for row := range uint32(videos) {
				score := uint16(10)
				if row%blockWindows < uint32(test.good) {
					score = 40_000
				}
				if row == 0 {
					score = 50_000
				}
				c.Set(row, metadata.Map{"note": metadata.String(fmt.Sprint("note ", row))})
				s.Put(row, []sound.Class{"0"}, [][]uint16{{score}})
			}
			looks := 0
			selected, err := c.SelectToRank(t.Context(), []metadata.Filter{contains("note", "o")})
			require.NoError(t, err)
			require.NotNil(t, selected.late())
			c.looked = func(string) { looks++ }
			selected.late().texts.looked = c.looked
			found, err := s.Rank(t.Context(), "0", selected, NewRanking(test.page, cmp.Compare[uint32]))
			require.NoError(t, err)
			require.Equal(t, []Hit{{Row: 0, Score: 50_000}}, found)
			require.Equal(t, test.looks, looks)
		})
	}
}

// TestBatchOfPeaksIsBounded has as many windows in the batch as there may be when 64 blocks
// with one good window each come, and one more than that.
func TestBatchOfPeaksIsBounded(t *testing.T) {
	for more := range 3 {
		var s Scores
		var want []Hit
		for row := range uint32(3 * testBatch * blockWindows) {
			score := uint16(10)
			if row%blockWindows == 5 || row%blockWindows < 5 && row/blockWindows == 7 && int(row%blockWindows) < more {
				score = 65_000 - uint16(row)
				want = append(want, Hit{Row: row, Score: score})
			}
			s.Put(row, []sound.Class{"0"}, [][]uint16{{score}})
		}
		ranking := NewRanking(Page{Limit: 1000, MinScore: 1000}, cmp.Compare[uint32])
		for ranking.Next() {
			scan := tableScan{places: &s.places, table: s.tables[0], number: 1, Ranking: ranking}
			scan.run()
		}
		require.Equal(t, want, ranking.Hits())
	}
}

// TestRowsOfPeaks has windows whose numbers are not the rows of their videos, each for
// another reason.
func TestRowsOfPeaks(t *testing.T) {
	const some = 5000
	one, other := []sound.Class{"0"}, []sound.Class{"0", "1"}
	for name, layout := range map[string]func(put func(row uint32, classes []sound.Class, windows int)){
		"another group goes on": func(put func(uint32, []sound.Class, int)) {
			for i := range uint32(2 * some) {
				put(i%some+i/some*groupRows, one, 1)
			}
		},
		"two windows each": func(put func(uint32, []sound.Class, int)) {
			for row := range uint32(groupRows) {
				put(row, one, 2)
			}
		},
		"another group comes first": func(put func(uint32, []sound.Class, int)) {
			put(groupRows, one, 1)
			for row := range uint32(groupRows) {
				put(row, one, 1)
			}
		},
		"of another table": func(put func(uint32, []sound.Class, int)) {
			for row := range uint32(some) {
				put(row+groupRows, one, 1)
				put(row, other, 1)
			}
		},
		"not regular": func(put func(uint32, []sound.Class, int)) {
			for row := range uint32(some) {
				put(some-row, one, 1)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 30))
			var s Scores
			videos := map[uint32]scored{}
			put := func(row uint32, classes []sound.Class, windows int) {
				column := randomWindows(r, windows)
				videos[row] = scored{classes, [][]uint16{column, column}[:len(classes)]}
				s.Put(row, classes, videos[row].columns)
			}
			layout(put)
			page := Page{Limit: 100}
			got, err := s.Rank(t.Context(), "0", nil, NewRanking(page, cmp.Compare[uint32]))
			require.NoError(t, err)
			require.Equal(t, rank(videos, "0", nil, page, cmp.Compare[uint32]), got)
		})
	}
}
