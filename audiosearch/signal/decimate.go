package signal

import "math"

// halfband is a low-pass filter that halves the sample rate. Every other one of its taps is 0, and it is symmetric: what is left is the
// taps at the odd distances 1, 3, 5, ... from the middle.
type halfband []float32

// The filters on the way down. Those before a rate that is used as it is are steep, the others only keep away what would be folded into it.
const (
	wideTaps  = 4  // folds nothing below a fifth of the new rate
	steepTaps = 14 // folds nothing below 0.42 of the new rate
)

// newHalfband makes a filter of n taps to either side: a sinc under a Blackman window.
func newHalfband(n int) halfband {
	h := make(halfband, n)
	sum := 0.0
	for i := range h {
		distance := float64(2*i + 1)
		x := math.Pi * distance / float64(2*n+1)
		window := 0.42 + 0.5*math.Cos(x) + 0.08*math.Cos(2*x)
		tap := math.Sin(math.Pi*distance/2) / (math.Pi * distance) * window
		h[i] = float32(tap)
		sum += 2 * tap
	}
	for i := range h {
		h[i] *= float32(0.5 / sum) // a constant comes out as it went in
	}
	return h
}

// decimate appends every other sample of what is left of src below the filter. Before and after src all is 0.
func (h halfband) decimate(dst, src []float32) []float32 {
	reach := 2*len(h) - 1
	for at := 0; at < len(src); at += 2 {
		sum := src[at] / 2
		if at >= reach && at+reach < len(src) {
			around := src[at-reach : at+reach+1]
			low, high := reach-1, reach+1
			for _, tap := range h {
				sum += tap * (around[low] + around[high])
				low, high = low-2, high+2
			}
		} else {
			sum += h.edge(src, at)
		}
		dst = append(dst, sum)
	}
	return dst
}

// edge is the sum over the taps where the filter reaches beyond src.
func (h halfband) edge(src []float32, at int) (sum float32) {
	for i, tap := range h {
		if low := at - 2*i - 1; low >= 0 {
			sum += tap * src[low]
		}
		if high := at + 2*i + 1; high < len(src) {
			sum += tap * src[high]
		}
	}
	return sum
}
