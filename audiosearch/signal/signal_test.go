package signal

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

func newScorer(tb testing.TB) *Scorer {
	tb.Helper()
	s, err := New(nil)
	require.NoError(tb, err)
	return s
}

// scoresOf scores one clip. One that is longer than the window is cut.
func scoresOf(tb testing.TB, s *Scorer, x []float32) map[sound.Class]float32 {
	tb.Helper()
	scores, err := s.Score(context.Background(), [][]float32{x[:min(len(x), windowSize)]})
	require.NoError(tb, err)
	require.Len(tb, scores, 1)
	require.Len(tb, scores[0], len(detectors))
	of := map[sound.Class]float32{}
	for i, d := range detectors {
		require.True(tb, scores[0][i] >= 0 && scores[0][i] <= 1, "%v scores %v", d.class, scores[0][i])
		of[d.class] = scores[0][i]
	}
	return of
}

// check compares the scores of a sound with what it is. Scores between 0.5 and 0.8 are
// wrong either way.
func check(t *testing.T, s *Scorer, e example, x []float32, others bool) {
	t.Helper()
	for class, score := range scoresOf(t, s, x) {
		switch {
		case slices.Contains(e.is, class):
			if score < 0.8 {
				t.Errorf("%s scores %.2f as %v, want 0.8 or more", e.name, score, class)
			}
		case slices.Contains(e.maybe, class) || !others:
		case score >= 0.5:
			t.Errorf("%s scores %.2f as %v, want less than 0.5", e.name, score, class)
		}
	}
}

func TestExamples(t *testing.T) {
	s := newScorer(t)
	for _, e := range examples() {
		check(t, s, e, e.sound, true)
	}
}

func TestExamplesInNoise(t *testing.T) {
	nightly.Only(t)
	s := newScorer(t)
	for i, e := range examples() {
		if e.tonal {
			e.maybe = append(slices.Clone(e.maybe), classWhiteNoise) // it is there
			check(t, s, e, noisy(e.sound, 20, uint64(i)), true)
		}
	}
}
