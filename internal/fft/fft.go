// Package fft is the one discrete Fourier transform of this module: in float32 or float64,
// of complex points or of real frames under a window, of lengths that are powers of two.
//
// It is a transform of radix 2 with decimation in time, two stages at a time, of which the
// first two need no products. Input is read in the order of reversed bits; output is in
// order. The result of an input depends on nothing else: not on the calls before, and not
// on who else calls.
//
// See Press et al., Numerical Recipes, 12.2 and 12.3.2.
package fft

import (
	"fmt"
	"math"
	"math/bits"
)

// Float is the precision of a transform.
type Float interface{ float32 | float64 }

// Complex is a complex number. The compiler multiplies a complex64 in float64; the parts of
// a Complex[float32] stay in float32.
type Complex[T Float] struct{ Re, Im T }

func (a Complex[T]) plus(b Complex[T]) Complex[T]  { return Complex[T]{a.Re + b.Re, a.Im + b.Im} }
func (a Complex[T]) minus(b Complex[T]) Complex[T] { return Complex[T]{a.Re - b.Re, a.Im - b.Im} }
func (a Complex[T]) times(b Complex[T]) Complex[T] {
	return Complex[T]{a.Re*b.Re - a.Im*b.Im, a.Re*b.Im + a.Im*b.Re}
}

// timesMinusI turns by a quarter.
func (a Complex[T]) timesMinusI() Complex[T] { return Complex[T]{a.Im, -a.Re} }

// turned is 1, turned clockwise by a share of a full turn.
func turned[T Float](share float64) Complex[T] {
	sin, cos := math.Sincos(-2 * math.Pi * share)
	return Complex[T]{T(cos), T(sin)}
}

const (
	minPoints = 4
	maxPoints = 1 << 24
)

// Plan transforms complex points. It is read only once made, so it is safe for concurrent
// use.
type Plan[T Float] struct {
	points int
	order  []int32 // the bits of 0, 4, 8, ... reversed, below points
	stages []stage[T]
}

// stage is what joins each four transforms of a length, the span, to one of four times the
// length; the last stage may join two to one.
type stage[T Float] struct {
	quadruples bool
	turns      []turn[T] // as many as the span
}

// turn has the twiddle factors of both steps that a stage does at once.
type turn[T Float] struct{ one, two Complex[T] }

// New makes the tables for a number of points: a power of two from 4 to 1<<24. Any other
// number is a mistake in the program, and New panics.
func New[T Float](points int) *Plan[T] {
	if points < minPoints || points > maxPoints || points&(points-1) != 0 {
		panic(fmt.Sprintf("fft: a transform of %d points; their number must be a power of two from %d to %d",
			points, minPoints, maxPoints))
	}
	p := &Plan[T]{points: points, order: make([]int32, points/4)}
	for i := range p.order {
		p.order[i] = int32(bits.Reverse32(uint32(4*i)) >> (bits.LeadingZeros32(uint32(points)) + 1))
	}
	for span := 4; span < points; span *= 4 {
		s := stage[T]{quadruples: 2*span < points, turns: make([]turn[T], span)}
		for k := range s.turns {
			s.turns[k] = turn[T]{
				one: turned[T](float64(k) / float64(2*span)),
				two: turned[T](float64(k) / float64(4*span)),
			}
		}
		p.stages = append(p.stages, s)
	}
	return p
}

// Transform writes the transform of src to dst: bin k is the sum of src[i]*exp(-2*pi*i*k/n)
// over all n points i, not scaled. The slices have the length of the plan exactly and do
// not overlap; another length is a mistake in the program, and Transform panics.
//
// The inverse of a transform is the transform of its bins with real and imaginary parts
// swapped, swapped again and divided by n.
func (p *Plan[T]) Transform(dst, src []Complex[T]) {
	if len(dst) != p.points || len(src) != p.points {
		panic(fmt.Sprintf("fft: a transform of %d points was given %d, and room for %d", p.points, len(src), len(dst)))
	}
	to, quarter := dst, len(src)/4
	first, second, third, fourth := src[:quarter], src[quarter:][:quarter], src[2*quarter:][:quarter], src[3*quarter:][:quarter]
	for _, i := range p.order {
		a, b, c, d := first[i], third[i], second[i], fourth[i]
		ab, cd := a.plus(b), c.plus(d)
		aMinusB, cMinusD := a.minus(b), c.minus(d).timesMinusI()
		four := to[:4:4]
		four[0], four[1], four[2], four[3] = ab.plus(cd), aMinusB.plus(cMinusD), ab.minus(cd), aMinusB.minus(cMinusD)
		to = to[4:]
	}
	p.join(dst)
}

// join does all stages but the first two.
func (p *Plan[T]) join(work []Complex[T]) {
	for i := range p.stages {
		if s := &p.stages[i]; s.quadruples {
			joinFour(work, s.turns)
		} else {
			joinTwo(work, s.turns)
		}
	}
}

// joinTwo joins each two transforms of a length to one of twice the length.
func joinTwo[T Float](work []Complex[T], turns []turn[T]) {
	for span := len(turns); len(work) >= 2*span; work = work[2*span:] {
		low, high := work[:span], work[span:][:span]
		for k := range turns {
			a, b := low[k], high[k].times(turns[k].one)
			low[k], high[k] = a.plus(b), a.minus(b)
		}
	}
}

// joinFour joins each four transforms of a length to one of four times the length: two
// steps of joinTwo, with half the reads and writes.
func joinFour[T Float](work []Complex[T], turns []turn[T]) {
	for span := len(turns); len(work) >= 4*span; work = work[4*span:] {
		first, second, third, fourth := work[:span], work[span:][:span], work[2*span:][:span], work[3*span:][:span]
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
