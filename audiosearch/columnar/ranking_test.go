package columnar

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// TestDeepPages pages through rankings with so many ties that a page begins somewhere
// within one score.
func TestDeepPages(t *testing.T) {
	for name, spread := range map[string]int{"all are equal": 1, "few scores": 3, "random": 65536} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(4, 4))
			const windows = 40_000
			order := r.Perm(windows/3 + 1)
			compare := func(a, b uint32) int { return cmp.Compare(order[a], order[b]) }
			offered := make([]Hit, windows)
			for i := range offered {
				offered[i] = Hit{Row: uint32(i / 3), Window: uint32(i % 3), Score: uint16(r.IntN(spread))}
			}
			want := slices.Clone(offered)
			slices.SortFunc(want, func(a, b Hit) int {
				return cmp.Or(cmp.Compare(b.Score, a.Score), compare(a.Row, b.Row), cmp.Compare(a.Window, b.Window))
			})
			for _, offset := range []int{0, 1, 8192, 8193, 33_333, 39_999, 40_000, 100_000} {
				for _, limit := range []int{1, 3000} {
					ranking := NewRanking(Page{Offset: offset, Limit: limit}, compare)
					passes := 0
					for ; ranking.Next(); passes++ {
						require.Nil(t, ranking.Hits())
						for _, i := range r.Perm(windows) { // another order each time
							ranking.Offer(offered[i].Row, offered[i].Window, offered[i].Score)
						}
						require.LessOrEqual(t, cap(ranking.best.hits), 4*(maxSkip+limit), "memory is bounded")
					}
					require.LessOrEqual(t, passes, 8)
					from := min(offset, windows)
					require.Equal(t, want[from:min(from+limit, windows)], append([]Hit{}, ranking.Hits()...), "from %d, %d", offset, limit)
					require.False(t, ranking.Next())
				}
			}
		})
	}
}

// TestPassesThatDiffer has a caller that does not offer the same windows in each pass:
// the page is of no use, but comes to an end.
func TestPassesThatDiffer(t *testing.T) {
	ranking := NewRanking(Page{Offset: 10_000, Limit: 10}, cmp.Compare[uint32])
	passes := 0
	for ; ranking.Next(); passes++ {
		require.Less(t, passes, 10)
		for row := range uint32(50_000 >> (4 * passes)) {
			ranking.Offer(row, 0, 7)
		}
	}
	require.LessOrEqual(t, len(ranking.Hits()), 10)
}

func TestOfferChunk(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		scores := make([]uint16, r.IntN(300))
		spread := []int{1, 3, 65536}[r.IntN(3)]
		for i := range scores {
			scores[i] = uint16(r.IntN(spread))
		}
		chunk := Pack(nil, scores)
		require.Equal(t, scores, Unpack(make([]uint16, 0, len(scores)), chunk))
		if r.IntN(3) == 0 {
			chunk = append(chunk, 0xFF) // half of a score does not count
		}
		var pieces []Piece
		var columns Columns
		var want []Hit
		min := uint16(r.IntN(spread))
		for at := 0; at < len(scores)+5; {
			at += r.IntN(2) * r.IntN(20) // some belong to no video
			p := Piece{Start: uint32(at), Count: uint32(r.IntN(2 + r.IntN(100))), Row: uint32(len(pieces)), Window: uint32(r.IntN(1000))}
			pieces = append(pieces, p)
			in := r.IntN(3) > 0
			columns.Set(p.Row, metadata.Map{"in": metadata.Bool(in)})
			for i := range int(p.Count) {
				if in && at+i < len(scores) && scores[at+i] >= min {
					want = append(want, Hit{p.Row, p.Window + uint32(i), scores[at+i]})
				}
			}
			at += int(p.Count)
		}
		selected, err := columns.Select(context.Background(), []metadata.Filter{{Key: "in", Value: "true"}})
		require.NoError(t, err)
		limit := 1 + r.IntN(50)
		slices.SortFunc(want, func(a, b Hit) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Window, b.Window))
		})
		want = want[:len(want)-max(len(want)-limit, 0)]
		byChunk := NewRanking(Page{Limit: limit, MinScore: min}, cmp.Compare[uint32])
		byPiece := NewRanking(Page{Limit: limit, MinScore: min}, cmp.Compare[uint32])
		for byChunk.Next() && byPiece.Next() {
			byChunk.OfferChunk(chunk, pieces, selected)
			for _, p := range pieces {
				if from, to := int(p.Start), int(p.Start+p.Count); selected.Contains(p.Row) && from < len(scores) {
					byPiece.OfferScores(p.Row, p.Window, chunk[2*from:2*(len(scores)-max(len(scores)-to, 0))])
				}
			}
		}
		byPiece.Next()
		require.Equal(t, append([]Hit{}, want...), append([]Hit{}, byChunk.Hits()...), "seed %d", seed)
		require.Equal(t, byChunk.Hits(), byPiece.Hits(), "seed %d", seed)
	}
}

func TestNext(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 20_000 {
		scores := make([]uint16, r.IntN(20))
		for i := range scores {
			scores[i] = []uint16{0, 1, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF, uint16(r.Uint32())}[r.IntN(9)]
		}
		floor := []uint16{0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, uint16(r.Uint32())}[r.IntN(7)]
		from := r.IntN(len(scores) + 1)
		want := from
		for want < len(scores) && scores[want] < floor {
			want++
		}
		require.Equal(t, want, next(Pack(nil, scores), from, floor), fmt.Sprint(scores, from, floor))
	}
}

func TestOffersDoNotAllocate(t *testing.T) {
	scores := make([]uint16, 4096)
	for i := range scores {
		scores[i] = uint16(i * 7919)
	}
	chunk := Pack(nil, scores)
	pieces := []Piece{{Start: 0, Count: 100, Row: 1}, {Start: 100, Count: 3996, Row: 2}}
	ranking := NewRanking(Page{Limit: 40}, cmp.Compare[uint32])
	require.True(t, ranking.Next())
	require.Zero(t, testing.AllocsPerRun(10, func() { ranking.OfferChunk(chunk, pieces, nil) }))
}

func TestWindowsInAnyOrder(t *testing.T) {
	ranking := NewRanking(Page{Limit: 1}, cmp.Compare[uint32])
	require.True(t, ranking.Next())
	for _, window := range []uint32{1, 2, 0} {
		ranking.Offer(5, window, 7)
	}
	ranking.Offer(6, 0, 7)
	ranking.Offer(5, 3, 7)
	require.False(t, ranking.Next())
	require.Equal(t, []Hit{{Row: 5, Window: 0, Score: 7}}, ranking.Hits())
}
