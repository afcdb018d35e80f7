package astfeatures_test

import (
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/internal/fft"
)

// BenchmarkExtract measures how many times faster than the sound itself its features are
// computed on one core, and what that takes over the bare transforms: as many power spectra
// of 512 samples, and nothing else, in turns with it.
func BenchmarkExtract(b *testing.B) {
	samples := signal(b, filled)
	features := make([]float32, astfeatures.Frames*astfeatures.Bins)
	ones := make([]float64, 512)
	for i := range ones {
		ones[i] = 1
	}
	transform := fft.NewReal(ones)
	power, work := make([]float64, transform.Bins()), make([]fft.Complex[float64], transform.Size()/2)
	var all, bare, fastest, fastestBare time.Duration
	rounds := 0
	for b.Loop() {
		start := time.Now()
		astfeatures.Extract(features, samples)
		between := time.Now()
		for range 1022 {
			transform.Power(power, ones, work, 1)
		}
		end := time.Now()
		took, tookBare := between.Sub(start), end.Sub(between)
		all, bare = all+took, bare+tookBare
		if rounds == 0 || took < fastest {
			fastest = took
		}
		if rounds == 0 || tookBare < fastestBare {
			fastestBare = tookBare
		}
		rounds++
	}
	perWindow := all.Seconds() / float64(rounds)
	b.ReportMetric(astfeatures.Window.Seconds()/perWindow, "x-realtime")
	b.ReportMetric(500, "limit-x-realtime")
	b.ReportMetric(all.Seconds()/bare.Seconds(), "x-bare-fft")
	b.ReportMetric(fastest.Seconds()/fastestBare.Seconds(), "x-bare-fft-undisturbed")
	b.ReportMetric(perWindow*1000, "ms/window")
	b.ReportMetric(0, "ns/op")
}
