package columnar

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// TestFiltersThatComeAgain asks the same few lists of filters, in between changes, as
// often as it takes for their sets to be kept.
func TestFiltersThatComeAgain(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 11))
		var c Columns
		videos := map[uint32]metadata.Map{}
		lists := make([][]metadata.Filter, 12)
		for i := range lists {
			lists[i] = randomFilters(r, 3)
		}
		for range 60 {
			for range 1 + r.IntN(3)*20 {
				row := uint32(r.IntN(200))
				if delete(videos, row); r.IntN(4) == 0 {
					c.Remove(row)
					continue
				}
				videos[row] = randomMetadata(r, 3)
				c.Set(row, videos[row])
			}
			for range r.IntN(60) {
				filters := lists[r.IntN(len(lists))]
				passes := oracle(t, filters)
				var want []uint32
				for row := range uint32(200) {
					if m, found := videos[row]; found && passes(m) {
						want = append(want, row)
					}
				}
				selected, err := c.Select(context.Background(), filters)
				require.NoError(t, err)
				require.Equal(t, want, slices.Collect(selected.Rows()), "seed %d, %v", seed, filters)
			}
		}
	}
}

func TestKeptSetsAreBounded(t *testing.T) {
	var c Columns
	const videos = 200_000
	for row := range uint32(videos) {
		c.Set(row, metadata.Map{"n": metadata.Int(int64(row % 1000))})
	}
	ask := func(value string) *Selection {
		selected, err := c.Select(context.Background(), []metadata.Filter{{Key: "n", Op: metadata.OpLess, Value: value}})
		require.NoError(t, err)
		return selected
	}
	for i := range 1000 {
		for range 3 {
			require.Equal(t, 200*i, ask(fmt.Sprint(i)).Len())
		}
		require.LessOrEqual(t, len(c.kept.sets), maxKept)
		require.LessOrEqual(t, c.kept.bytes, videos)
		held := 0
		for _, s := range c.kept.sets {
			held += s.rows.bytes()
		}
		require.Equal(t, held, c.kept.bytes)
	}
	kept := ask("999")
	require.Same(t, kept.set(), ask("999").set(), "the third one is not put together again")
	before := len(c.kept.sets)
	for range 3 {
		ask(strings.Repeat("1", 64))
		_, err := c.Select(context.Background(), []metadata.Filter{{Key: "n", Op: metadata.OpContains, Value: strings.Repeat("x", maxKeptText)}})
		require.NoError(t, err)
		_, err = c.Select(context.Background(), []metadata.Filter{{Key: "n", Op: metadata.OpLess, Value: "none"}})
		require.Error(t, err)
	}
	require.LessOrEqual(t, len(c.kept.sets), before+2)
	c.Remove(videos + 7)
	require.NotEmpty(t, c.kept.sets, "nothing changed")
	c.Remove(7)
	require.Empty(t, c.kept.sets)
	require.Zero(t, c.kept.bytes)
	require.Equal(t, videos/1000*999-1, ask("999").Len())
}

// TestReadersShareKeptSets is for the race detector.
func TestReadersShareKeptSets(t *testing.T) {
	var c Columns
	for row := range uint32(5000) {
		c.Set(row, metadata.Map{"n": metadata.Int(int64(row))})
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for i := range 200 {
				limit := 1000 + i%20
				selected, err := c.Select(context.Background(), []metadata.Filter{{Key: "n", Op: metadata.OpLess, Value: fmt.Sprint(limit)}})
				if err != nil || selected.Len() != limit || !selected.Contains(uint32(limit-1)) || selected.Contains(uint32(limit)) {
					t.Error("not what passes", limit, selected.Len(), err)
				}
			}
		})
	}
	readers.Wait()
}
