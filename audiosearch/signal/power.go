package signal

import (
	"math"

	"github.com/seed-6363c74e/mortise/internal/fft"
)

// hann computes power spectra of frames of one size under a Hann window. It is read only
// once made.
type hann struct {
	transform    *fft.Real[float32]
	toMeanSquare float32
}

// newHann makes the tables for frames of a size.
func newHann(size int) *hann {
	window := make([]float32, size)
	var squares float64
	for i := range window {
		w := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(size))
		window[i] = float32(w)
		squares += w * w
	}
	return &hann{transform: fft.NewReal(window), toMeanSquare: float32(2 / (float64(size) * squares))}
}

// power writes the power spectrum of a frame to dst, scaled so that its bins add up to the
// mean square of the frame under the window. work is scratch space of half the size.
func (h *hann) power(dst, frame []float32, work []fft.Complex[float32]) {
	h.transform.Power(dst, frame, work[:h.transform.Size()/2], h.toMeanSquare)
	// All bins between the first and the last one also stand for their negative frequency.
	dst[0] /= 2
	dst[len(dst)-1] /= 2
}
