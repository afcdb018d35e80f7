package signal

import "math"

// Hum is judged in spectra of a second, each half a second: lines of 1 Hz.
const (
	humSize       = 1024
	humSlower     = 16
	humRate       = sampleRate / humSlower
	humBinHz      = float64(humRate) / humSize
	humHopSeconds = float64(humSize) / 2 / humRate
	lowestHum     = 36  // the bin of 35 Hz
	highestHum    = 440 // the bin of 430 Hz
	mostLines     = 8   // up to there
	lineBins      = 2*toneReach + 1
)

// mainsHum looks for lines at multiples of 50 or 60 Hz that stay. Each half second is
// judged by itself, the least of
//   - how many lines up to 430 Hz hold 0.25 % of the power of all lines or more, and
//     stand 6 dB out of the noise: 0 if one does, 1 from three on;
//   - how much of the power from 35 to 430 Hz they hold: 0 at 50 %, 1 from 80 % on, even
//     noise aside, and 0 at 10 %, 1 from 30 % on with it;
//   - how much of all power they hold: 0 at 3 %, 1 from 15 % on.
//
// The mains may be off by 0.6 %. The score is the lesser of the mean of this over the
// longest stretch where it is more than 0 and the level changes by less than 6 dB, and of
// how long that is: 0 at 0.6 s, 1 at 1.5 s, in steps of half a second. What is left goes
// through lasting.
func (c *clip) mainsHum() (best float64) {
	frames := max(0, len(c.at1k)/(humSize/2)-1)
	for _, mains := range [...]float64{50, 60} {
		c.tones = c.tones[:0]
		for i := range frames {
			c.tones = append(c.tones, c.humAt(i, mains))
		}
		s := longest(frames,
			func(i int) bool { return c.tones[i].fit > 0 },
			func(i int) float64 { return 10 * math.Log10(c.tones[i].power) },
			func(float64) float64 { return 6 })
		var mean float64
		for _, t := range c.tones[s.from:s.to] {
			mean += t.fit / float64(s.frames())
		}
		seconds := float64(s.frames()) * humHopSeconds
		best = max(best, lasting(min(mean, ramp(seconds, 0.6, 1.5)), (seconds+humHopSeconds)/c.seconds()))
	}
	return best
}

// humAt judges one spectrum.
func (c *clip) humAt(i int, mains float64) toneFrame {
	spectrum := c.spectrum[:humSize/2+1]
	c.scorer.hums.power(spectrum, c.at1k[i*humSize/2:i*humSize/2+humSize], c.work)
	low := spectrum[lowestHum : highestHum+1]
	var power float64
	for _, p := range low {
		power += float64(p)
	}
	if power < audible {
		return toneFrame{}
	}
	c.sorted = append(c.sorted[:0], low...)
	noise := float64(median(c.sorted)) / medianOfMean // in each bin

	var comb float64
	var lines [mostLines]float64
	for off := -0.006; off <= 0.0061; off += 0.001 {
		if sum, powers := humLines(spectrum, mains*(1+off)); sum > comb {
			comb, lines = sum, powers
		}
	}
	count := 0
	for _, p := range lines {
		if p > 0.0025*comb && p > 4*lineBins*noise {
			count++
		}
	}
	rest := max(comb, power-noise*float64(len(low)))
	all := max(comb, c.powerOf(i*humSize/2*humSlower, humSize*humSlower))
	return toneFrame{
		fit:   min(ramp(float64(count), 1, 3), ramp(comb/rest, 0.5, 0.8), ramp(comb/power, 0.1, 0.3), ramp(comb/all, 0.03, 0.15)),
		power: comb,
	}
}

// humLines is the power of the lines at multiples of a frequency.
func humLines(spectrum []float32, mains float64) (sum float64, powers [mostLines]float64) {
	for n := range powers {
		hz := mains * float64(n+1)
		if hz > (highestHum-toneReach)*humBinHz {
			break
		}
		power, own := toneNear(spectrum, hz, humBinHz)
		if math.Abs(own-hz) < 0.8 { // that of another comb
			powers[n] = power
			sum += power
		}
	}
	return sum, powers
}
