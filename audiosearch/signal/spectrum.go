package signal

import "math"

// Most detectors look at spectra of 64 ms, one each 32 ms: fine enough in frequency to
// tell 400 from 425 Hz, and in time for beeps of 120 ms. DTMF tones are shorter and mains
// hum is lower: each has spectra of its own, of a slower signal. Silence and pulses are
// levels.
const (
	frameSize  = 1024
	frameHop   = 512
	frameBins  = frameSize/2 + 1
	hopSeconds = float64(frameHop) / sampleRate
	binHz      = float64(sampleRate) / frameSize
)

// What a frame must have to be looked at, and where a ridge may be.
const (
	audible      = silentMeanSquare // what is silent is no other sound
	firstBin     = 2                // below is what a constant leaks
	lastBin      = 496              // 7750 Hz: above is the edge of every resampler
	ridgeEdge    = 0.02             // a ridge ends where it is 17 dB below its top
	widestRidge  = 80               // bins that a chirp may cross within a frame
	ridgeSkirt   = 2                // bins beyond its edges that a ridge leaks into
	toneReach    = 2                // bins to each side that hold a tone
	noticeable   = 0.2              // the share of all power, noise included, from which on something can be told from noise
	medianOfMean = math.Ln2         // of the power of noise in a bin, which is distributed exponentially
)

// frame is what is known of the spectrum of 64 ms.
type frame struct {
	power float64 // mean square
	noise float64 // what of it is even noise, told from the median of the bins
	ridge ridge
}

// ridge is the highest peak of a spectrum and what hangs together with it.
type ridge struct {
	hz    float64 // its center of gravity
	power float64
	bins  int // its width
}

// purity is how much of a frame is a part of it, even noise aside: 1 if there is nothing
// else. Of what the noise hides it is 0.
func (f *frame) purity(part float64) float64 {
	if f.power < audible || part <= 0 {
		return 0
	}
	return ramp(part/f.power, noticeable/2, noticeable) * part / max(part, f.power-f.noise)
}

// newFrame tells of a spectrum what all need to know.
func (c *clip) newFrame(spectrum []float32) frame {
	var sum, top float32
	peak := firstBin
	for k, p := range spectrum[firstBin:lastBin] {
		sum += p
		if p > top {
			top, peak = p, firstBin+k
		}
	}
	f := frame{power: float64(sum)}
	if f.power < audible {
		return f
	}
	f.noise = c.evenNoise(spectrum)
	f.ridge = ridgeAt(spectrum, peak)
	return f
}

// evenNoise is the power of noise that is spread evenly over the spectrum. A quarter of
// the bins tells it.
func (c *clip) evenNoise(spectrum []float32) float64 {
	c.sorted = c.sorted[:0]
	for k := firstBin; k < lastBin; k += 4 {
		c.sorted = append(c.sorted, spectrum[k])
	}
	return float64(median(c.sorted)) / medianOfMean * (lastBin - firstBin)
}

// ridgeAt follows a peak to both sides.
func ridgeAt(spectrum []float32, peak int) ridge {
	edge := spectrum[peak] * ridgeEdge
	low, high := peak, peak
	for low > firstBin && spectrum[low-1] > edge && high-low < widestRidge {
		low--
	}
	for high < lastBin-1 && spectrum[high+1] > edge && high-low < widestRidge {
		high++
	}
	power, hz := gravity(spectrum, low-ridgeSkirt, high+ridgeSkirt, binHz)
	return ridge{hz: hz, power: power, bins: high - low + 1}
}

// toneNear is the power of a tone at or near a frequency, and its own frequency.
func toneNear(spectrum []float32, hz, binHz float64) (power, own float64) {
	k := int(hz/binHz + 0.5)
	return gravity(spectrum, k-toneReach, k+toneReach, binHz)
}

// gravity is the power of the bins from low to high, and the frequency of its center.
func gravity(spectrum []float32, low, high int, binHz float64) (power, hz float64) {
	low, high = max(low, 0), min(high, len(spectrum)-1)
	var sum, moment float32
	for k := low; k <= high; k++ {
		sum += spectrum[k]
		moment += spectrum[k] * float32(k-low)
	}
	if sum <= 0 {
		return 0, 0
	}
	return float64(sum), (float64(moment/sum) + float64(low)) * binHz
}

// median reorders values and returns the one in the middle, 0 of none.
func median(values []float32) float32 {
	if len(values) == 0 {
		return 0
	}
	low, high, middle := 0, len(values)-1, len(values)/2
	for low < high {
		pivot := values[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case middle <= j:
			high = j
		case middle >= i:
			low = i
		default:
			return values[middle]
		}
	}
	return values[low]
}
