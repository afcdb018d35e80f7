package signal

import "math"

// burst is a short part of the clip that is louder than the rest.
type burst struct {
	on, off float64 // seconds
	level   float64 // dB, at its loudest
}

// pulse looks for short bursts at about 1 Hz. The score is the least of
//   - how far the bursts stand out of what is between them: 0 at 6 dB, 1 at 14 dB;
//   - how many come at equal times: 0.5 for three bursts, 1 from four on;
//   - their rate: 1 from 0.6 to 1.6 Hz, 0 below 0.4 and above 2.2 Hz;
//   - how short they are: 1 up to 0.3 s, 0 from 0.38 s on;
//   - how equal the times between them are: 1 if they differ by up to 8 %, 0 from 20 % on;
//   - how equally loud they are: 1 if they differ by up to 6 dB, 0 from 15 dB on.
//
// What is left goes through lasting.
func (c *clip) pulse() (best float64) {
	bursts, between, top := c.bursts()
	if len(bursts) < 3 {
		return 0
	}
	contrast := ramp(top-between, 6, 14)
	for first := range bursts {
		if first+1 >= len(bursts) {
			break
		}
		period := bursts[first+1].on - bursts[first].on
		score := min(contrast, rate(period), brief(bursts[first]), brief(bursts[first+1]))
		low, high := bursts[first].level, bursts[first].level
		for i := first + 1; i < len(bursts) && score > 0; i++ {
			b := bursts[i]
			low, high = min(low, b.level), max(high, b.level)
			score = min(score, brief(b), ramp(high-low, 15, 6), ramp(math.Abs((b.on-bursts[i-1].on)/period-1), 0.2, 0.08))
			share := (b.on - bursts[first].on + period) / c.seconds()
			best = max(best, lasting(min(score, ramp(float64(i-first), 1, 3)), share))
		}
	}
	return best
}

func rate(period float64) float64 { return min(ramp(1/period, 0.4, 0.6), ramp(1/period, 2.2, 1.6)) }

func brief(b burst) float64 { return ramp(b.off-b.on, 0.38, 0.3) }

const (
	burstGap   = 0.06 // seconds: two bursts that are nearer are one
	quietest   = -75.0
	burstSteps = 128 // dB
)

// bursts finds the bursts of a clip, and the levels between them and at the top of most of them.
func (c *clip) bursts() (bursts []burst, between, top float64) {
	c.levels = c.levels[:0]
	for _, b := range c.blocks {
		c.levels = append(c.levels, max(quietest, decibels(float64(b.meanSquare-b.mean*b.mean))))
	}
	between, top = c.quantile(0.4), c.quantile(0.999)
	if top < -60 {
		return nil, 0, 0
	}
	edge := between + max(4, (top-between)/2)
	for i, level := range c.levels {
		if level < edge {
			continue
		}
		on := float64(i) * blockSeconds
		if n := len(bursts); n > 0 && on-bursts[n-1].off < burstGap {
			bursts[n-1].off, bursts[n-1].level = on+blockSeconds, max(bursts[n-1].level, level)
		} else {
			bursts = append(bursts, burst{on, on + blockSeconds, level})
		}
	}
	return bursts, between, top
}

// quantile is the level that a share of the blocks is below of, to half a dB.
func (c *clip) quantile(share float64) float64 {
	var histogram [2 * burstSteps]int
	for _, level := range c.levels {
		histogram[max(0, min(len(histogram)-1, int((level-quietest)*2)))]++
	}
	below, want := 0, int(share*float64(len(c.levels)))
	for i, n := range histogram {
		if below += n; below > want {
			return quietest + float64(i)/2
		}
	}
	return 0
}
