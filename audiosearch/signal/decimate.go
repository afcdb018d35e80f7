package signal

import "math"

// halfband is a low-pass filter that halves the sample rate. Every other one of its taps
// is 0, but for the one in the middle, which is a half. What is left is the taps at the
// odd distances ..., -3, -1, 1, 3, ... from the middle.
type halfband []float32

// How many taps the filters have on the way down. What is beyond the band that is kept,
// at either rate, and would be folded into it, is 50 dB below.
const (
	wideTaps  = 4  // keep what is below 0.2 of the new rate: on the way to a rate that nothing is looked at in
	steepTaps = 12 // keep what is below 0.43 of the new rate
)

// newHalfband makes a filter of n taps to either side: a sinc under a Hamming window. n
// is even.
func newHalfband(n int) halfband {
	h := make(halfband, 2*n)
	sum := 0.0
	for i := range h {
		distance := float64(2*(i-n) + 1)
		tap := math.Sin(math.Pi*distance/2) / (math.Pi * distance) * (0.54 + 0.46*math.Cos(math.Pi*distance/float64(2*n)))
		h[i] = float32(tap)
		sum += tap
	}
	for i := range h {
		h[i] *= float32(0.5 / sum) // a constant comes out as it went in
	}
	return h
}

// decimate appends every other sample of what the filter leaves of src. Before and after
// src all is 0. odd is scratch space, which it returns too.
func (h halfband) decimate(dst, src, odd []float32) (decimated, scratch []float32) {
	beyond := len(h) / 2
	odd = append(odd[:0], make([]float32, beyond)...)
	first := len(dst)
	for i, x := range src {
		if i%2 == 0 {
			dst = append(dst, x/2)
		} else {
			odd = append(odd, x)
		}
	}
	odd = append(odd, make([]float32, beyond+4)...)

	// Four at a time: each addition waits for the one before, but the four need not wait
	// for each other.
	for i, out := 0, dst[first:]; len(out) > 0; i += 4 {
		near := odd[i : i+len(h)+3]
		var a, b, c, d float32
		for k, tap := range h {
			four := near[k : k+4 : k+4]
			a, b, c, d = a+tap*four[0], b+tap*four[1], c+tap*four[2], d+tap*four[3]
		}
		sums := [4]float32{a, b, c, d}
		n := min(len(out), len(sums))
		for k := range n {
			out[k] += sums[k]
		}
		out = out[n:]
	}
	return dst, odd
}
