package signal

import "math"

// burst is a short part of the clip that is louder than the rest.
type burst struct {
	on, off float64 // seconds
	level   float64 // dB, at its loudest
}

func (b burst) seconds() float64 { return b.off - b.on }

// pulse looks for short bursts at about 1 Hz. The score is the least of
//   - how far the bursts stand out of all that is between them, from 150 ms after one to
//     60 ms before the next: 0 at 8 dB, 1 at 14 dB. In music something else sounds
//     between the beats;
//   - how many come at equal times: 0.5 for three bursts, 1 from four on;
//   - their rate: 1 from 0.62 to 1.5 Hz, 0 below 0.5 and above 1.65 Hz;
//   - how short they are: 1 up to 0.3 s, 0 from 0.38 s on;
//   - how equal the times between them are: 1 if they differ by up to 8 %, 0 from 20 %
//     on;
//   - how alike they are: 1 if their levels differ by up to 5 dB, and 0 from 10 dB on; 1
//     if their lengths differ by up to 50 ms, and 0 from 100 ms on.
//
// What is left goes through lasting.
func (c *clip) pulse() (best float64) {
	bursts, end := c.bursts(), float64(len(c.blocks))*blockSeconds
	for first := range bursts {
		if first+1 >= len(bursts) {
			break
		}
		period := bursts[first+1].on - bursts[first].on
		score := min(rate(period), brief(bursts[first]), brief(bursts[first+1]))
		softest, loudest := bursts[first].level, bursts[first].level
		shortest, longest := bursts[first].seconds(), bursts[first].seconds()
		if bursts[first].on <= 0 {
			shortest = bursts[first+1].seconds() // the clip cut the first one
		}
		for i := first + 1; i < len(bursts) && score > 0; i++ {
			b := bursts[i]
			softest, loudest = min(softest, b.level), max(loudest, b.level)
			if longest = max(longest, b.seconds()); b.off < end {
				shortest = min(shortest, b.seconds())
			}
			score = min(score, brief(b), ramp(loudest-softest, 10, 5), ramp(longest-shortest, 0.1, 0.05),
				ramp(math.Abs((b.on-bursts[i-1].on)/period-1), 0.2, 0.08))
			if score > 0 {
				score = min(score, ramp(c.contrast(bursts[i-1], b), 8, 14))
			}
			share := (b.on - bursts[first].on + period) / c.seconds()
			best = max(best, lasting(min(score, ramp(float64(i-first), 1, 3)), share))
		}
	}
	return best
}

func rate(period float64) float64 { return min(ramp(1/period, 0.5, 0.62), ramp(1/period, 1.65, 1.5)) }

func brief(b burst) float64 { return ramp(b.seconds(), 0.38, 0.3) }

// contrast is how many dB two bursts stand out of what is between them. A burst may ring
// after its end, and codecs spread it to before its begin.
func (c *clip) contrast(a, b burst) float64 {
	const ring, spread = 0.15, 0.06 // seconds
	loudest := quietest
	for i := int((a.off + ring) / blockSeconds); i < int((b.on-spread)/blockSeconds); i++ {
		loudest = max(loudest, c.levels[i])
	}
	return min(a.level, b.level) - loudest
}

const (
	burstGap   = 0.06 // seconds: two bursts that are nearer are one
	quietest   = -75.0
	burstSteps = 128 // dB
)

// bursts finds the bursts of a clip: what is above the middle between its usual level and
// the top of most bursts. It leaves the levels of all blocks in c.levels.
func (c *clip) bursts() (bursts []burst) {
	c.levels = c.levels[:0]
	for _, b := range c.blocks {
		c.levels = append(c.levels, max(quietest, decibels(float64(b.meanSquare-b.mean*b.mean))))
	}
	between, top := c.quantile(0.4), c.quantile(0.999)
	if top < -60 {
		return nil
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
	return bursts
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
