package signal

import (
	"math"
	"math/bits"
)

// fft computes power spectra of real frames of one size under a Hann window. It is a complex transform of half the size, radix 2 with
// decimation in time, two stages at a time, and a last step that separates the even from the odd samples. It is read only once made.
//
// See Press et al., Numerical Recipes, 12.3.2: FFT of Single Real Function.
type fft struct {
	size         int // of a frame, a power of two of 16 at least
	window       []float32
	order        []int32 // the bits of 0, 4, 8, ... reversed, below half the size
	stages       []stage
	turns        []phasor // of the last step: exp(-2*pi*i*k/size)
	toMeanSquare float32
}

// stage is what joins each four transforms of a length, the span, to one of four times the length; the last stage may join two to one.
type stage struct {
	quadruples bool
	turns      []turn // as many as the span
}

// turn has the twiddle factors of both steps that a stage does at once.
type turn struct{ one, two phasor }

// phasor is a complex number in float32 throughout: the compiler multiplies a complex64 in float64.
type phasor struct{ re, im float32 }

func (a phasor) plus(b phasor) phasor  { return phasor{a.re + b.re, a.im + b.im} }
func (a phasor) minus(b phasor) phasor { return phasor{a.re - b.re, a.im - b.im} }
func (a phasor) times(b phasor) phasor {
	return phasor{a.re*b.re - a.im*b.im, a.re*b.im + a.im*b.re}
}

// timesMinusI turns by a quarter.
func (a phasor) timesMinusI() phasor { return phasor{a.im, -a.re} }

// newFFT makes the tables for frames of a size.
func newFFT(size int) *fft {
	n := size / 2
	f := &fft{size: size}
	var squares float64
	for i := range size {
		w := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(size))
		f.window = append(f.window, float32(w))
		squares += w * w
	}
	f.toMeanSquare = float32(2 / (float64(size) * squares))
	for i := 0; i < n; i += 4 {
		f.order = append(f.order, int32(bits.Reverse32(uint32(i))>>(bits.LeadingZeros32(uint32(n))+1)))
	}
	for span := 4; span < n; span *= 4 {
		s := stage{quadruples: 2*span < n}
		for k := range span {
			s.turns = append(s.turns, turn{turned(float64(k) / float64(2*span)), turned(float64(k) / float64(4*span))})
		}
		f.stages = append(f.stages, s)
	}
	for k := range n/2 + 1 {
		f.turns = append(f.turns, turned(float64(k)/float64(size)))
	}
	return f
}

// turned is 1, turned clockwise by a share of a full turn.
func turned(share float64) phasor {
	sin, cos := math.Sincos(-2 * math.Pi * share)
	return phasor{float32(cos), float32(sin)}
}

// bins is the length of a power spectrum.
func (f *fft) bins() int { return f.size/2 + 1 }

// power writes the power spectrum of a frame to dst, scaled so that its bins add up to the mean square of the frame under the window.
// work is scratch space of half the size.
func (f *fft) power(dst, frame []float32, work []phasor) {
	n := f.size / 2
	work = work[:n]
	f.load(work, frame)
	for _, s := range f.stages {
		if s.quadruples {
			joinFour(work, s.turns)
		} else {
			joinTwo(work, s.turns)
		}
	}

	dst = dst[:n+1]
	scale := f.toMeanSquare
	sum, difference := work[0].re+work[0].im, work[0].re-work[0].im
	dst[0], dst[n] = sum*sum*scale/2, difference*difference*scale/2
	for k := 1; k <= n/2; k++ {
		a, b := work[k], work[n-k]
		even := phasor{(a.re + b.re) / 2, (a.im - b.im) / 2}
		odd := phasor{(a.im + b.im) / 2, (b.re - a.re) / 2}.times(f.turns[k])
		low, high := even.plus(odd), even.minus(odd)
		dst[k] = (low.re*low.re + low.im*low.im) * scale
		dst[n-k] = (high.re*high.re + high.im*high.im) * scale
	}
}

// load puts the frame under the window into the order of reversed bits, each two samples as a complex number, and does the first two
// stages on the way, which need no products.
func (f *fft) load(work []phasor, frame []float32) {
	n := len(work)
	frame, window := frame[:2*n], f.window[:2*n]
	at := func(i int) phasor { return phasor{frame[2*i] * window[2*i], frame[2*i+1] * window[2*i+1]} }
	for _, from := range f.order {
		i := int(from)
		a, b, c, d := at(i), at(i+n/2), at(i+n/4), at(i+n/4+n/2)
		ab, cd := a.plus(b), c.plus(d)
		aMinusB, cMinusD := a.minus(b), c.minus(d).timesMinusI()
		four := work[:4:4]
		four[0], four[1], four[2], four[3] = ab.plus(cd), aMinusB.plus(cMinusD), ab.minus(cd), aMinusB.minus(cMinusD)
		work = work[4:]
	}
}

// joinTwo joins each two transforms of a length to one of twice the length.
func joinTwo(work []phasor, turns []turn) {
	for span := len(turns); len(work) >= 2*span; work = work[2*span:] {
		low, high := work[:span], work[span:2*span]
		for k := range turns {
			a, b := low[k], high[k].times(turns[k].one)
			low[k], high[k] = a.plus(b), a.minus(b)
		}
	}
}

// joinFour joins each four transforms of a length to one of four times the length: two steps of joinTwo, with half the reads and writes.
func joinFour(work []phasor, turns []turn) {
	for span := len(turns); len(work) >= 4*span; work = work[4*span:] {
		first, second, third, fourth := work[:span], work[span:2*span], work[2*span:3*span], work[3*span:4*span]
		for k := range turns {
			t := &turns[k]
			a, b, c, d := first[k], second[k].times(t.one), third[k], fourth[k].times(t.one)
			a, b = a.plus(b), a.minus(b)
			c, d = c.plus(d).times(t.two), c.minus(d).times(t.two).timesMinusI()
			first[k], third[k] = a.plus(c), a.minus(c)
			second[k], fourth[k] = b.plus(d), b.minus(d)
		}
	}
}
