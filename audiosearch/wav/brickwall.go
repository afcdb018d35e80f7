package wav

import "github.com/seed-6363c74e/mortise/internal/fft"

// brickwall halves or doubles a sampling rate behind the one steep filter of a resampler.
// In the frequencies of the lower of the two rates, it is flat to 0.45 and silent from
// 0.5 on. Such a filter is long, so it is applied to the spectrum of blocks that overlap
// (overlap-save).
//
// The filter is real, so that two blocks can be one complex one: the earlier is its real
// part, the later its imaginary part.
type brickwall struct {
	in, out             int // lengths of a block before and after
	marginIn, marginOut int // what the filter spoils at each end of a block
	forward, inverse    *fft.Plan[float64]
	gain                []float64 // of the bins of the inverse transform
	before, spectrum    []fft.Complex[float64]
	picked, after       []fft.Complex[float64]
	pending             []float32 // samples from the start of the next block on
}

const (
	steepPass, steepStop = 0.225, 0.25 // in cycles per sample of the higher rate
	steepHalf            = 128         // half the length of the filter, in samples of the higher rate
	steepBlock           = 2048        // at the higher rate
)

// newBrickwall makes a stage whose input begins marginIn samples before the time at which
// its output begins.
func newBrickwall(doubles bool) *brickwall {
	b := &brickwall{in: steepBlock, out: steepBlock / 2, marginIn: steepHalf, marginOut: steepHalf / 2}
	if doubles {
		b.in, b.out, b.marginIn, b.marginOut = b.out, b.in, b.marginOut, b.marginIn
	}
	b.forward, b.inverse = fft.New[float64](b.in), fft.New[float64](b.out)
	b.before, b.spectrum = make([]fft.Complex[float64], b.in), make([]fft.Complex[float64], b.in)
	b.picked, b.after = make([]fft.Complex[float64], b.out), make([]fft.Complex[float64], b.out)

	response := steepResponse()
	b.gain = make([]float64, b.out)
	for k := range b.out {
		bin := k // of the higher rate
		if k >= b.out/2 {
			bin += steepBlock - b.out
		}
		b.gain[k] = response[bin] / float64(b.in)
	}
	return b
}

// steepResponse returns the gain of the filter for each bin of a block at the higher
// rate. It is real, since the filter is symmetric about 0.
func steepResponse() []float64 {
	filter := kernel{cutoff: (steepPass + steepStop) / 2, half: steepHalf}
	impulse, spectrum := make([]fft.Complex[float64], steepBlock), make([]fft.Complex[float64], steepBlock)
	for i := -steepHalf + 1; i < steepHalf; i++ {
		impulse[(i+steepBlock)%steepBlock].Re = filter.at(float64(i))
	}
	fft.New[float64](steepBlock).Transform(spectrum, impulse)
	response := make([]float64, steepBlock)
	for k := range response {
		response[k] = spectrum[k].Re
	}
	return response
}

// process appends to dst what follows from src and all samples before it.
func (b *brickwall) process(dst, src []float32) []float32 {
	b.pending = append(b.pending, src...)
	hop := b.in - 2*b.marginIn
	used := 0
	for ; used+hop+b.in <= len(b.pending); used += 2 * hop {
		dst = b.convolve(dst, b.pending[used:][:b.in], b.pending[used+hop:][:b.in])
	}
	b.pending = b.pending[:copy(b.pending, b.pending[used:])]
	return dst
}

func (b *brickwall) convolve(dst []float32, earlier, later []float32) []float32 {
	before := b.before
	earlier, later = earlier[:len(before)], later[:len(before)]
	for i := range before {
		before[i] = fft.Complex[float64]{Re: float64(earlier[i]), Im: float64(later[i])}
	}
	b.forward.Transform(b.spectrum, before)
	half := b.out / 2
	b.pick(0, 0)
	// The upper half of a transform is negative frequencies, so it ends where the other
	// ends.
	b.pick(half, (half+steepBlock-b.out)%b.in)
	b.inverse.Transform(b.after, b.picked)
	valid := b.after[b.marginOut : b.out-b.marginOut]
	for _, x := range valid {
		dst = append(dst, float32(x.Im))
	}
	for _, x := range valid {
		dst = append(dst, float32(x.Re))
	}
	return dst
}

// pick takes half the bins of the inverse transform, from one on, from the forward one.
// It swaps real and imaginary parts, since the inverse is the swapped transform of what
// is swapped.
func (b *brickwall) pick(to, from int) {
	half := b.out / 2
	picked, gain, spectrum := b.picked[to:][:half], b.gain[to:][:half], b.spectrum[from:][:half]
	for k, bin := range spectrum {
		picked[k] = fft.Complex[float64]{Re: bin.Im * gain[k], Im: bin.Re * gain[k]}
	}
}
