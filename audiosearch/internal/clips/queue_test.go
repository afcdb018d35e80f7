package clips

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestQueueBound: it is a batch, and at most maxAhead samples.
func TestQueueBound(t *testing.T) {
	for most, m := range map[int]sound.Model{
		16000:      {SampleRate: 16000, Window: time.Second, Hop: time.Second, Batch: 1},
		4 * 16000:  {SampleRate: 16000, Window: 3 * time.Second, Hop: time.Second / 2, Batch: 3},
		8 * 163840: {SampleRate: 16000, Window: 10240 * time.Millisecond, Hop: 10240 * time.Millisecond, Batch: 8},
		// A batch of 66,000,000.
		maxAhead:     {SampleRate: 100_000, Window: time.Minute, Hop: time.Minute, Batch: 11},
		maxAhead - 1: {SampleRate: maxAhead - 1, Window: time.Second, Hop: time.Second, Batch: 1},
	} {
		assert.Equal(t, most, NewQueue(&m).most)
	}
}

// TestQueueKeepsOrder: whatever is put in comes out once, in order and by its blocks, and the
// memory is that of the bound, however long it goes on.
func TestQueueKeepsOrder(t *testing.T) {
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 1))
		m := sound.Model{SampleRate: 1000, Window: time.Duration(1+random.IntN(100)) * time.Second, Hop: time.Second, Batch: 1}
		a, g := NewQueue(&m), NewCutter(&m)
		var put, took float32 // which count exactly so far
		var ends []int64
		var block []float32
		for put < 3_000_000 {
			if random.IntN(2) == 0 {
				if len(block) == 0 {
					block = make([]float32, 1+random.IntN(3*chunkSamples))
					for i := range block {
						put++
						block[i] = put
					}
					ends = append(ends, int64(put))
				}
				block = block[a.add(block):]
			} else if whole, some := a.take(g); some {
				for _, x := range g.buffer {
					if took++; took != x {
						t.Fatalf("sample %v came as the %vth", x, took)
					}
				}
				g.buffer = g.buffer[:0]
				require.LessOrEqual(t, int64(took), ends[0], "a block at a time")
				require.Equal(t, int64(took) == ends[0], whole)
				if whole {
					ends = ends[1:]
				}
			}
			require.LessOrEqual(t, a.held, a.most)
			require.Equal(t, int(put)-len(block)-int(took), a.held)
			require.LessOrEqual(t, len(a.chunks)+len(a.free), a.most/chunkSamples+2)
		}
	}
}

// TestQueueOfTinyBlocks: their ends are bounded too.
func TestQueueOfTinyBlocks(t *testing.T) {
	m := sound.Model{SampleRate: 1000, Window: 10 * time.Second, Hop: time.Second, Batch: 1}
	a, g := NewQueue(&m), NewCutter(&m)
	for range a.most {
		require.Equal(t, 1, a.add([]float32{1}))
	}
	assert.Zero(t, a.add([]float32{1}))
	assert.LessOrEqual(t, len(a.ends), maxEnds)
	steps := 0
	for whole, more := a.take(g); more; whole, more = a.take(g) {
		assert.True(t, whole)
		steps++
	}
	assert.Equal(t, maxEnds, steps)
	assert.Len(t, g.buffer, a.most)
}
