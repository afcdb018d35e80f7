package clips

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestCutter: whatever the blocks, windows are cut as the definition says: at
// multiples of the hop, up to the first one that reaches the end.
func TestCutter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		m := sound.Model{SampleRate: 1000, Batch: 1 + random.IntN(4)}
		m.Window = time.Duration(1+random.IntN(20)) * time.Millisecond
		m.Hop = time.Duration(1+random.IntN(int(m.Window.Milliseconds()))) * time.Millisecond
		samples := make([]float32, random.IntN(100))
		for i := range samples {
			samples[i] = random.Float32()
		}
		var got [][]float32
		batches := 0
		g := NewCutter(&m)
		take := func(clips [][]float32) {
			assert.LessOrEqual(t, len(clips), m.Batch)
			batches++
			for _, c := range clips {
				got = append(got, slices.Clone(c))
			}
			g.Take(len(clips))
		}
		feed := func(samples []float32) {
			for len(samples) > 0 {
				if samples = g.Add(samples); g.Full() {
					take(g.Clips())
				}
			}
		}
		for rest := samples; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			feed(rest[:n])
			rest = rest[n:]
		}
		take(g.Clips())
		if last := g.Last(); last != nil {
			take([][]float32{last})
		}

		var want [][]float32
		window, hop := int(m.Window.Milliseconds()), int(m.Hop.Milliseconds())
		for start := 0; start < len(samples); start += hop {
			want = append(want, samples[start:min(start+window, len(samples))])
			if start+window >= len(samples) {
				break
			}
		}
		require.Equal(t, want, got, "%d samples, window %d, hop %d, batch %d", len(samples), window, hop, m.Batch)
		assert.Equal(t, len(want), g.Taken)
		assert.EqualValues(t, len(samples), g.Total)
		assert.LessOrEqual(t, batches, len(want)/m.Batch+3, "a batch is used")
	}
}
