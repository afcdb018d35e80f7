package signal

import "math"

// lowestSine is a limit of the spectra, and of the ear.
const lowestSine = 40.0 // Hz

// sineWave looks for one pure tone from 40 Hz on that is stable for a second. The score
// is the least of
//   - how long the tone lasts, without a change of frequency beyond 0.5 % or of level
//     beyond 6 dB: 0 at 0.92 s, 1 at 0.97 s;
//   - how pure it is, on average: 0 if it holds 94 % of the power, even noise aside, and
//     1 from 98 % on. At no time it holds less than 80 %.
//
// What is left goes through lasting.
func (c *clip) sineWave() float64 {
	purity := func(i int) float64 {
		f := &c.frames[i]
		if f.ridge.bins > 5 || f.ridge.hz < lowestSine {
			return 0
		}
		return f.purity(f.ridge.power)
	}
	best := longest(len(c.frames),
		func(i int) bool { return purity(i) > 0.8 },
		func(i int) float64 { return c.frames[i].ridge.hz },
		func(hz float64) float64 { return max(4, 0.005*hz) })
	best = c.even(best, func(i int) float64 { return c.frames[i].ridge.power })
	if best.frames() <= 2*edgeFrames {
		return 0
	}
	var mean float64
	for i := best.from; i < best.to; i++ {
		mean += purity(i) / float64(best.frames())
	}
	on, off := c.edges(best)
	return lasting(min(ramp(off-on, 0.92, 0.97), ramp(mean, 0.94, 0.98)), c.share(best))
}

// even is the longest part of a stretch whose level changes by less than 6 dB.
func (c *clip) even(s stretch, power func(i int) float64) stretch {
	part := longest(s.frames(),
		func(i int) bool { return power(s.from+i) > 0 },
		func(i int) float64 { return 10 * math.Log10(power(s.from+i)) },
		func(float64) float64 { return 6 })
	return stretch{s.from + part.from, s.from + part.to}
}

// edgeFrames is how many frames at each end of a tone may hold only a part of it, and how
// many beyond it are looked at.
const edgeFrames = 2

// edges says when the tone of a stretch begins and ends, in seconds, to some
// milliseconds: where its amplitude is half of what it is within. A tone of the first or
// the last frame begins or ends with the clip. One that something else hides ends there.
func (c *clip) edges(s stretch) (on, off float64) {
	return c.edge(s.from, -1, 0), c.edge(s.to-1, 1, c.seconds())
}

// edge looks for the edge near the last good frame in a direction.
func (c *clip) edge(last, direction int, end float64) float64 {
	middle := func(i int) float64 { return float64(i)*hopSeconds + frameSize/2/float64(sampleRate) }
	i := last - edgeFrames*direction
	hz, before := c.frames[i].ridge.hz, math.Sqrt(c.frames[i].ridge.power)
	half := before / 2
	for ; i >= 0 && i < len(c.frames); i += direction {
		power, _ := toneNear(c.spectrumOf(i), hz, binHz)
		amplitude := math.Sqrt(power)
		if amplitude < half {
			share := (before - half) / (before - amplitude)
			return middle(i-direction) + float64(direction)*share*hopSeconds
		}
		if (i-last)*direction > edgeFrames {
			return middle(last)
		}
		before = amplitude
	}
	return end
}
