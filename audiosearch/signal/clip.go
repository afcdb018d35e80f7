package signal

import (
	"slices"

	"github.com/seed-6363c74e/mortise/internal/fft"
)

// Levels are seen in blocks of 8 ms.
const (
	sampleRate   = 16000
	blockSize    = 128
	blockSeconds = float64(blockSize) / sampleRate
)

// block is 8 ms of samples.
type block struct{ mean, meanSquare float32 }

// clip is one clip at work: what is computed of it once, for all detectors, in buffers
// that the next clip uses again.
type clip struct {
	scorer  *Scorer
	samples []float32
	blocks  []block
	spectra []float32 // frameBins for each frame
	frames  []frame
	noises  []noiseSegment
	at4k    []float32 // the samples at 4 kHz
	at1k    []float32

	// Scratch space, in which nothing stays.
	at8k, at2k, odd  []float32
	sorted, spectrum []float32
	work             []fft.Complex[float32]
	levels           []float64
	tones            []toneFrame
}

// load takes the samples of a clip, and computes what detectors share.
func (c *clip) load(samples []float32) {
	c.samples = c.samples[:0]
	for _, x := range samples {
		c.samples = append(c.samples, finite(x))
	}
	c.blocks = c.blocks[:0]
	for at := 0; at+blockSize <= len(c.samples); at += blockSize {
		c.blocks = append(c.blocks, newBlock(c.samples[at:at+blockSize]))
	}
	c.at8k, c.odd = c.scorer.wide.decimate(c.at8k[:0], c.samples, c.odd)
	c.at4k, c.odd = c.scorer.steep.decimate(c.at4k[:0], c.at8k, c.odd)
	c.at2k, c.odd = c.scorer.wide.decimate(c.at2k[:0], c.at4k, c.odd)
	c.at1k, c.odd = c.scorer.steep.decimate(c.at1k[:0], c.at2k, c.odd)

	c.spectra, c.frames = c.spectra[:0], c.frames[:0]
	for at := 0; at+frameSize <= len(c.samples); at += frameHop {
		begin := len(c.spectra)
		c.spectra = slices.Grow(c.spectra, frameBins)[:begin+frameBins]
		spectrum := c.spectra[begin:]
		c.scorer.frames.power(spectrum, c.samples[at:at+frameSize], c.work)
		c.frames = append(c.frames, c.newFrame(spectrum))
	}

	c.noises = c.noises[:0]
	for from := 0; from+segmentFrames <= len(c.frames); from += segmentFrames {
		c.noises = append(c.noises, c.newNoiseSegment(stretch{from, from + segmentFrames}))
	}
}

// finite makes a sample a number in a range of which all powers are numbers too.
func finite(x float32) float32 {
	if x >= -8 && x <= 8 {
		return x
	}
	switch {
	case x > 8:
		return 8
	case x < -8:
		return -8
	default:
		return 0 // not a number
	}
}

// newBlock measures blockSize samples.
func newBlock(samples []float32) block {
	var sum, square float32
	for _, x := range samples {
		sum += x
		square += x * x
	}
	return block{sum / blockSize, square / blockSize}
}

// powerOf is the mean square of so many samples of the clip, a constant aside.
func (c *clip) powerOf(begin, samples int) (power float64) {
	blocks := c.blocks[min(begin/blockSize, len(c.blocks)):min((begin+samples)/blockSize, len(c.blocks))]
	var mean float64
	for _, b := range blocks {
		mean += float64(b.mean) / float64(len(blocks))
		power += float64(b.meanSquare) / float64(len(blocks))
	}
	return max(0, power-mean*mean)
}

// spectrumOf returns the power spectrum of a frame.
func (c *clip) spectrumOf(i int) []float32 { return c.spectra[i*frameBins : (i+1)*frameBins] }

// seconds is how long the clip is.
func (c *clip) seconds() float64 { return float64(len(c.samples)) / sampleRate }

// share is how much of the clip a stretch is.
func (c *clip) share(s stretch) float64 {
	if len(c.frames) == 0 {
		return 0
	}
	return float64(s.frames()) / float64(len(c.frames))
}
