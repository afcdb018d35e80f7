package wav

// brickwall halves or doubles a sampling rate behind the one steep filter of a resampler. In the frequencies of the lower of the two rates,
// it is flat to 0.45 and silent from 0.5 on. Such a filter is long, so it is applied to the spectrum of blocks that overlap (overlap-save).
//
// The filter is real, so that two blocks can be one complex one: the earlier is its real part, the later its imaginary part.
type brickwall struct {
	in, out         int // lengths of a block before and after
	marginIn        int // what the filter spoils at each end of a block
	marginOut       int
	forward         *fft
	inverse         *fft
	pick            []int     // where the bins of the inverse transform stand in the forward one
	gain            []float64 // of these bins
	takeOut         []int     // where the samples stand that the inverse transform gives
	spectrum, block []complex128
	pending         []float32 // samples from the start of the next block on
}

const (
	steepPass, steepStop = 0.225, 0.25 // in cycles per sample of the higher rate
	steepHalf            = 128         // half the length of the filter, in samples of the higher rate
	steepBlock           = 2048        // at the higher rate
)

// newBrickwall makes a stage whose input begins marginIn samples before the time at which its output begins.
func newBrickwall(doubles bool) *brickwall {
	b := &brickwall{in: steepBlock, out: steepBlock / 2, marginIn: steepHalf, marginOut: steepHalf / 2}
	if doubles {
		b.in, b.out, b.marginIn, b.marginOut = b.out, b.in, b.marginOut, b.marginIn
	}
	b.forward, b.inverse = newFFT(b.in), newFFT(b.out)
	b.spectrum, b.block = make([]complex128, b.in), make([]complex128, b.out)

	response := steepResponse()
	b.pick, b.gain, b.takeOut = make([]int, b.out), make([]float64, b.out), make([]int, b.out)
	for k := range b.out {
		bin := k // of the higher rate
		if k >= b.out/2 {
			bin += steepBlock - b.out
		}
		b.pick[k] = reversed(bin%b.in, b.in)
		b.gain[k] = response[bin] / float64(b.in)
		b.takeOut[k] = reversed(k, b.out)
	}
	return b
}

// steepResponse returns the gain of the filter for each bin of a block at the higher rate. It is real, since the filter is symmetric about 0.
func steepResponse() []float64 {
	filter := kernel{cutoff: (steepPass + steepStop) / 2, half: steepHalf}
	impulse := make([]complex128, steepBlock)
	for i := -steepHalf + 1; i < steepHalf; i++ {
		impulse[(i+steepBlock)%steepBlock] = complex(filter.at(float64(i)), 0)
	}
	newFFT(steepBlock).transform(impulse)
	response := make([]float64, steepBlock)
	for k := range response {
		response[k] = real(impulse[reversed(k, steepBlock)])
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
	for i := range b.spectrum {
		b.spectrum[i] = complex(float64(earlier[i]), float64(later[i]))
	}
	b.forward.transform(b.spectrum)
	for k, from := range b.pick {
		bin, gain := b.spectrum[from], b.gain[k]
		// A transform of swapped real and imaginary parts is the swapped inverse.
		b.block[k] = complex(imag(bin)*gain, real(bin)*gain)
	}
	b.inverse.transform(b.block)
	valid := b.takeOut[b.marginOut : b.out-b.marginOut]
	for _, i := range valid {
		dst = append(dst, float32(imag(b.block[i])))
	}
	for _, i := range valid {
		dst = append(dst, float32(real(b.block[i])))
	}
	return dst
}
