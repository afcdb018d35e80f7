package fft_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/fft"
)

// sizes are all powers of two around those in use: 64 to 2048.
var sizes = []int{4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}

func noise[T fft.Float](n int) []fft.Complex[T] {
	random := rand.New(rand.NewPCG(uint64(n), 7))
	x := make([]fft.Complex[T], n)
	for i := range x {
		x[i] = fft.Complex[T]{Re: T(2*random.Float64() - 1), Im: T(2*random.Float64() - 1)}
	}
	return x
}

// plain is the transform by its definition.
func plain[T fft.Float](x []fft.Complex[T]) []complex128 {
	n := len(x)
	turns := make([]complex128, n)
	for k := range turns {
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		turns[k] = complex(cos, sin)
	}
	bins := make([]complex128, n)
	for k := range bins {
		for i, v := range x {
			bins[k] += complex(float64(v.Re), float64(v.Im)) * turns[i*k%n]
		}
	}
	return bins
}

func TestTransform(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testTransform[float32](t, 0x1p-23) })
	t.Run("float64", func(t *testing.T) { testTransform[float64](t, 0x1p-52) })
}

func testTransform[T fft.Float](t *testing.T, epsilon float64) {
	for _, n := range sizes {
		// Of points up to 1, a bin is about the root of n, and so many bits may be lost.
		tolerance := 4 * epsilon * math.Sqrt(float64(n)) * math.Log2(float64(n))
		plan, x := fft.New[T](n), noise[T](n)
		before := append([]fft.Complex[T](nil), x...)
		bins := make([]fft.Complex[T], n)
		plan.Transform(bins, x)
		require.Equal(t, before, x, "the points stay as they are")
		var power, energy float64
		for k, want := range plain(x) {
			require.InDelta(t, real(want), float64(bins[k].Re), tolerance, "%d points, bin %d", n, k)
			require.InDelta(t, imag(want), float64(bins[k].Im), tolerance, "%d points, bin %d", n, k)
			power += float64(bins[k].Re)*float64(bins[k].Re) + float64(bins[k].Im)*float64(bins[k].Im)
			energy += float64(x[k].Re)*float64(x[k].Re) + float64(x[k].Im)*float64(x[k].Im)
		}
		require.InEpsilon(t, energy, power/float64(n), 10*epsilon*math.Log2(float64(n)), "Parseval, %d points", n)

		swap := func(c []fft.Complex[T]) {
			for i, v := range c {
				c[i] = fft.Complex[T]{Re: v.Im, Im: v.Re}
			}
		}
		again := make([]fft.Complex[T], n)
		swap(bins)
		plan.Transform(again, bins)
		swap(again)
		for i, v := range again {
			require.InDelta(t, float64(x[i].Re), float64(v.Re)/float64(n), tolerance, "%d points, point %d", n, i)
			require.InDelta(t, float64(x[i].Im), float64(v.Im)/float64(n), tolerance, "%d points, point %d", n, i)
		}
	}
}

func TestPower(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testPower[float32](t, 0x1p-23) })
	t.Run("float64", func(t *testing.T) { testPower[float64](t, 0x1p-52) })
}

func testPower[T fft.Float](t *testing.T, epsilon float64) {
	for _, n := range sizes[1:] {
		window, frame, points := make([]T, n), make([]T, n), noise[T](n)
		for i := range window {
			window[i] = T(math.Sin(math.Pi * (float64(i) + 0.5) / float64(n)))
			frame[i] = points[i].Re
			points[i] = fft.Complex[T]{Re: frame[i] * window[i]}
		}
		r := fft.NewReal(window)
		require.Equal(t, n, r.Size())
		require.Equal(t, n/2+1, r.Bins())
		clear(window) // the plan has a copy
		power := make([]T, r.Bins())
		r.Power(power, frame, make([]fft.Complex[T], n/2), 3)
		// A bin is at most 4 times the root of n or so, and its square loses that much more.
		tolerance := 3 * 32 * epsilon * float64(n) * math.Log2(float64(n))
		for k, bin := range plain(points)[:n/2+1] {
			want := 3 * (real(bin)*real(bin) + imag(bin)*imag(bin))
			require.InDelta(t, want, float64(power[k]), tolerance, "%d samples, bin %d", n, k)
		}
	}
}

// A power spectrum is that of Transform, whatever was in the work space and whoever else
// works with the plan.
func TestConcurrent(t *testing.T) {
	const n = 512
	points := noise[float64](n)
	window, frame := make([]float64, n), make([]float64, n)
	for i := range window {
		window[i], frame[i] = 1, points[i].Re
	}
	r, plan := fft.NewReal(window), fft.New[float64](n)
	want, wantBins := make([]float64, r.Bins()), make([]fft.Complex[float64], n)
	r.Power(want, frame, make([]fft.Complex[float64], n/2), 1)
	plan.Transform(wantBins, points)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			work, got, bins := noise[float64](n/2), make([]float64, r.Bins()), noise[float64](n)
			for range 20 {
				r.Power(got, frame, work, 1)
				plan.Transform(bins, points)
			}
			assert.Equal(t, want, got)
			assert.Equal(t, wantBins, bins)
		})
	}
	all.Wait()
}

// What is no size, or does not fit a plan, is told to the programmer.
func TestMistakes(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 2, 3, 5, 6, 12, 400, 1 << 25} {
		assert.PanicsWithValue(t,
			fmt.Sprintf("fft: a transform of %d points; their number must be a power of two from 4 to 16777216", n),
			func() { fft.New[float32](n) })
	}
	for _, n := range []int{0, 1, 2, 4, 7, 400, 511} {
		assert.Panics(t, func() { fft.NewReal(make([]float64, n)) }, "%d samples", n)
	}

	points := func(n int) []fft.Complex[float64] { return make([]fft.Complex[float64], n) }
	plan, r := fft.New[float64](8), fft.NewReal(make([]float64, 16))
	for name, call := range map[string]func(){
		"points":     func() { plan.Transform(points(8), points(7)) },
		"room":       func() { plan.Transform(points(9), points(8)) },
		"bins":       func() { r.Power(make([]float64, 8), make([]float64, 16), points(8), 1) },
		"samples":    func() { r.Power(make([]float64, 9), make([]float64, 15), points(8), 1) },
		"work space": func() { r.Power(make([]float64, 9), make([]float64, 16), points(16), 1) },
		"no sample":  func() { r.Power(make([]float64, 9), nil, points(8), 1) },
		"nothing":    func() { plan.Transform(nil, nil) },
	} {
		func() {
			defer func() {
				text, _ := recover().(string)
				assert.True(t, strings.HasPrefix(text, "fft: "), "%s: %q", name, text)
			}()
			call()
		}()
	}
}

func BenchmarkTransform(b *testing.B) {
	for _, n := range []int{1024, 2048} {
		b.Run(fmt.Sprintf("float64_%d", n), func(b *testing.B) {
			plan, x, bins := fft.New[float64](n), noise[float64](n), make([]fft.Complex[float64], n)
			for b.Loop() {
				plan.Transform(bins, x)
			}
		})
	}
}

func BenchmarkPower(b *testing.B) {
	b.Run("float32_1024", func(b *testing.B) { benchmarkPower[float32](b, 1024) })
	b.Run("float64_512", func(b *testing.B) { benchmarkPower[float64](b, 512) })
}

func benchmarkPower[T fft.Float](b *testing.B, n int) {
	window := make([]T, n)
	for i := range window {
		window[i] = 1
	}
	r := fft.NewReal(window)
	power, work := make([]T, r.Bins()), make([]fft.Complex[T], n/2)
	for b.Loop() {
		r.Power(power, window, work, 1)
	}
}

// A cosine of two turns in eight points is in bin 2 and, as a negative frequency, in bin 6.
func Example() {
	x, bins := make([]fft.Complex[float64], 8), make([]fft.Complex[float64], 8)
	for i := range x {
		x[i].Re = math.Cos(2 * math.Pi * 2 * float64(i) / 8)
	}
	fft.New[float64](8).Transform(bins, x)
	for k, bin := range bins {
		fmt.Printf("%d: %.0f\n", k, math.Hypot(bin.Re, bin.Im))
	}
	// Output:
	// 0: 0
	// 1: 0
	// 2: 4
	// 3: 0
	// 4: 0
	// 5: 0
	// 6: 4
	// 7: 0
}
