//go:build cgo && unix

package e2e

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestModelFlagsRefused: what is no model, no library or no choice ends the server with a
// sentence, and makes nothing.
func TestModelFlagsRefused(t *testing.T) {
	t.Parallel()
	env := withONNXRuntime(t)
	p := buildServer(t)
	files := t.TempDir()
	path := func(name string) string { return filepath.Join(files, name) }
	model, text, large, pipe := path("model.onnx"), path("text.so"), path("large.onnx"), path("pipe.onnx")
	modelFile(t, model, false)
	require.NoError(t, os.WriteFile(text, []byte("no library\n"), 0o600))
	require.NoError(t, os.WriteFile(large, nil, 0o600))
	require.NoError(t, os.Truncate(large, 3<<30))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for name, c := range map[string]struct {
		args, say []string
	}{
		"two models":           {[]string{"-model", model, "-oip", "http://127.0.0.1/v2/models/m"}, []string{"-model and -oip", "choose one"}},
		"no library":           {[]string{"-model", model, "-onnxruntime", path("none.so")}, []string{"none.so cannot be used", "npm pack"}},
		"text as library":      {[]string{"-model", model, "-onnxruntime", text}, []string{"is no library of this system", "npm pack"}},
		"folder as library":    {[]string{"-model", model, "-onnxruntime", files}, []string{"is a folder"}},
		"pipe as library":      {[]string{"-model", model, "-onnxruntime", pipe}, []string{"is no file"}},
		"no model":             {[]string{"-model", path("none.onnx")}, []string{"there is no such file"}},
		"folder":               {[]string{"-model", files}, []string{"no plain file"}},
		"three gigabytes":      {[]string{"-model", large}, []string{"3221225472 bytes"}},
		"zeros without end":    {[]string{"-model", "/dev/zero"}, []string{"no plain file"}},
		"pipe":                 {[]string{"-model", pipe}, []string{"no plain file"}},
		"library as model":     {[]string{"-model", os.Args[0]}, []string{"no ONNX file"}},
		"plain http":           {[]string{"-model", "http://127.0.0.1/m.onnx?token=" + secretToken}, []string{"an https URL"}},
		"password":             {[]string{"-model", "https://ada:" + secretToken + "@127.0.0.1/m.onnx"}, []string{"user or a password"}},
		"other fragment":       {[]string{"-model", "https://127.0.0.1/m.onnx#md5=" + secretToken}, []string{"sha256="}},
		"inference, no URL":    {[]string{"-oip", "ftp://127.0.0.1/?token=" + secretToken}, []string{"-oip"}},
		"description, no JSON": {[]string{"-model", described(t, path("described.onnx"), "{")}, []string{"JSON"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			said := p.refusalIn(t, dir, 2, env, c.args...)
			for _, say := range c.say {
				assert.Contains(t, said, say)
			}
			assert.NotContains(t, said, secretToken)
			assert.NoFileExists(t, filepath.Join(dir, "mortise-data", "mortise.db"))
		})
	}
}

// described writes a model and the description beside it.
func described(t *testing.T, path, description string) string {
	t.Helper()
	modelFile(t, path, false)
	require.NoError(t, os.WriteFile(path+".json", []byte(description), 0o600))
	return path
}

// floatWAV is a file of 32-bit floats.
func floatWAV(rate uint32, channels uint16, samples ...float32) []byte {
	var b bytes.Buffer
	size := uint32(4 * len(samples))
	b.WriteString("RIFF")
	for _, v := range []any{36 + size, []byte("WAVEfmt "), uint32(16), uint16(3), channels, rate, rate * 4 * uint32(channels), 4 * channels,
		uint16(32), []byte("data"), size, samples} {
		_ = binary.Write(&b, binary.LittleEndian, v) // to memory
	}
	return b.Bytes()
}

// TestModelHearsAnything: sounds of samples that are none, of lengths and rates that nobody
// has, are scored or reported, and the others are searched.
func TestModelHearsAnything(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	env := withONNXRuntime(t)
	p := buildServer(t)
	m := newMedia(t)
	m.wav("a.wav", dialTone(12))
	model := filepath.Join(t.TempDir(), "model.onnx")
	modelFile(t, model, false)
	fill := func(n int, v ...float32) (all []float32) {
		for len(all) < n {
			all = append(all, v...)
		}
		return all
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	videos := []clip{{"a", "a.wav", nil}}
	for name, content := range map[string][]byte{
		"huge":         floatWAV(16000, 1, fill(160000, 1e38, -1e38)...),
		"denormal":     floatWAV(16000, 1, fill(160000, 1e-44, -1e-40)...),
		"nan":          floatWAV(16000, 1, fill(160000, nan)...),
		"inf":          floatWAV(16000, 1, fill(160000, inf, -inf, nan, 0.5)...),
		"one":          floatWAV(16000, 1, 0.5),
		"one-huge":     floatWAV(8000, 1, math.MaxFloat32),
		"none":         floatWAV(16000, 1),
		"eight":        floatWAV(48000, 8, fill(8*48000, 0.1, 1e38, nan, -0.2, 0, inf, 0.3, -inf)...),
		"hertz":        floatWAV(1, 1, fill(30, 0.5, -0.5)...),
		"fast":         floatWAV(4_000_000_000, 1, fill(1000, 0.5, -0.5)...),
		"no-rate":      floatWAV(0, 1, fill(1000, 0.5)...),
		"no-channels":  floatWAV(16000, 0, fill(1000, 0.5)...),
		"all-channels": floatWAV(16000, 65535, fill(65535, 0.5)...),
	} {
		m.write(name+".wav", content)
		videos = append(videos, clip{name, name + ".wav", nil})
	}
	s := p.start(t, env, "-config", m.document(videos...), "-model", model).guardMedia(m)
	run := s.search(viewerToken, "Dog", object{"limit": 1000})
	ended := s.awaitRun(viewerToken, run)
	require.Contains(t, []string{"SUCCESS", "PARTIAL_SUCCESS"}, *ended.Termination)
	found := map[string]int{}
	for _, r := range s.results(viewerToken, run) {
		found[r.Video.ID]++
		assert.True(t, r.Score >= 0 && r.Score <= 1, "%s: %v", r.Video.ID, r.Score)
	}
	t.Logf("found %v; %v", found, ended.Message)
	for _, id := range []string{"a", "huge", "denormal", "nan", "inf", "one", "one-huge", "eight"} {
		assert.Positive(t, found[id], id)
	}
	s.awaitIngestion()
}
