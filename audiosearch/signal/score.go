package signal

import "math"

// ramp is 0 where x is zero, 1 where x is one, and a straight line between. Beyond it
// stays as it is. The greater of the two may be either.
func ramp(x, zero, one float64) float64 {
	return clamp((x - zero) / (one - zero))
}

// clamp brings a value into [0,1]. NaN is 0.
func clamp(x float64) float64 {
	if x > 0 {
		return math.Min(x, 1)
	}
	return 0
}

// lasting is the score of a sound that fills a share of the clip. Where the sound is
// equally clear, more of it ranks higher.
func lasting(clear, share float64) float64 {
	return clear * (0.88 + 0.12*clamp(share))
}

// stretch is a run of frames.
type stretch struct{ from, to int } // to is not part of it

func (s stretch) frames() int { return s.to - s.from }

// seconds is how long the sound lasts that is heard in the frames: a frame counts if half
// of the sound under its window is there.
func (s stretch) seconds() float64 { return float64(s.frames()) * hopSeconds }

// longest returns the longest run of frames that fit together: belongs says which frames
// may be in one, and x, which must not differ by more than tolerance(x) within a run.
func longest(n int, belongs func(i int) bool, x func(i int) float64, tolerance func(x float64) float64) (best stretch) {
	for from := 0; from+best.frames() < n; from++ {
		if !belongs(from) {
			continue
		}
		low, high := x(from), x(from)
		to := from + 1
		for ; to < n && belongs(to); to++ {
			low, high = min(low, x(to)), max(high, x(to))
			if high-low > tolerance(high) {
				break
			}
		}
		if to-from > best.frames() {
			best = stretch{from, to}
		}
	}
	return best
}
