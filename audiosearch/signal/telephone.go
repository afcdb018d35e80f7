package signal

import "math"

// toneFrame is how well a frame fits what is looked for.
type toneFrame struct {
	fit   float64 // in [0,1]
	power float64 // of the tones
}

// call is a tone or a pair of tones, in Hz. Those of one frequency have a second of 0.
type call struct{ first, second float64 }

var (
	dialTones = []call{{350, 440}, {425, 0}}           // North America and others; ITU-T E.180
	busyTones = []call{{480, 620}, {425, 0}, {400, 0}} // North America; ITU-T E.180; United Kingdom and others
)

// listen fills c.tones with how each frame fits a call. The fit is the least of
//   - the purity of the tones: 0 if they hold 75 % of the power, even noise aside, and 1
//     from 90 % on;
//   - how near the frequencies are: 1 within 1.2 %, 0 beyond 2.8 %;
//   - of a pair, the difference of the levels: 1 up to 6 dB, 0 beyond 12 dB.
func (c *clip) listen(tones call) {
	c.tones = c.tones[:0]
	for i := range c.frames {
		f, spectrum := &c.frames[i], c.spectrumOf(i)
		power, hz := toneNear(spectrum, tones.first, binHz)
		fit := nearness(hz, tones.first)
		if tones.second > 0 {
			other, hz := toneNear(spectrum, tones.second, binHz)
			fit = min(fit, nearness(hz, tones.second), balance(power, other, 6, 12))
			power += other
		}
		c.tones = append(c.tones, toneFrame{min(fit, ramp(f.purity(power), 0.75, 0.9)), power})
	}
}

// nearness says how near a frequency is to what it should be.
func nearness(hz, want float64) float64 { return ramp(math.Abs(hz/want-1), 0.028, 0.012) }

// balance is 1 if two powers differ by one dB or less, and 0 from zero dB on.
func balance(a, b, one, zero float64) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return ramp(math.Abs(10*math.Log10(a/b)), zero, one)
}

// dialTone looks for 350 and 440 Hz, or 425 Hz, without a break. The score is the lesser of
//   - how long the tone lasts: 0 at 0.9 s, 1 at 1.8 s;
//   - how well it fits, see listen, on average.
//
// What is left goes through lasting.
func (c *clip) dialTone() float64 {
	best := 0.0
	for _, tones := range dialTones {
		c.listen(tones)
		s := longest(len(c.tones),
			func(i int) bool { return c.tones[i].fit > 0.2 },
			func(i int) float64 { return 10 * math.Log10(c.tones[i].power) },
			func(float64) float64 { return 6 })
		var fit float64
		for _, t := range c.tones[s.from:s.to] {
			fit += t.fit / float64(s.frames())
		}
		best = max(best, lasting(min(ramp(s.seconds(), 0.9, 1.8), fit), c.share(s)))
	}
	return best
}

// busySignal looks for 480 and 620 Hz, or 425, or 400 Hz, going on and off. The score is
// the least of
//   - how many times it comes again as it came first: 0 at none, 1 from two on;
//   - how long it is on and off: 1 from 0.12 to 0.65 s, 0 below 0.08 s and above 0.75 s;
//   - how alike the beeps are, and the times between them: 1 if they differ by up to 25
//     ms and 10 %, 0 from 50 ms and 25 % on;
//   - how well the tone fits, see listen, on average.
//
// What is left goes through lasting.
func (c *clip) busySignal() float64 {
	best := 0.0
	for _, tones := range busyTones {
		c.listen(tones)
		level := c.level(func(t toneFrame) bool { return t.fit > 0.3 })
		beeps := c.beeps(level)
		best = max(best, c.cadence(beeps))
	}
	return best
}

// cadence is the score of the best part of a row of beeps as a busy signal.
func (c *clip) cadence(beeps []beep) (best float64) {
	for first := range beeps {
		on := c.usualLength(beeps[first:])
		again, worst, fit := 0, min(1, lengthFits(beeps[first], on)), beeps[first].fit
		for i := first + 1; i < len(beeps); i++ {
			off := beeps[i].on - beeps[i-1].off
			worst = min(worst, lengthFits(beeps[i], on), beat(off), alike(off, beeps[first+1].on-beeps[first].off))
			if worst <= 0 {
				break
			}
			again, fit = again+1, fit+beeps[i].fit
			score := min(worst, ramp(float64(again), 0, 2), fit/float64(again+1))
			best = max(best, lasting(score, (beeps[i].off-beeps[first].on)/c.seconds()))
		}
	}
	return best
}

// usualLength is the length of the first beep that is not cut, or else of the longest
// one.
func (c *clip) usualLength(beeps []beep) (longest float64) {
	for _, b := range beeps {
		if !b.cut {
			return b.seconds()
		}
		longest = max(longest, b.seconds())
	}
	return longest
}

// lengthFits says whether a beep may be one of a busy signal that is on for so long. One
// that is cut may be shorter.
func lengthFits(b beep, on float64) float64 {
	if b.cut && b.seconds() < on {
		return beat(on)
	}
	return min(beat(b.seconds()), alike(b.seconds(), on))
}

// beat says whether a busy signal may be on or off for so long.
func beat(seconds float64) float64 { return min(ramp(seconds, 0.08, 0.11), ramp(seconds, 0.75, 0.67)) }

// alike says how near a duration is to another one.
func alike(a, b float64) float64 {
	return ramp(math.Abs(a-b), 0.05+0.25*b, 0.025+0.1*b)
}
