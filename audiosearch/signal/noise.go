package signal

import "math"

// Noise is judged by the second, in half octaves from 100 to 7400 Hz.
const (
	segmentFrames = 31
	lowestNoise   = 100.0
	highestNoise  = 7400.0
	noiseBands    = 13
	steadyBands   = 4 // octaves whose level must be steady
	lowestSteady  = 566.0
)

// noiseSegment is what a second of the clip is like, as noise.
type noiseSegment struct {
	heard     bool    // throughout
	slope     float64 // of the spectral density, in dB per octave
	deviation float64 // RMS, of the bands from that slope, in dB
	unsteady  float64 // standard deviation of the level from frame to frame, mean of octaves, in dB
	share     float64 // of the power, from 100 to 7400 Hz
	level     float64 // dB
}

// whiteNoise looks for noise with the same power at each frequency, and pinkNoise for
// noise with the same power in each octave. Each
// second is judged by itself, the least of
//   - the slope of its spectral density from 100 to 7400 Hz: 1 within 1 dB per octave of
//     what it should be, 0 from 1.5 on;
//   - how near the spectrum is to such a line: 1 if half octaves deviate by an RMS of 2
//     dB, 0 at 4.5 dB;
//   - how stationary it is: 1 if the level of octaves, seen each 32 ms, has a standard
//     deviation of 1.2 dB, 0 at 2.4 dB; ideal noise has 0.6.
//   - how much of the power is there: 0 at 35 %, 1 from 55 % on; pink noise has 75 %, as
//     there is as much in the octaves below.
//
// The seconds that have a part of it and follow each other make a stretch. How clear a
// stretch is, is the mean of its seconds, times how equal their levels are (1 if their
// standard deviation is up to 1.5 dB, 0 from 4 dB on), times how long it is: 0 if it is
// one second, 1 if it is two, as there are whole ones in all 3 s of noise, or all of the
// clip. The score is that of the best stretch, and higher by up to 0.12 if it fills more
// of the clip.
func (c *clip) whiteNoise() float64 { return c.noise(0) }

// pinkNoise: see whiteNoise.
func (c *clip) pinkNoise() float64 { return c.noise(-3.01) }

func (c *clip) noise(slope float64) float64 {
	var best, sum float64
	c.levels = c.levels[:0]
	for i := range c.noises {
		score := c.noises[i].score(slope)
		if score > 0.3 {
			sum += score
			c.levels = append(c.levels, c.noises[i].level)
			if i+1 < len(c.noises) {
				continue
			}
		}
		if n := float64(len(c.levels)); n > 0 {
			share := n / float64(len(c.noises))
			long := max(ramp(n, 1, 2), ramp(share, 0.9, 1))
			best = max(best, lasting(sum/n*long*ramp(deviation(c.levels), 4, 1.5), share))
		}
		sum, c.levels = 0, c.levels[:0]
	}
	return best
}

func (n *noiseSegment) score(slope float64) float64 {
	if !n.heard {
		return 0
	}
	return min(ramp(math.Abs(n.slope-slope), 1.5, 1), ramp(n.deviation, 4.5, 2), ramp(n.unsteady, 2.4, 1.2), ramp(n.share, 0.35, 0.55))
}

// newNoiseSegment measures a part of the clip.
func (c *clip) newNoiseSegment(s stretch) (n noiseSegment) {
	mean := c.spectrum[:frameBins]
	clear(mean)
	var steady [steadyBands][segmentFrames]float64
	var total float64
	for i := s.from; i < s.to; i++ {
		if c.frames[i].power < audible {
			return n
		}
		total += c.frames[i].power
		spectrum := c.spectrumOf(i)
		for k, p := range spectrum {
			mean[k] += p
		}
		for b := range steady {
			low := lowestSteady * math.Exp2(float64(b))
			steady[b][i-s.from] = decibels(bandDensity(spectrum, low, min(2*low, highestNoise)))
		}
	}
	n.level = decibels(total / float64(s.frames()))
	for b := range steady {
		n.unsteady += deviation(steady[b][:]) / steadyBands
	}
	var octave, density [noiseBands]float64
	for b := range octave {
		octave[b] = float64(b) / 2
		low := lowestNoise * math.Exp2(octave[b])
		density[b] = decibels(bandDensity(mean, low, min(low*math.Sqrt2, highestNoise)))
	}
	n.share = bandDensity(mean, lowestNoise, highestNoise) * (highestNoise - lowestNoise) / binHz / total
	n.slope, n.deviation = line(octave[:], density[:])
	n.heard = true
	return n
}

// bandDensity is the mean power of the bins of a band.
func bandDensity(spectrum []float32, low, high float64) float64 {
	from, to := int(math.Ceil(low/binHz)), int(math.Ceil(high/binHz))
	var sum float32
	for _, p := range spectrum[from:to] {
		sum += p
	}
	return float64(sum) / float64(to-from)
}

// decibels has a floor far below all that is heard.
func decibels(power float64) float64 { return 10 * math.Log10(max(power, 1e-15)) }

// deviation is the standard deviation, 0 of no value.
func deviation(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum, square float64
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	for _, v := range values {
		square += (v - mean) * (v - mean)
	}
	return math.Sqrt(square / float64(len(values)))
}

// line fits a straight line: its slope, and the RMS of what deviates from it.
func line(x, y []float64) (slope, rms float64) {
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	slope = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	offset := (sy - slope*sx) / n
	for i := range x {
		d := y[i] - offset - slope*x[i]
		rms += d * d / n
	}
	return slope, math.Sqrt(rms)
}
