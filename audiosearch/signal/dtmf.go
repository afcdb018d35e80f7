package signal

import "math"

// DTMF tones are judged in spectra of 32 ms, each 8 ms, of the signal below 2 kHz.
const (
	toneSize       = 128
	toneHop        = 32
	toneSlower     = 4
	toneRate       = sampleRate / toneSlower
	toneBinHz      = float64(toneRate) / toneSize
	toneHopSeconds = float64(toneHop) / toneRate
)

// The frequencies of ITU-T Q.23.
var (
	lowGroup  = [...]float64{697, 770, 852, 941}
	highGroup = [...]float64{1209, 1336, 1477, 1633}
)

// digit is a run of frames that have the tones of one key. What is summed up is weighted
// with the square of the power, so that what counts is the middle of the tone.
type digit struct {
	low, high             int       // which of the groups; low is -1 if there is none
	frames                []float64 // power of each
	power                 float64   // the highest
	weight                float64   // sums, from here on
	lowHz, highHz         float64
	lowSquare, highSquare float64
	purity, balance       float64
}

// dtmf looks for the keys of a telephone: one tone of the low and one of the high group
// of ITU-T Q.23, and nothing else. A digit scores
// the least of
//   - how long it is: 0 at 29 ms, 1 at 39 ms, in steps of 8 ms (ITU-T Q.24: up to 40 ms
//     must be, up to 23 ms must not be accepted);
//   - how near both frequencies are: 1 within 1.7 %, 0 beyond 2.6 % (Q.24: up to 1.5 %
//     must, beyond 3.5 % must not);
//   - how steady both are: 1 if the standard deviation is up to 0.6 %, 0 from 1.2 % on; a
//     voice glides;
//   - the difference of their levels: 1 up to 9 dB, 0 beyond 12 dB;
//   - how much of the power they hold: 0 at 82 %, 1 from 93 % on, of what is below 2 kHz,
//     and half of what there is above.
//
// The best digit counts for 88 % of the score, and the second best for the rest.
func (c *clip) dtmf() float64 {
	var best, second float64
	d := digit{low: -1, frames: c.levels[:0]}
	take := func() {
		score := d.score()
		second = max(second, min(best, score))
		best = max(best, score)
	}
	for at := 0; at+toneSize <= len(c.at4k); at += toneHop {
		low, high, f := c.keyAt(at)
		if low != d.low || high != d.high {
			take()
			d = digit{low: low, high: high, frames: d.frames[:0]}
		}
		if low >= 0 {
			d.add(f)
		}
	}
	take()
	return 0.88*best + 0.12*second
}

// keyFrame is what a frame that has the tones of a key is like.
type keyFrame struct{ lowPower, highPower, lowHz, highHz, purity float64 }

// keyAt says which key a frame of the slow signal has; low is -1 if none.
func (c *clip) keyAt(at int) (low, high int, f keyFrame) {
	samples := c.at4k[at : at+toneSize]
	var slow float32
	for _, x := range samples {
		slow += x * x / toneSize
	}
	if slow < audible/4 { // the tone may fill a part of the frame
		return -1, 0, f
	}
	spectrum := c.spectrum[:toneSize/2+1]
	c.scorer.tones.power(spectrum, samples, c.work)
	var all float32
	for _, p := range spectrum[2:] {
		all += p
	}
	f.lowPower, f.lowHz = strongest(spectrum, lowGroup[0], lowGroup[3])
	f.highPower, f.highHz = strongest(spectrum, highGroup[0], highGroup[3])
	f.purity = (f.lowPower + f.highPower) / float64(all)
	if !(f.purity > 0.6) {
		return -1, 0, f
	}
	below := float64(slow) / max(c.powerOf(at*toneSlower, toneSize*toneSlower), float64(slow))
	f.purity *= (1 + below) / 2
	low, high = nearest(lowGroup[:], f.lowHz), nearest(highGroup[:], f.highHz)
	if low < 0 || high < 0 {
		return -1, 0, f
	}
	return low, high, f
}

// strongest is the power and the frequency of the strongest tone of a group.
func strongest(spectrum []float32, low, high float64) (power, hz float64) {
	peak := int(low * 0.96 / toneBinHz)
	for k := peak; k <= int(high*1.04/toneBinHz)+1; k++ {
		if spectrum[k] > spectrum[peak] {
			peak = k
		}
	}
	return gravity(spectrum, peak-toneReach, peak+toneReach, toneBinHz)
}

// nearest is the index of the frequency that is within 4.5 %, -1 if there is none. That
// is more than passes, so that a tone that glides is seen to.
func nearest(group []float64, hz float64) int {
	for i, want := range group {
		if math.Abs(hz/want-1) < 0.045 {
			return i
		}
	}
	return -1
}

func (d *digit) add(f keyFrame) {
	power := f.lowPower + f.highPower
	weight := power * power
	d.lowHz, d.highHz = d.lowHz+weight*f.lowHz, d.highHz+weight*f.highHz
	d.lowSquare, d.highSquare = d.lowSquare+weight*f.lowHz*f.lowHz, d.highSquare+weight*f.highHz*f.highHz
	d.purity += weight * ramp(f.purity, 0.82, 0.93)
	d.balance += weight * balance(f.lowPower, f.highPower, 9, 12)
	d.weight += weight
	d.power = max(d.power, power)
	d.frames = append(d.frames, power)
}

func (d *digit) score() float64 {
	if d.low < 0 || d.weight <= 0 {
		return 0
	}
	long := 0
	for _, power := range d.frames {
		if power > d.power/4 { // half of the amplitude: half of what the frame weighs is tone
			long++
		}
	}
	near := func(hz, square, want float64) float64 {
		mean := hz / d.weight
		drift := math.Sqrt(max(0, square/d.weight-mean*mean)) / mean
		return min(ramp(math.Abs(mean/want-1), 0.026, 0.017), ramp(drift, 0.012, 0.006))
	}
	return min(ramp(float64(long)*toneHopSeconds, 0.029, 0.039), d.purity/d.weight, d.balance/d.weight,
		near(d.lowHz, d.lowSquare, lowGroup[d.low]), near(d.highHz, d.highSquare, highGroup[d.high]))
}
