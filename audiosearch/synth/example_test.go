package synth_test

import (
	"fmt"
	"math"

	"github.com/seed-6363c74e/mortise/audiosearch/synth"
)

// A second of silence, and the tone before somebody dials.
func ExampleSamples() {
	call := synth.Samples(8000, 1, synth.Tones(0).For(1), synth.Tones(0.2, 350, 440).For(2))
	loudest := 0.
	for _, x := range call {
		loudest = max(loudest, math.Abs(float64(x)))
	}
	fmt.Printf("%d samples, up to %.1f\n", len(call), loudest)
	// Output:
	// 24000 samples, up to 0.4
}
