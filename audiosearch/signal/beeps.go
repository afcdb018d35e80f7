package signal

import (
	"math"
	"slices"
)

// beep is a tone that goes on and off.
type beep struct {
	on, off float64 // seconds
	fit     float64 // of the tone, on average
	cut     bool    // by the begin or the end of the clip: it may be longer
}

func (b beep) seconds() float64 { return b.off - b.on }

// level is the amplitude that most of the frames of a tone have that are good; 0 if there
// are fewer than three.
func (c *clip) level(good func(toneFrame) bool) float64 {
	c.levels = c.levels[:0]
	for _, t := range c.tones {
		if good(t) {
			c.levels = append(c.levels, math.Sqrt(t.power))
		}
	}
	if len(c.levels) < 3 {
		return 0
	}
	slices.Sort(c.levels)
	return c.levels[len(c.levels)*3/4]
}

// beeps returns when the tone of c.tones is on: where its amplitude is more than half its
// level. There half of what a frame weighs is tone, so that the time between two frames
// is found to a few milliseconds.
func (c *clip) beeps(level float64) (beeps []beep) {
	if level <= 0 {
		return nil
	}
	edge := level / 2
	var now beep
	var weight, before float64
	for i, t := range c.tones {
		amplitude := math.Sqrt(t.power)
		if amplitude >= edge && before < edge {
			now, weight = beep{on: crossing(i, before, amplitude, edge), cut: i == 0}, 0
		}
		if amplitude >= edge {
			now.fit, weight = now.fit+t.fit*amplitude*amplitude*amplitude, weight+amplitude*amplitude*amplitude
		}
		ends := i == len(c.tones)-1
		if before >= edge && amplitude < edge || ends && amplitude >= edge {
			now.off, now.cut = crossing(i, before, amplitude, edge), now.cut || ends
			now.fit /= weight
			beeps = append(beeps, now)
		}
		before = amplitude
	}
	return beeps
}

// crossing is when an amplitude crossed an edge between the frame before i and i. If it
// did not, it was at i.
func crossing(i int, before, after, edge float64) float64 {
	if i == 0 || (before < edge) == (after < edge) {
		return float64(i) * hopSeconds
	}
	return (float64(i-1) + (edge-before)/(after-before)) * hopSeconds
}
