package wav

import "math"

// attenuation is that of the stop bands of all filters, in dB. The sum of two stages is
// still below -90 dB.
const attenuation = 100.0

// kaiserBeta is the shape of the window for attenuation, and kaiserLength the length of a
// filter in samples whose transition is one cycle per sample wide; a narrower one is
// longer by as much. Both are Kaiser's formulas (Oppenheim and Schafer, Discrete-Time
// Signal Processing, 7.6).
const (
	kaiserBeta   = 0.1102 * (attenuation - 8.7)
	kaiserLength = (attenuation - 7.95) / (2.285 * 2 * math.Pi)
)

// kernel is a low-pass filter of continuous time: a sinc in a Kaiser window.
type kernel struct {
	cutoff float64 // the middle of the transition, in cycles per sample
	half   float64 // the kernel is 0 from there on, in samples
}

// at returns the kernel's value t samples from its middle. Its integral is 1.
func (k kernel) at(t float64) float64 {
	x := t / k.half
	if x <= -1 || x >= 1 {
		return 0
	}
	return 2 * k.cutoff * sinc(2*k.cutoff*t) * bessel0(kaiserBeta*math.Sqrt(1-x*x)) / bessel0(kaiserBeta)
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// bessel0 is the modified Bessel function of the first kind and order 0, by its power
// series.
func bessel0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-18*sum; k++ {
		term *= (x / (2 * k)) * (x / (2 * k))
		sum += term
	}
	return sum
}
