//go:build cgo

package onnx

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// tinyAST is the transformer with small layers and random weights, see testdata/README.md.
func tinyAST(t testing.TB) []byte {
	t.Helper()
	model, err := os.ReadFile("testdata/ast_tiny_random.onnx")
	require.NoError(t, err)
	return model
}

// signal returns one of the golden signals of package astfeatures.
func signal(t testing.TB, name string) []float32 {
	t.Helper()
	whole := 0
	if name == "dialtone_10s24" { // is the beginning of another one
		name, whole = "dialtone_12s", 10*astfeatures.SampleRate+astfeatures.SampleRate*24/100
	}
	raw, err := os.ReadFile(filepath.Join("..", "astfeatures", "testdata", name+".s16le"))
	require.NoError(t, err)
	samples := make([]float32, len(raw)/2)
	for i := range samples {
		samples[i] = float32(int16(binary.LittleEndian.Uint16(raw[2*i:]))) / 32768
	}
	if whole > 0 {
		samples = samples[:whole]
	}
	return samples
}

// heard returns what is heard in the first window of a WAV file with a signal.
func heard(t testing.TB, samples []float32, window int) []float32 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "signal.wav")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, wav.Encode(f, astfeatures.SampleRate, samples))
	require.NoError(t, f.Close())
	media := wav.Media{}
	var clip []float32
	for block, err := range media.PCM(t.Context(), path, astfeatures.SampleRate) {
		require.NoError(t, err)
		clip = append(clip, block...)
	}
	require.Len(t, clip, len(samples))
	return clip[:min(len(clip), window)]
}

// The logits of the small transformer are those of the reference (torchaudio's features, in
// PyTorch), from a file on. A second reference, ONNX Runtime on the same features, differs
// from it by 1.7e-6.
func TestGoldenLogits(t *testing.T) {
	text, err := os.ReadFile("testdata/ast_tiny_random.logits.json")
	require.NoError(t, err)
	var golden map[string][]float64
	require.NoError(t, json.Unmarshal(text, &golden))
	require.Len(t, golden, 9)
	s := open(t, tinyAST(t), nil)
	worst := 0.0
	for name, want := range golden {
		require.Len(t, want, 527)
		clip := heard(t, signal(t, name), astfeatures.WindowSamples)
		features := make([]float32, astfeatures.Frames*astfeatures.Bins)
		astfeatures.Extract(features, clip)
		logits := make([]float32, len(want))
		require.NoError(t, s.runner.Run(t.Context(), 1, features, logits))
		scores := score(t, s, clip)[0]
		off := 0.0
		for c, logit := range logits {
			off = max(off, math.Abs(float64(logit)-want[c]))
			require.InDelta(t, 1/(1+math.Exp(-float64(logit))), float64(scores[c]), 1e-6, "%s: the score of class %d is the sigmoid", name, c)
		}
		t.Logf("%-16s off by at most %.1e", name, off)
		require.Less(t, off, 1e-3, name)
		worst = max(worst, off)
	}
	t.Logf("all nine: %.1e", worst)
}
