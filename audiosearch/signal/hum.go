package signal

import "math"

// Hum is judged in spectra of a second, each half a second: lines of 1 Hz.
const (
	humSize       = 1024
	humRate       = sampleRate / 16
	humBinHz      = float64(humRate) / humSize
	humHopSeconds = float64(humSize) / 2 / humRate
	lowestHum     = 35.0
	highestHum    = 430.0
)

// mainsHum looks for lines at multiples of 50 or 60 Hz that stay. Each half second is judged by itself, the least of
//   - how many lines up to 430 Hz hold 0.25 % of the power of all lines or more: 0 if one does, 1 from three on;
//   - how much of the power from 35 to 430 Hz they hold, even noise aside: 0 at 50 %, 1 from 80 % on;
//   - how much of all power they hold: 0 at 3 %, 1 from 15 % on.
//
// The mains may be off by 0.6 %. The score is the lesser of the mean of this over the longest stretch where it is more than 0, and of how long that is:
// 0 at 0.9 s, 1 at 1.8 s. What is left goes through lasting.
func (c *clip) mainsHum() (best float64) {
	frames := max(0, len(c.at1k)/(humSize/2)-1)
	if frames == 0 {
		return 0
	}
	for _, mains := range [...]float64{50, 60} {
		c.levels = c.levels[:0]
		for i := range frames {
			c.levels = append(c.levels, c.humAt(i, mains))
		}
		s := longest(frames, func(i int) bool { return c.levels[i] > 0 }, func(int) float64 { return 0 }, func(float64) float64 { return 0 })
		if s.frames() == 0 {
			continue
		}
		var mean float64
		for _, score := range c.levels[s.from:s.to] {
			mean += score / float64(s.frames())
		}
		seconds := float64(s.frames()+1) * humHopSeconds
		best = max(best, lasting(min(mean, ramp(seconds, 0.9, 1.8)), seconds/c.seconds()))
	}
	return best
}

// humAt judges one spectrum.
func (c *clip) humAt(i int, mains float64) float64 {
	begin := i * humSize / 2
	spectrum := c.spectrum[:c.scorer.humFFT.bins()]
	c.scorer.humFFT.power(spectrum, c.at1k[begin:begin+humSize], c.re, c.im)

	low, high := int(math.Ceil(lowestHum/humBinHz)), int(math.Ceil(highestHum/humBinHz))
	var all float64
	c.sorted = c.sorted[:0]
	for k := low; k <= high; k++ {
		all += float64(spectrum[k])
		c.sorted = append(c.sorted, spectrum[k])
	}
	if all < audible {
		return 0
	}
	binNoise := float64(median(c.sorted)) / medianOfMean
	var total float64
	blocks := c.blocks[min(begin*16/blockSize, len(c.blocks)):min((begin+humSize)*16/blockSize, len(c.blocks))]
	for _, b := range blocks {
		total += float64(b.meanSquare-b.mean*b.mean) / float64(len(blocks))
	}

	var comb float64
	var lines [8]float64
	for off := -0.006; off <= 0.0061; off += 0.001 {
		var sum float64
		var powers [8]float64
		for n := range powers {
			hz := mains * (1 + off) * float64(n+1)
			if hz > highestHum-3 {
				break
			}
			powers[n], _ = toneNear(spectrum, hz, humBinHz)
			sum += powers[n]
		}
		if sum > comb {
			comb, lines = sum, powers
		}
	}
	count := 0
	for _, p := range lines {
		if p > 0.0025*comb && p > 4*(2*toneReach+1)*binNoise {
			count++
		}
	}
	rest := max(comb, all-binNoise*float64(high-low+1))
	return min(ramp(float64(count), 1, 3), ramp(comb/rest, 0.5, 0.8), ramp(comb/max(total, comb), 0.03, 0.15)) * ramp(math.Min(comb/all, 1), 0.1, 0.3)
}
