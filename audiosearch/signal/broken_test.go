package signal

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// Whatever the samples are, there is a score in [0,1] for each class, which scoresOf
// checks.
func TestBrokenSamples(t *testing.T) {
	s := newScorer(t)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, value := range []float32{0, 1, -1, nan, inf, -inf, math.MaxFloat32, math.SmallestNonzeroFloat32, 8, 9} {
		for _, n := range []int{0, 1, 3, 127, 128, 1023, 1024, 1536, 8191, 16384, 31999} {
			same, mixed := make([]float32, n), note(10, 425, 0.2, 0)[:n]
			for i := range same {
				same[i] = value
			}
			for i := n / 3; i < n/2; i++ {
				mixed[i] = value
			}
			scoresOf(t, s, same)
			scoresOf(t, s, mixed)
		}
	}
	full := note(10, 425, 0.2, 0)
	for i := range full[:windowSize/2] {
		full[i] = [...]float32{nan, inf, -inf, math.MaxFloat32}[i%4]
	}
	scoresOf(t, s, full)
}

// A sound is what it is when some of its samples are no numbers, or far too loud.
func TestBrokenSamplesAreZero(t *testing.T) {
	s := newScorer(t)
	broken := pair(10, 350, 440, 0.2)
	broken[80000], broken[80001] = float32(math.NaN()), float32(math.NaN())
	if score := scoresOf(t, s, broken)[classDialTone]; score < 0.8 {
		t.Errorf("a dial tone with two samples that are no numbers scores %.2f", score)
	}
}

// Sounds that were recorded too loud are cut off, and still what they are.
func TestClipped(t *testing.T) {
	nightly.Only(t)
	s := newScorer(t)
	for i, e := range examples() {
		if e.tonal && i%8 == 0 {
			var top float32
			for _, x := range e.sound {
				top = max(top, x)
			}
			e.sound = clipped(append([]float32(nil), e.sound...), 0.9*top)
			check(t, s, e, e.sound, false)
		}
	}
}

// FuzzScore finds more with -fuzzminimizetime 1x: which lines run depends on the samples
// so much that nearly every input is of interest.
func FuzzScore(f *testing.F) {
	s := newScorer(f)
	for _, sound := range [][]float32{note(0.04, 425, 0.2, 0), key('5', 0.04, 0.2, 0), white(0.02, 0.1, 1), quiet(0.1)} {
		var raw []byte
		for _, x := range sound {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
		f.Add(raw, uint16(0))
		f.Add(raw, uint16(70))
	}
	f.Add([]byte{}, uint16(0))
	f.Add([]byte{0, 0, 0xc0, 0x7f}, uint16(4000))
	f.Add([]byte{0, 0, 0x80, 0x7f, 0, 0, 0x80, 0xff, 1, 0, 0, 0, 0xff, 0xff, 0x7f, 0x7f}, uint16(30000))
	f.Fuzz(func(t *testing.T, raw []byte, times uint16) {
		samples := make([]float32, 0, len(raw)/4)
		for ; len(raw) >= 4; raw = raw[4:] {
			samples = append(samples, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
		// A few bytes make long clips too.
		clip := append([]float32(nil), samples...)
		for range times {
			if len(samples) == 0 || len(clip) > windowSize {
				break
			}
			clip = append(clip, samples...)
		}
		scoresOf(t, s, clip)
	})
}
