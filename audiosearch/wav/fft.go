package wav

import (
	"math"
	"math/bits"
	"math/cmplx"
)

// fft is the discrete Fourier transform of a length that is a power of two, 4 or more. It is not safe for concurrent use only in so far as
// its argument is not.
type fft struct {
	halves   []complex128      // twiddles of the first step, if the length is no power of four
	quarters [][][3]complex128 // twiddles of the steps by four
}

func newFFT(n int) *fft {
	f := new(fft)
	if bits.TrailingZeros(uint(n))%2 == 1 {
		f.halves = make([]complex128, n/2)
		for j := range f.halves {
			f.halves[j] = unitRoot(j, n)
		}
		n /= 2
	}
	for ; n >= 4; n /= 4 {
		twiddles := make([][3]complex128, n/4)
		for j := range twiddles {
			twiddles[j] = [3]complex128{unitRoot(j, n), unitRoot(2*j, n), unitRoot(3*j, n)}
		}
		f.quarters = append(f.quarters, twiddles)
	}
	return f
}

func unitRoot(k, n int) complex128 { return cmplx.Rect(1, -2*math.Pi*float64(k)/float64(n)) }

// transform works in place, by decimation in frequency. Bin k of the result stands at reversed(k, n).
func (f *fft) transform(x []complex128) {
	if f.halves != nil {
		a, b := x[:len(x)/2], x[len(x)/2:]
		b = b[:len(a)]
		for j, w := range f.halves[:len(a)] {
			a[j], b[j] = a[j]+b[j], (a[j]-b[j])*w
		}
	}
	for _, twiddles := range f.quarters {
		q := len(twiddles)
		for g := 0; g < len(x); g += 4 * q {
			a, b, c, d := x[g:][:q], x[g+q:][:q], x[g+2*q:][:q], x[g+3*q:][:q]
			for j := range twiddles {
				w := &twiddles[j]
				even, odd := a[j]+c[j], a[j]-c[j]
				evenB, oddB := b[j]+d[j], b[j]-d[j]
				oddB = complex(imag(oddB), -real(oddB))
				a[j], b[j], c[j], d[j] = even+evenB, (even-evenB)*w[1], (odd+oddB)*w[0], (odd-oddB)*w[2]
			}
		}
	}
}

// reversed returns k with its bits in reverse order, where n is the length.
func reversed(k, n int) int {
	return int(bits.Reverse32(uint32(k)) >> (32 - bits.TrailingZeros(uint(n))))
}
