//go:build cgo

package onnx

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// missing skips a test that cannot run on this machine. In CI that is a failure.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// needLibrary skips a test on a machine without ONNX Runtime. CI must have it.
func needLibrary(t testing.TB) Library {
	t.Helper()
	l, err := Find("")
	if err != nil {
		if os.Getenv(Environment) != "" { // somebody meant to have it
			t.Fatal(err)
		}
		missing(t, err.Error())
	}
	return l
}

// reference returns a file of the folder that MORTISE_REFERENCE_DATA names, which has what
// may not be in this repository, so that CI does not have it either.
func reference(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("MORTISE_REFERENCE_DATA")
	if dir == "" {
		t.Skip("MORTISE_REFERENCE_DATA is not set: " + name + " is not there")
	}
	return dir + "/" + name
}

// open makes a scorer that is closed after the test.
func open(t testing.TB, model []byte, opts *Options) *Scorer {
	t.Helper()
	needLibrary(t)
	s, err := New(model, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// refused returns the error of a model that is refused: a sentence.
func refused(t testing.TB, model []byte, opts *Options) string {
	t.Helper()
	needLibrary(t)
	s, err := New(model, opts)
	if err == nil {
		_ = s.Close()
	}
	require.Error(t, err)
	sentence(t, err)
	return err.Error()
}

// sentence requires that an error is one: short, in one line, by this package.
func sentence(t testing.TB, err error) {
	t.Helper()
	text := err.Error()
	require.True(t, strings.HasPrefix(text, "onnx: "), "%s", text)
	require.NotContains(t, text, "\n")
	require.Less(t, len(text), 1200, "%s", text)
}

// tone is a clip of a random model: a tone below 0.5.
func tone(hertz float64) []float32 {
	clip := make([]float32, waveSamples)
	for i := range clip {
		clip[i] = float32(0.4 * math.Sin(2*math.Pi*hertz*float64(i)/8000))
	}
	return clip
}

// score scores clips.
func score(t testing.TB, s sound.Scorer, clips ...[]float32) []sound.Scores {
	t.Helper()
	scores, err := s.Score(t.Context(), clips)
	require.NoError(t, err)
	require.Len(t, scores, len(clips))
	return scores
}
