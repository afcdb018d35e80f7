package signal

import "math"

// lowestSine is a limit of the spectra, and of the ear.
const lowestSine = 40.0 // Hz

// sineWave looks for one pure tone from 40 Hz on that is stable for a second. The score is the least of
//   - how long the tone lasts, without a change of frequency beyond 0.5 % or of level beyond 6 dB: 0 at 0.6 s, 1 at 0.92 s;
//   - how pure it is: 0 if it holds 80 % of the power, even noise aside, and 1 from 93 % on.
//
// What is left goes through lasting.
func (c *clip) sineWave() float64 {
	pure := func(i int) float64 {
		f := &c.frames[i]
		if f.ridge.bins > 5 || f.ridge.hz < lowestSine {
			return 0
		}
		return ramp(f.purity(f.ridge.power), 0.8, 0.93)
	}
	best := longest(len(c.frames),
		func(i int) bool { return pure(i) > 0 },
		func(i int) float64 { return c.frames[i].ridge.hz },
		func(hz float64) float64 { return max(4, 0.005*hz) })
	best = c.even(best, func(i int) float64 { return c.frames[i].ridge.power })
	var purity float64
	for i := best.from; i < best.to; i++ {
		purity += pure(i) / float64(best.frames())
	}
	return lasting(min(ramp(best.seconds(), 0.6, 0.92), purity), c.share(best))
}

// even is the longest part of a stretch whose level changes by less than 6 dB.
func (c *clip) even(s stretch, power func(i int) float64) stretch {
	part := longest(s.frames(),
		func(i int) bool { return power(s.from+i) > 0 },
		func(i int) float64 { return 10 * math.Log10(power(s.from+i)) },
		func(float64) float64 { return 6 })
	return stretch{s.from + part.from, s.from + part.to}
}
