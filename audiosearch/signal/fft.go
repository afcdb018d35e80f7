package signal

import (
	"math"
	"math/bits"
)

// fft computes power spectra of real frames of one size: a complex transform of half the size, radix 2 with decimation in time, and a last
// step that separates the even from the odd samples. It is read only.
type fft struct {
	size        int // of a frame, a power of two of 16 at least
	window      []float32
	order       []int32   // where the complex value i goes, bits reversed
	cos, sin    []float32 // twiddle factors of all stages but the first two, one after another
	half        []complexParts
	toMeanSqare float32
}

// complexParts is a complex number that the compiler does not widen to float64 in products.
type complexParts struct{ re, im float32 }

// newFFT makes the tables for frames of a size under a periodic Hann window.
func newFFT(size int) *fft {
	n := size / 2
	f := &fft{size: size, window: make([]float32, size), order: make([]int32, n), half: make([]complexParts, n/2+1)}
	var squares float64
	for i := range f.window {
		w := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(size))
		f.window[i] = float32(w)
		squares += w * w
	}
	f.toMeanSqare = float32(2 / (float64(size) * squares))
	shift := bits.LeadingZeros32(uint32(n)) + 1
	for i := range f.order {
		f.order[i] = int32(bits.Reverse32(uint32(i)) >> shift)
	}
	for span := 4; span < n; span *= 2 {
		for k := range span {
			sin, cos := math.Sincos(-math.Pi * float64(k) / float64(span))
			f.cos, f.sin = append(f.cos, float32(cos)), append(f.sin, float32(sin))
		}
	}
	for k := range f.half {
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(size))
		f.half[k] = complexParts{float32(cos), float32(sin)}
	}
	return f
}

// bins is the length of a power spectrum.
func (f *fft) bins() int { return f.size/2 + 1 }

// power writes the power spectrum of a frame to dst, scaled so that its bins add up to the mean square of the frame under the window.
// re and im are scratch space of half the size.
func (f *fft) power(dst, frame, re, im []float32) {
	n := f.size / 2
	re, im = re[:n], im[:n]
	window := f.window[:2*n]
	frame = frame[:2*n]
	for i, to := range f.order {
		re[to] = frame[2*i] * window[2*i]
		im[to] = frame[2*i+1] * window[2*i+1]
	}
	f.transform(re, im)

	dst = dst[:n+1]
	scale := f.toMeanSqare
	dst[0] = (re[0] + im[0]) * (re[0] + im[0]) * scale / 2
	dst[n] = (re[0] - im[0]) * (re[0] - im[0]) * scale / 2
	for k := 1; k <= n/2; k++ {
		ar, ai, br, bi := re[k], im[k], re[n-k], im[n-k]
		evenR, evenI := (ar+br)/2, (ai-bi)/2
		oddR, oddI := (ai+bi)/2, (br-ar)/2
		w := f.half[k]
		turnR, turnI := oddR*w.re-oddI*w.im, oddR*w.im+oddI*w.re
		r, i := evenR+turnR, evenI+turnI
		dst[k] = (r*r + i*i) * scale
		r, i = evenR-turnR, evenI-turnI
		dst[n-k] = (r*r + i*i) * scale
	}
}

// transform is the complex transform in place, of values in the order of reversed bits.
func (f *fft) transform(re, im []float32) {
	// The first two stages need no products, so they are one.
	for i := 0; i+4 <= len(re) && i+4 <= len(im); i += 4 {
		r, m := re[i:i+4:i+4], im[i:i+4:i+4]
		aR, aI, bR, bI := r[0]+r[1], m[0]+m[1], r[0]-r[1], m[0]-m[1]
		cR, cI, dR, dI := r[2]+r[3], m[2]+m[3], r[2]-r[3], m[2]-m[3]
		r[0], m[0], r[2], m[2] = aR+cR, aI+cI, aR-cR, aI-cI
		r[1], m[1], r[3], m[3] = bR+dI, bI-dR, bR-dI, bI+dR
	}
	table := 0
	for span := 4; span < len(re); span *= 2 {
		cos, sin := f.cos[table:table+span], f.sin[table:table+span]
		table += span
		for start := 0; start < len(re); start += 2 * span {
			aR, bR := re[start:start+span], re[start+span:start+2*span]
			aI, bI := im[start:start+span], im[start+span:start+2*span]
			butterflies(aR, aI, bR, bI, cos, sin)
		}
	}
}

// butterflies joins two transforms of one length to one of twice the length.
func butterflies(aR, aI, bR, bI, cos, sin []float32) {
	n := len(cos)
	if len(sin) != n || len(aR) != n || len(aI) != n || len(bR) != n || len(bI) != n {
		return // never: this line spares the bounds checks below
	}
	for k := range n {
		r := bR[k]*cos[k] - bI[k]*sin[k]
		i := bR[k]*sin[k] + bI[k]*cos[k]
		bR[k], bI[k] = aR[k]-r, aI[k]-i
		aR[k], aI[k] = aR[k]+r, aI[k]+i
	}
}
