package audiosearch

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestVideoMessage: a message says nothing of the package, wherever a Media broke its
// line.
func TestVideoMessage(t *testing.T) {
	for _, text := range []string{"it is cut", "audiosearch: it is cut", "\naudiosearch:\n\tit is cut\n"} {
		assert.Equal(t, "it is cut", videoMessage(errors.New(text)), "%q", text)
	}
}

// TestSegmenter: whatever the blocks, windows are cut as the definition says: at
// multiples of the hop, up to the first one that reaches the end.
func TestSegmenter(t *testing.T) {
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
		g := newSegmenter(&m)
		take := func(clips [][]float32) {
			assert.LessOrEqual(t, len(clips), m.Batch)
			batches++
			for _, c := range clips {
				got = append(got, slices.Clone(c))
			}
			g.take(len(clips))
		}
		feed := func(samples []float32) {
			for len(samples) > 0 {
				if samples = g.add(samples); g.full() {
					take(g.clips())
				}
			}
		}
		for rest := samples; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			feed(rest[:n])
			rest = rest[n:]
		}
		take(g.clips())
		if last := g.last(); last != nil {
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
		assert.Equal(t, len(want), g.taken)
		assert.EqualValues(t, len(samples), g.total)
		assert.LessOrEqual(t, batches, len(want)/m.Batch+3, "a batch is used")
	}
}

// TestSpans: the last segment ends where the sound does.
func TestSpans(t *testing.T) {
	s := Scoring{Duration: 25500 * time.Millisecond, Window: 10 * time.Second, Hop: 2 * time.Second, Windows: 9}
	start, end := s.Span(0)
	assert.Equal(t, []time.Duration{0, 10 * time.Second}, []time.Duration{start, end})
	start, end = s.Span(8)
	assert.Equal(t, []time.Duration{16 * time.Second, 25500 * time.Millisecond}, []time.Duration{start, end})
	short := Scoring{Duration: time.Millisecond, Window: 10 * time.Second, Hop: 2 * time.Second, Windows: 1}
	start, end = short.Span(0)
	assert.Equal(t, []time.Duration{0, time.Millisecond}, []time.Duration{start, end})
}

// TestNearestKeyframe: the one nearest to the start, the earlier of two.
func TestNearestKeyframe(t *testing.T) {
	s := Scoring{Keyframes: []time.Duration{time.Second, 3 * time.Second, 4 * time.Second}}
	for at, want := range map[time.Duration]time.Duration{
		0: 1, 1: 1, 1999 * time.Millisecond: 1, 2 * time.Second: 1, 2001 * time.Millisecond: 3, 3400 * time.Millisecond: 3, 3600 * time.Millisecond: 4, time.Hour: 4,
	} {
		if want < 10 {
			want *= time.Second
		}
		assert.Equal(t, want, s.keyframe("v", at).At, at)
	}
	none := Scoring{}
	assert.Equal(t, Keyframe{"v@2500", 2500 * time.Millisecond}, none.keyframe("v", 2500*time.Millisecond))
}

func TestQuantize(t *testing.T) {
	nan := float32(0)
	nan /= nan
	for score, want := range map[float32]uint16{0: 0, 1: scoreUnit, 2: scoreUnit, -1: 0, 0.5: 32768, 1.0 / scoreUnit: 1} {
		assert.Equal(t, want, quantize(score), score)
	}
	assert.Zero(t, quantize(nan))
	for q := range scoreUnit + 1 {
		score := float64(q) / scoreUnit
		if quantize(float32(score)) != uint16(q) || ceilScore(score) != uint16(q) { // a score is not below itself
			require.Fail(t, "another score", "%d: %d, %d", q, quantize(float32(score)), ceilScore(score))
		}
	}
	assert.EqualValues(t, 2, ceilScore(1.0001/scoreUnit))
}
