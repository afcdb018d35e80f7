package signal

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// windows scores a sound as a service does: windows of 10 s, one each 2 s, and the last
// one as long as what is left.
func windows(t *testing.T, s *Scorer, x []float32, class sound.Class) (scores []float32) {
	t.Helper()
	for at := 0; at < len(x); at += int(hop/time.Second) * sampleRate {
		scores = append(scores, scoresOf(t, s, x[at:min(at+windowSize, len(x))])[class])
		if at+windowSize >= len(x) {
			break
		}
	}
	return scores
}

// A dial tone between 30 and 42 s of a long file is found there, and nowhere else.
func TestDialToneIsFound(t *testing.T) {
	s := newScorer(t)
	noises := map[string]func() []float32{
		"white noise": func() []float32 { return white(60, 0.02, 1) },
		"pink noise":  func() []float32 { return sloped(60, 0.02, -3.01, 2) },
		"speech": func() []float32 {
			speech := spoken(10, 120, 0.1, 3)
			return join(speech, speech, speech, quiet(12), speech, speech)
		},
		"silence": func() []float32 { return quiet(60) },
	}
	for _, name := range slices.Sorted(maps.Keys(noises)) {
		scores := windows(t, s, mix(noises[name](), join(quiet(30), pair(12, 350, 440, 0.1))), classDialTone)
		best := 0
		for i, score := range scores {
			if score > scores[best] {
				best = i
			}
			begin := 2 * i
			switch inside := min(begin+10, 42) - max(begin, 30); {
			case inside >= 2:
				require.GreaterOrEqual(t, score, float32(0.8), "%s: from %d s on", name, begin)
			case inside <= 0:
				require.Less(t, score, float32(0.1), "%s: from %d s on", name, begin)
			}
		}
		require.Contains(t, []int{15, 16}, best, name) // those that are within the tone
	}
}

// More of a sound ranks higher, where it is equally clear.
func TestMoreRanksHigher(t *testing.T) {
	s := newScorer(t)
	for class, sound := range map[sound.Class][]float32{
		classDialTone: pair(10, 350, 440, 0.2), classSine: note(10, 1000, 0.2, 0), classBusy: onOff(10, 0, 0.25, 0.25, tone(425)),
		classHum: humming(10, 50, 0.2, 1, 1, 1, 1), classChirp: rising(10, 200, 4000, 0.2),
	} {
		before := float32(0)
		for seconds := 2; seconds <= 10; seconds += 2 {
			score := scoresOf(t, s, join(sound[:seconds*sampleRate], white(10-float64(seconds), 0.002, 1)))[class]
			require.Greater(t, score, before, "%d s of %v", seconds, class)
			before = score
		}
		require.GreaterOrEqual(t, before, float32(0.95), "%v", class)
	}
}

// The last window of a video may be short: it is judged by what is there.
func TestShortClips(t *testing.T) {
	s := newScorer(t)
	for _, e := range examples() {
		if e.name == "dial tone" || e.name == "white noise" || e.name == "hum, 50 Hz" || e.name == "sine 1 kHz" {
			for _, seconds := range []float64{2.1, 2.7, 3.3, 5, 9.9} {
				check(t, s, e, e.sound[:int(seconds*sampleRate)], true)
			}
		}
	}
}
