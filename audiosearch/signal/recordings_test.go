package signal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// heardInRecordings are the scores of 0.5 or more that the recordings deserve, and why.
var heardInRecordings = map[string]map[sound.Class]string{
	"dog-bark-1":      {classSilence: "one bark of 0.3 s in 5 s of silence"},
	"person-sneeze-1": {classSilence: "silent from 2.5 s on, of 5 s"},
	"person-sneeze-2": {classSilence: "silent from 1.1 s on, of 5 s"},
	"person-sneeze-3": {classSilence: "silent from 1.9 s on, of 5 s"},
	"rooster-1":       {classSilence: "silent from 2 s on, of 5 s"},
	"rooster-2":       {classSilence: "silent from 1.8 s on, of 5 s"},
	"rooster-3":       {classSilence: "silent from 1.9 s on, of 5 s"},
	"rain-2":          {classWhiteNoise: "rain with a spectrum that falls by about 1 dB per octave"},
	"rain-3":          {classPinkNoise: "rain with a spectrum that falls by about 3 dB per octave"},
}

// TestRecordings: recordings of dogs, rain, engines and so on are none of what this
// package looks for, but for the exceptions. The recordings are third parties', so they
// are not in the repository, but in a folder beside it.
func TestRecordings(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	const folder = "../../../shared/data/sounds"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the recordings are not there: the folder shared/data/sounds beside the repository")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.ogg"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	s := newScorer(t)
	recordings := map[string]bool{}
	nameOf := func(file string) string { return strings.TrimSuffix(filepath.Base(file), ".ogg") }
	for _, file := range files {
		recordings[nameOf(file)] = true
	}
	for _, file := range files {
		name := nameOf(file)
		for class, score := range scoresOf(t, s, decode(t, file)) {
			why, expected := heardInRecordings[name][class]
			switch {
			case score >= 0.5 && !expected:
				t.Errorf("%s scores %.2f as %v, want less than 0.5", name, score, class)
			case score < 0.5 && expected:
				t.Errorf("%s scores %.2f as %v: take the exception away (%s)", name, score, class, why)
			}
		}
	}
	for name := range heardInRecordings {
		require.True(t, recordings[name], "there is no recording %s", name)
	}
}
