package fft

import "fmt"

// Real computes power spectra of real frames under a window, by a complex transform of half
// the size and a last step that separates the even from the odd samples. It is read only
// once made, so it is safe for concurrent use.
type Real[T Float] struct {
	half   *Plan[T]
	window []T
	turns  []Complex[T] // of the last step: exp(-2*pi*i*k/size)
}

// NewReal makes the tables for frames of the size of the window, a power of two from 8 to
// 1<<25. Any other size is a mistake in the program, and NewReal panics. It keeps a copy of
// the window. A window that ends with zeros pads the frame.
func NewReal[T Float](window []T) *Real[T] {
	size := len(window)
	if size%2 != 0 {
		panic(fmt.Sprintf("fft: a real frame of %d samples; their number must be a power of two", size))
	}
	r := &Real[T]{half: New[T](size / 2), window: append([]T(nil), window...)}
	for k := range size/4 + 1 {
		r.turns = append(r.turns, turned[T](float64(k)/float64(size)))
	}
	return r
}

// Size is the number of samples of a frame.
func (r *Real[T]) Size() int { return len(r.window) }

// Bins is the length of a power spectrum: half the size of a frame, and one.
func (r *Real[T]) Bins() int { return len(r.window)/2 + 1 }

// Power writes the power spectrum of a frame under the window, times scale, to dst: bin k is
// the square of the absolute value of bin k of the transform, from 0 to the Nyquist
// frequency. The frame has Size samples, dst has Bins cells, and work is scratch space of
// Size/2. Other lengths are a mistake in the program, and Power panics.
func (r *Real[T]) Power(dst, frame []T, work []Complex[T], scale T) {
	n := r.half.points
	if len(dst) != n+1 || len(frame) != 2*n || len(work) != n {
		panic(fmt.Sprintf("fft: the power spectrum of %d samples was given %d, room for %d bins, and work space of %d",
			2*n, len(frame), len(dst), len(work)))
	}
	r.load(work, frame)
	r.half.join(work)

	sum, difference := work[0].Re+work[0].Im, work[0].Re-work[0].Im
	dst[0], dst[n] = sum*sum*scale, difference*difference*scale
	for k := 1; k <= n/2; k++ {
		a, b := work[k], work[n-k]
		even := Complex[T]{(a.Re + b.Re) / 2, (a.Im - b.Im) / 2}
		odd := Complex[T]{(a.Im + b.Im) / 2, (b.Re - a.Re) / 2}.times(r.turns[k])
		low, high := even.plus(odd), even.minus(odd)
		dst[k] = (low.Re*low.Re + low.Im*low.Im) * scale
		dst[n-k] = (high.Re*high.Re + high.Im*high.Im) * scale
	}
}

// load puts the frame under the window into the order of reversed bits, each two samples as
// a complex number, and does the first two stages on the way: what Transform does with
// points, without writing the points first.
func (r *Real[T]) load(work []Complex[T], frame []T) {
	n := len(work)
	frame, window := frame[:2*n], r.window[:2*n]
	at := func(i int) Complex[T] { return Complex[T]{frame[2*i] * window[2*i], frame[2*i+1] * window[2*i+1]} }
	for _, from := range r.half.order {
		i := int(from)
		a, b, c, d := at(i), at(i+n/2), at(i+n/4), at(i+n/4+n/2)
		ab, cd := a.plus(b), c.plus(d)
		aMinusB, cMinusD := a.minus(b), c.minus(d).timesMinusI()
		four := work[:4:4]
		four[0], four[1], four[2], four[3] = ab.plus(cd), aMinusB.plus(cMinusD), ab.minus(cd), aMinusB.minus(cMinusD)
		work = work[4:]
	}
}
