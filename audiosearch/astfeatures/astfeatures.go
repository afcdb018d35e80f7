package astfeatures

import (
	"fmt"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/internal/fft"
)

// What a spectrogram is like.
const (
	SampleRate = 16000 // Hz
	Frames     = 1024  // rows
	Bins       = 128   // columns: mel bands

	// Window is how much sound fills a spectrogram. 1022 rows come of it, and two of
	// padding.
	Window        = 10240 * time.Millisecond
	WindowSamples = 163840 // of a Window
)

const (
	frameSize = 400 // samples
	frameHop  = 160
	fftSize   = 512

	preemphasis = 0.97
	lowestHz    = 20.0
	floor       = 0x1p-23
	mean        = -4.2677393 // of AudioSet
	deviation   = 4.5689974
)

// Extract writes the features of a clip to dst: Frames rows of Bins cells, one row after
// the other. The samples are mono, at SampleRate, in [-1,1].
//
// Of a clip that is longer than a Window, up to two rows more than those of a Window are
// filled, and the rest is not looked at. A clip of less than 400 samples has no frame:
// all its rows are padding. A sample that is NaN or infinite counts as 0, so all features
// are finite, whatever the samples are.
//
// dst has Frames*Bins cells exactly. Another length is a mistake in the program, and
// Extract panics. It keeps neither slice, allocates nothing once it has been called, and
// is safe for concurrent use with different dst.
func Extract(dst, samples []float32) {
	if len(dst) != Frames*Bins {
		panic(fmt.Sprintf("astfeatures: Extract was given room for %d features; make dst %d long (Frames*Bins)",
			len(dst), Frames*Bins))
	}
	e := extractors.Get().(*extractor)
	defer extractors.Put(e)
	for len(dst) > 0 && len(samples) >= frameSize {
		e.row(dst[:Bins], samples[:frameSize])
		dst, samples = dst[Bins:], samples[min(frameHop, len(samples)):]
	}
	for i := range dst {
		dst[i] = padding
	}
}

// padding is a cell of a row that no frame fills.
var padding = normalised(0)

func normalised(logMel float64) float32 { return float32((logMel - mean) / (2 * deviation)) }

// extractor is scratch space, and the tables that all share.
type extractor struct {
	*tables
	frame [fftSize]float64 // zeros after frameSize
	work  [fftSize / 2]fft.Complex[float64]
	power [fftSize/2 + 1]float64
}

var extractors = sync.Pool{New: func() any { return &extractor{tables: sharedTables()} }}

// row writes the features of a frame.
func (e *extractor) row(dst, samples []float32) {
	e.emphasize(samples)
	e.transform.Power(e.power[:], e.frame[:], e.work[:], 1)
	for m := range dst[:Bins] {
		band := &e.bands[m]
		weights := band.weights
		power := e.power[band.first:][:len(weights)]
		var sum float64
		for i, w := range weights {
			sum += w * power[i]
		}
		dst[m] = normalised(e.log(max(sum, floor)))
	}
}

// emphasize takes the samples as the frame, without their mean and with the pre-emphasis.
func (e *extractor) emphasize(samples []float32) {
	samples, frame := samples[:frameSize], e.frame[:frameSize]
	var sums [4]float64 // a single one would wait for itself
	for i := 0; i+4 <= frameSize; i += 4 {
		from, to := (*[4]float32)(samples[i:]), (*[4]float64)(frame[i:])
		a, b, c, d := finite(from[0]), finite(from[1]), finite(from[2]), finite(from[3])
		to[0], to[1], to[2], to[3] = a, b, c, d
		sums[0], sums[1], sums[2], sums[3] = sums[0]+a, sums[1]+b, sums[2]+c, sums[3]+d
	}
	mean := (sums[0] + sums[1] + sums[2] + sums[3]) / frameSize
	before := frame[0] - mean
	for i, x := range frame {
		x -= mean
		frame[i] = x - preemphasis*before
		before = x
	}
}

// finite is the sample, 0 if it is NaN or infinite.
func finite(sample float32) float64 {
	if sample-sample != 0 {
		return 0
	}
	return float64(sample)
}
