package wav

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pairs are the rates that the tests go between: usual ones, equal ones, and some without
// a common divisor. One of three has some of each kind.
var pairs = [][2]int{
	{44100, 16000}, {48000, 16000}, {32000, 16000}, {22050, 16000}, {192000, 16000}, {768000, 16000}, {16001, 16000}, {44101, 16000}, {47999, 32000},
	{8000, 16000}, {11025, 16000}, {12000, 16000}, {15999, 16000}, {7999, 16000}, {100, 16000}, {16000, 44100}, {16000, 16000},
}

func TestResampleBands(t *testing.T) {
	for _, pair := range pairs {
		t.Run(fmt.Sprint(pair[0], " to ", pair[1]), func(t *testing.T) {
			t.Parallel()
			from, to := pair[0], pair[1]
			half := float64(min(from, to)) / 2
			for _, share := range []float64{0.003, 0.0501, 0.25, 0.4999, 0.7, 0.81, 0.85, 0.8999} {
				in := tone(from, to, share*half)
				got := resampled(from, to, in, 4096)
				level := decibel(middle(subtract(got, sine(to, share*half, len(got)))))
				assert.Less(t, level, -90.0, "the error of a sine at %v of half the lower rate, against one made at the new rate", share)
			}
			for _, share := range []float64{0.92, 0.95, 0.98, 0.9999, 1.0001, 1.01, 1.1, 1.3, 1.7, 1.999, 2, 2.05, 2.5, 2.9, 3, 3.1, 3.99, 4, 5.1, 7, 11, 23.5} {
				f := share * half
				if f >= float64(from)/2 {
					continue
				}
				got := middle(resampled(from, to, tone(from, to, f), 4096))
				if share < 1 {
					got = withoutTone(got, f/float64(to)) // in the transition: some of the tone may be there, but no image of it
				}
				assert.Less(t, decibel(got), -90.0, "what is left of a sine at %v of half the lower rate", share)
			}
		})
	}
}

func TestResampleNoise(t *testing.T) {
	// White noise has everything at once; what the resampler leaves above 0.45*to must
	// not exceed the transition band.
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]float32, 96000)
	for i := range noise {
		noise[i] = float32(random.NormFloat64() * 0.1)
	}
	down := resampled(48000, 16000, noise, 1000)
	back := resampled(48000, 16000, resampled(16000, 48000, down, 777), 999)
	require.Len(t, back, len(down))
	// Going up and down again takes only what lies in the transition band: at most a
	// tenth of the power.
	assert.Less(t, power(middle(subtract(back, down))), 0.1*power(middle(down)))
}

func TestResampleBlocks(t *testing.T) {
	for _, pair := range pairs {
		in := sine(pair[0], float64(min(pair[0], pair[1]))/7, 1500*max(pair[0]/pair[1], 3))
		whole := resampled(pair[0], pair[1], in, len(in))
		require.Len(t, whole, (len(in)*pair[1]+pair[0]-1)/pair[0], "%v", pair)
		for _, block := range []int{1, 17, 1024, 4097} {
			require.Equal(t, whole, resampled(pair[0], pair[1], in, block), "%v in blocks of %d", pair, block)
		}
	}
}

func TestResampleTime(t *testing.T) {
	for _, pair := range pairs {
		from, to := pair[0], pair[1]
		// An impulse at a time that both rates have, here 0 and 0.5 s: the greatest
		// sample is there, and the response is symmetric about it.
		for _, at := range []float64{0, 0.5} {
			if at*float64(from) != math.Trunc(at*float64(from)) {
				continue
			}
			in := make([]float32, from)
			in[int(at*float64(from))] = 1
			got := resampled(from, to, in, 512)
			peak := int(at * float64(to))
			for i, v := range got {
				if !(v <= got[peak]) { // require takes its time, for each sample
					require.LessOrEqual(t, v, got[peak], "%v: sample %d", pair, i)
				}
			}
			for d := 1; d <= min(peak, len(got)-1-peak); d++ {
				if !(math.Abs(float64(got[peak-d])-float64(got[peak+d])) <= 1e-6) {
					require.InDelta(t, got[peak-d], got[peak+d], 1e-6, "%v: %d samples from the peak", pair, d)
				}
			}
		}
	}
}

func TestResampleShort(t *testing.T) {
	for _, pair := range pairs {
		for _, n := range []int{0, 1, 2, 3, 10, 40} {
			in := make([]float32, n)
			for i := range in {
				in[i] = 1
			}
			require.Len(t, resampled(pair[0], pair[1], in, 3), (n*pair[1]+pair[0]-1)/pair[0], "%v, %d samples", pair, n)
		}
	}
}

func TestResampleTables(t *testing.T) {
	for _, pair := range append(pairs, [2]int{767_999, 1000}, [2]int{768_000, 1001}, [2]int{100, 768_000}, [2]int{101, 767_999}) {
		for _, s := range newResampler(pair[0], pair[1]).stages {
			if p, ok := s.(*polyphase); ok {
				assert.LessOrEqual(t, len(p.table), maxTable+p.taps, "%v", pair)
			}
		}
	}
}

// resampled resamples in blocks.
func resampled(from, to int, in []float32, block int) []float32 {
	r := newResampler(from, to)
	var out []float32
	for len(in) > 0 {
		n := min(block, len(in))
		out = r.process(out, in[:n])
		in = in[n:]
	}
	return r.flush(out)
}

// tone is a sine that is long enough to have a middle that no end reaches, at both rates.
func tone(from, to int, f float64) []float32 { return sine(from, f, max(1500*from/to, 600)) }

func sine(rate int, f float64, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		_, turns := math.Modf(f * float64(i) / float64(rate))
		s[i] = float32(math.Sin(2*math.Pi*turns + 1))
	}
	return s
}

// middle leaves out a quarter at each end.
func middle(s []float32) []float32 { return s[len(s)/4 : len(s)-len(s)/4] }

func subtract(a, b []float32) []float32 {
	d := make([]float32, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

func power(s []float32) (sum float64) {
	for _, v := range s {
		sum += float64(v) * float64(v)
	}
	return sum / float64(len(s))
}

// decibel is the level relative to a sine of amplitude 1.
func decibel(s []float32) float64 { return 10 * math.Log10(power(s)/0.5+1e-30) }

// withoutTone takes a tone of known frequency, in cycles per sample, out of s: the least
// squares fit.
func withoutTone(s []float32, f float64) []float32 {
	var cc, cs, ss, xc, xs float64
	for i, v := range s {
		sin, cos := math.Sincos(2 * math.Pi * f * float64(i))
		cc, cs, ss, xc, xs = cc+cos*cos, cs+cos*sin, ss+sin*sin, xc+float64(v)*cos, xs+float64(v)*sin
	}
	det := cc*ss - cs*cs
	a, b := (xc*ss-xs*cs)/det, (xs*cc-xc*cs)/det
	rest := make([]float32, len(s))
	for i, v := range s {
		sin, cos := math.Sincos(2 * math.Pi * f * float64(i))
		rest[i] = float32(float64(v) - a*cos - b*sin)
	}
	return rest
}
