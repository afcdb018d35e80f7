package audiosearchtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// RunScorer tries every rule of [sound.Scorer] on a scorer, as a subtest named by the
// rule's id, like [Run]. open returns one, which may be the same each time.
func RunScorer(t *testing.T, open func(*testing.T) sound.Scorer) {
	t.Helper()
	scorerSuite(open).Run(t)
}

// ScorerRules returns every rule of [RunScorer].
func ScorerRules() []Rule { return conformance.RulesOf[Rule](scorerSuite(nil)) }

func scorerSuite(open func(*testing.T) sound.Scorer) *conformance.Suite[*scorerSubject] {
	s := &conformance.Suite[*scorerSubject]{Name: "audiosearchtest", Open: func(t *testing.T) *scorerSubject {
		scorer := open(t)
		model, err := scorer.Model(t.Context())
		require.NoError(t, err, "Model")
		return &scorerSubject{scorer, model}
	}}
	for _, r := range scorerRules {
		s.Add(r.ID, r.Text, 0, r.check)
	}
	return s
}

type scorerRule struct {
	Rule
	check func(t *testing.T, s *scorerSubject)
}

type scorerSubject struct {
	scorer sound.Scorer
	model  sound.Model
}

// samples returns how many samples a duration has.
func (s *scorerSubject) samples(d time.Duration) int {
	return max(1, int(math.Round(d.Seconds()*float64(s.model.SampleRate))))
}

// clips returns sounds of one window each: silence, tones, noise, clicks and a sweep.
func (s *scorerSubject) clips() [][]float32 {
	n, rate := s.samples(s.model.Window), float64(s.model.SampleRate)
	random := rand.New(rand.NewPCG(1, 2))
	sounds := []func(i int) float64{
		func(int) float64 { return 0 },
		func(i int) float64 { return 0.5 * math.Sin(2*math.Pi*440*float64(i)/rate) },
		func(i int) float64 {
			return 0.25 * (math.Sin(2*math.Pi*350*float64(i)/rate) + math.Sin(2*math.Pi*440*float64(i)/rate))
		},
		func(int) float64 { return random.Float64() - 0.5 },
		func(i int) float64 { return float64(1-min(1, i%int(max(1, rate)))) * 0.9 },
		func(i int) float64 { return 0.3 * math.Sin(2*math.Pi*(200+10*float64(i)/rate)*float64(i)/rate) },
		func(int) float64 { return 1 },
	}
	clips := make([][]float32, len(sounds))
	for c, sound := range sounds {
		clips[c] = make([]float32, n)
		for i := range clips[c] {
			clips[c][i] = float32(sound(i))
		}
	}
	return clips
}

// score scores clips, in batches that are no larger than the model likes, and requires
// that the answer is well formed.
func (s *scorerSubject) score(t *testing.T, clips ...[]float32) []sound.Scores {
	t.Helper()
	var all []sound.Scores
	batch := s.model.Batch
	if batch <= 0 {
		batch = 8
	}
	for part := range slices.Chunk(clips, batch) {
		scores, err := s.scorer.Score(t.Context(), part)
		require.NoError(t, err)
		require.Len(t, scores, len(part), "one Scores for each clip")
		for i, row := range scores {
			require.Len(t, row, len(s.model.Classes), "one value for each class, of clip %d", i)
			for c, v := range row {
				require.True(t, v >= 0 && v <= 1, "clip %d is %v for %s", i, v, s.model.Classes[c])
			}
		}
		all = append(all, scores...)
	}
	return all
}

// alike requires that two answers are the same but for what rounding makes of another
// order of additions.
func alike(t *testing.T, want, got []sound.Scores, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i := range want {
		require.Len(t, got[i], len(want[i]), what)
		for c := range want[i] {
			require.InDelta(t, want[i][c], got[i][c], 1e-4, "%s: clip %d, class number %d", what, i, c)
		}
	}
}

// isName requires what a name is: valid UTF-8 of 1 to 255 bytes, without U+0000.
func isName(t *testing.T, s string) {
	t.Helper()
	require.True(t, sound.Class(s).Valid(), "%q is no name", s)
}
