package signal

import "math"

const (
	steepestStep = 640.0 // Hz from frame to frame: 20 kHz/s
	backStep     = 2.0   // Hz that a rising tone may fall, for what noise does
	clearMove    = 5.0   // Hz that noise cannot feign
)

// chirp looks for one tone that goes one way, up or down, evenly. The score is the least of
//   - how long it goes: 0 at 0.16 s, 1 at 0.32 s;
//   - how far: 0 at 1/6 octave, 1 at 1/3 octave or from 1 kHz on;
//   - how much of the spectrum it crosses, times how long it takes: 0 at 50 Hz s, 1 from
//     100 Hz s on. Voices that glide and drums that are struck stay below;
//   - how little it dies away, as a drum does: of the level, from a quarter to three
//     quarters of its way, 1 up to 12 dB, 0 from 18 dB on;
//   - how evenly: each step is compared with the mean of the steps around it; 1 if they
//     differ by 35 %, 0 if they differ by 65 %, as the steps of a scale do;
//   - how pure the tone is: 0 if it holds 70 % of the power, even noise aside, and 1 from
//     92 % on;
//   - how much of all such movement in the clip goes the same way: 0 if 60 % do, 1 from
//     80 % on. A siren goes both ways.
//
// What is left goes through lasting.
func (c *clip) chirp() float64 {
	var best, up, down float64
	for _, sign := range [...]float64{1, -1} {
		for from := 0; from < len(c.frames); {
			s := c.sweep(from, sign)
			if s.frames() < 2 {
				from++
				continue
			}
			from = s.to - 1 // the top of a rise may be the beginning of a fall
			score := c.sweepScore(s, sign)
			if score <= 0 {
				continue
			}
			moved := score * math.Abs(math.Log2(c.frames[s.to-1].ridge.hz/c.frames[s.from].ridge.hz))
			if sign > 0 {
				up += moved
			} else {
				down += moved
			}
			best = max(best, lasting(score, c.share(s)))
		}
	}
	return best * ramp(max(up, down)/(up+down), 0.6, 0.8)
}

// sweep is the run of frames from a frame on in which a clear tone goes one way.
func (c *clip) sweep(from int, sign float64) stretch {
	to := from
	for ; to < len(c.frames); to++ {
		f := &c.frames[to]
		if f.purity(f.ridge.power) < 0.6 {
			break
		}
		if to == from {
			continue
		}
		if step := sign * (f.ridge.hz - c.frames[to-1].ridge.hz); step < -backStep || step > steepestStep {
			break
		}
	}
	return stretch{from, to}
}

func (c *clip) sweepScore(s stretch, sign float64) float64 {
	if s.frames() < 4 {
		return 0
	}
	first, last := c.frames[s.from].ridge.hz, c.frames[s.to-1].ridge.hz
	if first <= 0 || last <= 0 || sign*(last-first) <= 0 {
		return 0
	}
	var purity float64
	for i := s.from; i < s.to; i++ {
		f := &c.frames[i]
		purity += f.purity(f.ridge.power) / float64(s.frames())
	}
	far := max(ramp(math.Abs(math.Log2(last/first)), 1.0/6, 1.0/3), ramp(math.Abs(last-first), 500, 1000))
	spread := math.Abs(last-first) * s.seconds()
	quarter := s.frames() / 4
	fall := decibels(c.frames[s.from+quarter].ridge.power) - decibels(c.frames[s.to-1-quarter].ridge.power)
	return min(ramp(s.seconds(), 0.16, 0.32), far, ramp(spread, 50, 100), ramp(fall, 18, 12),
		ramp(purity, 0.7, 0.92), ramp(c.unevenness(s), 0.65, 0.35))
}

// unevenness is how much the steps differ from the mean of the steps around them,
// relative to it. Steps are as many frames long as it takes to move clearly.
func (c *clip) unevenness(s stretch) float64 {
	hz := func(i int) float64 { return c.frames[i].ridge.hz }
	moved := math.Abs(hz(s.to-1)-hz(s.from)) / float64(s.frames()-1)
	lag := max(1, int(math.Ceil(clearMove/max(moved, 1e-3))))
	if s.frames() < 2*lag+2 {
		return 1
	}
	var off, all float64
	for i := s.from; i+lag < s.to; i++ {
		low, high := max(s.from, i-3*lag), min(s.to-1, i+lag+3*lag)
		mean := (hz(high) - hz(low)) / float64(high-low) * float64(lag)
		off += math.Abs(hz(i+lag) - hz(i) - mean)
		all += math.Abs(mean)
	}
	if all <= 0 {
		return 1
	}
	return off / all
}
