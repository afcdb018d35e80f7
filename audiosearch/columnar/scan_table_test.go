package columnar

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/needles"
)

func TestAtLeast(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 24))
	for range 20_000 {
		scores := make([]uint16, blockWindows)
		near := uint16(r.Uint32())
		for i := range scores {
			if scores[i] = uint16(r.Uint32()); r.IntN(2) == 0 {
				scores[i] = near + uint16(r.IntN(3)) - 1
			}
		}
		floor := near + uint16(r.IntN(3)) - 1
		good := atLeast((*[2 * blockWindows]byte)(Pack(nil, scores)), floor)
		for bit := range blockWindows {
			if at := windowOf(bit); scores[at] >= floor != (good>>bit&1 != 0) {
				require.Fail(t, "not what the score says", "%d of %v, floor %d", at, scores, floor)
			}
		}
	}
}

// TestFilterIsPasses: what conditions say of windows side by side is what they say of
// each.
func TestFilterIsPasses(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 25))
		var c Columns
		for row := range uint32(300) {
			c.Set(row, randomMetadata(r, 1+r.IntN(2)))
		}
		for range 50 {
			keys, possible, err := c.keyFilters(randomFilters(r, 2))
			require.NoError(t, err)
			for i := 0; possible && i < len(keys); i++ {
				list, possible, err := keys[i].conditions(nil, nil)
				require.NoError(t, err)
				if len(keys[i].parts) > 0 && len(keys[i].equal) == 0 {
					parts, err := needles.New(keys[i].parts, func(int) error { return nil })
					require.NoError(t, err)
					n, err := keys[i].searchAll(nil, parts, nil)
					require.NoError(t, err)
					list = append(list, n)
				}
				for j := 0; possible && j < len(list); j++ {
					var hits, want []Hit
					for range r.IntN(testBatch + 1) {
						h := Hit{Row: uint32(r.IntN(300)), Window: r.Uint32()}
						if hits = append(hits, h); list[j].passes(&c, h.Row) {
							want = append(want, h)
						}
					}
					require.ElementsMatch(t, want, list[j].filter(&c, hits[:len(hits):len(hits)]))
				}
			}
		}
	}
}

// TestFilterBySets: sets whose rows are looked up side by side, as lists and as bitmaps, with
// groups of rows that are missing.
func TestFilterBySets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 31))
	for range 60 {
		var set rowSet
		for high := range uint32(4) {
			for range []int{0, 3, 20_000}[r.IntN(3)] {
				set.add(high<<16 | uint32(r.IntN(1<<16)))
			}
		}
		var c Columns
		for row := range uint32(100) {
			c.Set(row, metadata.Map{"key": metadata.Int(int64(row % 2))})
		}
		keys, _, err := c.keyFilters([]metadata.Filter{{Key: "key", Op: metadata.OpNotEqual, Value: "7"}})
		require.NoError(t, err)
		list, _, err := keys[0].conditions(nil, nil)
		require.NoError(t, err)
		for _, n := range append(list, condition{kind: given, found: &set}) {
			var hits, want []Hit
			for range 2 * testBatch {
				h := Hit{Row: uint32(r.IntN(5))<<16 | uint32(r.IntN(200)), Window: r.Uint32()}
				if hits = append(hits, h); n.passes(&c, h.Row) {
					want = append(want, h)
				}
			}
			require.Equal(t, want, append([]Hit(nil), n.filter(&c, hits)...))
		}
	}
}

// TestCommonRows: bitmaps and lists that are put together, of all densities.
func TestCommonRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 26))
	sizes := []int{1, 100, 300, 3000, 5000, 20_000, 60_000}
	for range 20 {
		var sets [2]rowSet
		var has [2][1 << 17]bool
		for i := range sets {
			for range sizes[r.IntN(len(sizes))] {
				row := uint32(r.IntN(1 << 17))
				sets[i].add(row)
				has[i][row] = true
			}
		}
		if r.IntN(2) == 0 { // few of the first are not in the second
			for row := range sets[0].all {
				if r.IntN(20) > 0 {
					sets[1].add(row)
					has[1][row] = true
				}
			}
		}
		for _, in := range []bool{true, false} {
			kept := sets[0].keep(&sets[1], in)
			count := 0
			for row := range uint32(1 << 17) {
				want := has[0][row] && has[1][row] == in
				if want {
					count++
				}
				if want != kept.contains(row) {
					require.Fail(t, "not what it is to be", "%d, %v", row, in)
				}
			}
			require.Equal(t, count, kept.count)
			require.Equal(t, count, kept.clone().keep(kept, true).count)
		}
	}
}
