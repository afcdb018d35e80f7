package signal

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/fft"
)

// The power spectrum is that of the plainest transform in float64.
func TestPower(t *testing.T) {
	for _, size := range []int{16, 32, 64, 128, 256, 512, 1024, 2048} {
		f := newHann(size)
		frame := mix(white(1, 0.1, uint64(size)), note(1, 1234, 0.5, 1))[:size]
		re, im := make([]float64, size), make([]float64, size)
		var squares float64
		for i := range re {
			window := math.Pow(math.Sin(math.Pi*float64(i)/float64(size)), 2)
			re[i] = float64(frame[i]) * window
			squares += window * window
		}
		slowFFT(re, im)
		got := make([]float32, size/2+1)
		f.power(got, frame, make([]fft.Complex[float32], size))
		for k := range got {
			want := (re[k]*re[k] + im[k]*im[k]) / (float64(size) * squares)
			if k > 0 && k < size/2 {
				want *= 2 // the other half of the spectrum
			}
			require.InDelta(t, want, float64(got[k]), 1e-7, "size %d, bin %d", size, k)
		}
	}
}

// The filters keep what is looked at, and keep out what would be folded into it.
func TestDecimate(t *testing.T) {
	level := func(h halfband, cyclesPerSample float64) float64 { // dB
		out, _ := h.decimate(nil, note(1, cyclesPerSample*sampleRate, 1, 0.3), nil)
		require.Len(t, out, sampleRate/2)
		return 10 * math.Log10(power(out[100:len(out)-100])*2)
	}
	for _, c := range []struct {
		taps int
		keep float64 // cycles per sample of the slower signal
	}{{wideTaps, 0.2}, {steepTaps, 0.42}} {
		h := newHalfband(c.taps)
		for x := 0.01; x < c.keep; x += 0.01 {
			require.InDelta(t, 0, level(h, x/2), 0.6, "%d taps at %.2f", c.taps, x)
			require.Less(t, level(h, 0.5-x/2), -40.0, "%d taps at %.2f", c.taps, 1-x)
		}
	}
	odd, _ := newHalfband(wideTaps).decimate(nil, []float32{1}, nil)
	require.Equal(t, []float32{0.5}, odd, "a single sample")
}

func TestMedian(t *testing.T) {
	require.Zero(t, median(nil))
	require.EqualValues(t, 3, median([]float32{5, 1, 3}))
	require.EqualValues(t, 4, median([]float32{4, 9, 1, 2}))
	values := white(1, 1, 5)
	require.InDelta(t, 0, median(values), 0.03)
	below := 0
	for _, v := range values[:len(values)/2] {
		if v <= values[len(values)/2] {
			below++
		}
	}
	require.Equal(t, len(values)/2, below)
}

// What is highest in noise is nothing.
func TestPurityOfNoise(t *testing.T) {
	c := newScorer(t).newClip()
	c.load(white(10, 0.1, 1))
	var mean float64
	for _, f := range c.frames {
		mean += f.purity(f.ridge.power) / float64(len(c.frames))
	}
	require.Less(t, mean, 0.05)
}

// A ridge is where the tone is, to a fraction of a bin.
func TestRidge(t *testing.T) {
	c := newScorer(t).newClip()
	for hz := 45.0; hz < 7600; hz *= 1.037 {
		c.load(noisy(note(0.2, hz, 0.1, 1), 20, 1))
		for _, f := range c.frames {
			require.InDelta(t, hz, f.ridge.hz, 1.5+hz/3000)
			require.InEpsilon(t, 0.005, f.ridge.power, 0.06)
			require.Greater(t, f.purity(f.ridge.power), 0.95)
		}
	}
}
