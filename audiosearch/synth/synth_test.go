package synth_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/synth"
)

// TestSounds: a scorer hears what each sound is called, and nothing else.
func TestSounds(t *testing.T) {
	scorer, err := signal.New(nil)
	require.NoError(t, err)
	model, err := scorer.Model(t.Context())
	require.NoError(t, err)
	for _, test := range []struct {
		signal synth.Signal
		class  sound.Class // "": none
	}{
		{synth.Tones(0), "Silence"},
		{synth.Tones(0.3, 1000), "Sine wave"},
		{synth.Tones(0.2, 350, 440), "Dial tone"},
		{synth.Sweep(0.3, 200, 4000, 10), "Chirp tone"},
		{synth.Sweep(0.3, 4000, 200, 10), "Chirp tone"},
		{synth.Sweep(0.3, 1000, 1000, 10), "Sine wave"},
		{synth.White(0.1), "White noise"},
		{synth.Pink(0.1), "Pink noise"},
		{synth.Brown(0.05), ""},
		{synth.Gated(0.5, 0.5, synth.Tones(0.2, 480, 620)), "Busy signal"},
		{synth.Keys(0.2, "0123456789ABCD*#"), "Telephone dialing, DTMF"},
	} {
		scores, err := scorer.Score(t.Context(), [][]float32{synth.Samples(model.SampleRate, 7, test.signal.For(model.Window.Seconds()))})
		require.NoError(t, err)
		for i, class := range model.Classes {
			if heard := scores[0][i] > 0.8; heard != (class == test.class) {
				t.Errorf("%s scores %v where %q is", class, scores[0][i], test.class)
			}
		}
	}
}

// TestSamples: parts follow each other, and the seed alone makes a difference.
func TestSamples(t *testing.T) {
	made := func(seed uint64) []float32 {
		return synth.Samples(8000, seed, synth.Tones(0).For(0.5), synth.White(0.1).For(0.25))
	}
	require.Len(t, made(1), 6000)
	require.Equal(t, made(1), made(1))
	require.NotEqual(t, made(1), made(2))
	silent := slices.IndexFunc(made(1), func(x float32) bool { return x != 0 })
	require.Equal(t, 4000, silent)
	require.InDeltaSlice(t, []float32{0, 0.5, 0, -0.5}, synth.Samples(4, 1, synth.Tones(0.5, 1).For(1)), 1e-6)
}

func TestKeysPanics(t *testing.T) {
	for _, keys := range []string{"", "12x"} {
		require.Panics(t, func() { synth.Keys(0.2, keys) }, keys)
	}
}
