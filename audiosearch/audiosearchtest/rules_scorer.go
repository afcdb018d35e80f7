package audiosearchtest

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// scorerRules are the rules of a Scorer.
var scorerRules = []scorerRule{
	{Rule{"scorer/model-id", "A model's ID is a name: 1 to 255 bytes."}, func(t *testing.T, s *scorerSubject) {
		isName(t, s.model.ID)
	}},
	{Rule{"scorer/model-family", "A model's Family is a name: 1 to 255 bytes."}, func(t *testing.T, s *scorerSubject) {
		isName(t, s.model.Family)
	}},
	{Rule{"scorer/model-times", "A model has a sample rate, a window, and a hop that is at most the window."}, func(t *testing.T, s *scorerSubject) {
		require.Positive(t, s.model.SampleRate)
		require.Positive(t, s.model.Hop)
		require.LessOrEqual(t, s.model.Hop, s.model.Window)
		require.GreaterOrEqual(t, s.model.Batch, 0)
	}},
	{Rule{"scorer/model-classes", "A model predicts 1 to MaxClasses classes, each valid and there once; their order is its own."}, func(t *testing.T, s *scorerSubject) {
		require.NotEmpty(t, s.model.Classes)
		require.LessOrEqual(t, len(s.model.Classes), sound.MaxClasses)
		seen := make(map[sound.Class]bool, len(s.model.Classes))
		for _, c := range s.model.Classes {
			require.True(t, c.Valid(), "class %q", c)
			require.False(t, seen[c], "class %q is there twice", c)
			seen[c] = true
		}
	}},
	{Rule{"scorer/one-for-each-clip", "Score returns one Scores for each clip, with one value in [0,1] for each class."}, func(t *testing.T, s *scorerSubject) {
		clips := s.clips()
		for n := 1; n <= len(clips); n++ {
			s.score(t, clips[:n]...)
		}
	}},
	{Rule{"scorer/in-order", "Scores are in the order of the clips, and a clip has the same scores whatever it is scored with."}, func(t *testing.T, s *scorerSubject) {
		clips := s.clips()
		want := s.score(t, clips...)
		for i, clip := range clips {
			alike(t, want[i:i+1], s.score(t, clip), "a clip by itself")
		}
		slices.Reverse(clips)
		got := s.score(t, clips...)
		slices.Reverse(got)
		alike(t, want, got, "clips the other way round")
	}},
	{Rule{"scorer/concurrent", "A scorer is safe for concurrent use: a clip has the same scores whatever is scored beside it."}, func(t *testing.T, s *scorerSubject) {
		clips := s.clips()
		want := s.score(t, clips...)
		got, errs := make([][]sound.Scores, 2*len(clips)), make([]error, 2*len(clips))
		conformance.Together(len(got), func(i int) { got[i], errs[i] = s.scorer.Score(t.Context(), clips[i%len(clips):][:1]) })
		conformance.NoErrors(t, errs)
		for i := range got {
			alike(t, want[i%len(clips):][:1], got[i], "clips at once")
		}
	}},
	{Rule{"scorer/clips-are-for-reading", "Clips are for reading only, and may overlap in memory."}, func(t *testing.T, s *scorerSubject) {
		window, hop := s.samples(s.model.Window), max(1, s.samples(s.model.Window)/4)
		sound := slices.Concat(s.clips()...)
		before := slices.Clone(sound)
		var overlapping, apart [][]float32
		for at := 0; at < 4*hop; at += hop {
			overlapping = append(overlapping, sound[at:at+window])
			apart = append(apart, slices.Clone(sound[at:at+window]))
		}
		got := s.score(t, overlapping...)
		require.True(t, slices.Equal(before, sound), "a clip was written to")
		alike(t, s.score(t, apart...), got, "clips that overlap")
	}},
	{Rule{"scorer/clips-are-the-callers", "Clips belong to the caller, who overwrites them after the call: scores keep nothing of them."}, func(t *testing.T, s *scorerSubject) {
		clips := s.clips()
		for i, clip := range clips {
			mine := slices.Clone(clip)
			got := s.score(t, mine)
			want := []sound.Scores{slices.Clone(got[0])}
			for j := range mine {
				mine[j] = 0.123
			}
			s.score(t, clips[(i+3)%len(clips)])
			alike(t, want, got, "scores, once the clip was overwritten and another was scored")
			alike(t, want, s.score(t, clip), "the same clip, once more")
		}
	}},
	{Rule{"scorer/short-clips", "A clip may be shorter than the window, and has one sample at least."}, func(t *testing.T, s *scorerSubject) {
		window := s.samples(s.model.Window)
		for _, clip := range s.clips() {
			for _, n := range []int{1, 2, 3, 100, window / 10, window / 2, window - 1} {
				if n = min(n, window); n > 0 {
					s.score(t, clip[:n])
				}
			}
		}
		clips := s.clips()
		s.score(t, clips[1][:1], clips[1], clips[3][:max(1, window/3)])
	}},
	{Rule{"scorer/no-number", "Whatever samples there are, no number and infinity included, no value is outside [0,1]: they are scored, or there is an error."},
		func(t *testing.T, s *scorerSubject) {
			inf := float32(math.Inf(1))
			for _, odd := range []float32{float32(math.NaN()), inf, -inf, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 1000} {
				for _, every := range []int{1, 7, 1 << 30} {
					clip := s.clips()[1]
					for i := 0; i < len(clip); i += every {
						clip[i] = odd
					}
					scores, err := s.scorer.Score(t.Context(), [][]float32{clip})
					if err != nil {
						continue
					}
					require.Len(t, scores, 1)
					for _, v := range scores[0] {
						require.True(t, v >= 0 && v <= 1, "%v in a clip made a score of %v", odd, v)
					}
				}
			}
			s.score(t, s.clips()...)
		}},
	{Rule{"scorer/ended-context", "A call of Score whose context has ended returns an error, and it is not one that no later attempt can mend."}, func(t *testing.T, s *scorerSubject) {
		_, err := s.scorer.Score(conformance.Ended(t), s.clips())
		require.Error(t, err)
		require.ErrorIs(t, err, context.Canceled)
		s.score(t, s.clips()...)
	}},
}
