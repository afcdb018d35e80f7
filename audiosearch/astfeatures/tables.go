package astfeatures

import (
	"math"
	"sync"

	"github.com/seed-6363c74e/mortise/internal/fft"
)

// tables are what all extractors share. They are read only.
type tables struct {
	transform *fft.Real[float64]
	bands     [Bins]band
	logParts  [1 << logBits]part
}

// band is one triangle: its weights from a bin of the power spectrum on. It may have none.
type band struct {
	first   int
	weights []float64
}

var sharedTables = sync.OnceValue(func() *tables {
	window := make([]float64, fftSize)
	for i := range frameSize {
		window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/(frameSize-1))
	}
	t := &tables{transform: fft.NewReal(window), logParts: newLogParts()}
	low, high := mel(lowestHz), mel(SampleRate/2)
	spacing := (high - low) / (Bins + 1)
	for m := range t.bands {
		t.bands[m] = newBand(low+float64(m)*spacing, low+float64(m+1)*spacing, low+float64(m+2)*spacing)
	}
	return t
})

// newBand makes a triangle of three points, in mel. The bin at the Nyquist frequency has no
// weight in any.
func newBand(left, center, right float64) band {
	var b band
	for k := range fftSize / 2 {
		z := mel(float64(k) * SampleRate / fftSize)
		w := min((z-left)/(center-left), (right-z)/(right-center))
		if w <= 0 {
			continue
		}
		if len(b.weights) == 0 {
			b.first = k
		}
		b.weights = append(b.weights, w)
	}
	return b
}

// mel is the place of a frequency on the mel scale.
func mel(hz float64) float64 { return 1127 * math.Log(1+hz/700) }
