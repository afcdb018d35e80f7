package signal

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// The classes are AudioSet's, in its order.
func TestModel(t *testing.T) {
	m, err := newScorer(t).Model(t.Context())
	require.NoError(t, err)
	require.Equal(t, "signal/2", m.ID)
	require.Equal(t, "signal", m.Family)
	require.Equal(t, 16000, m.SampleRate)
	require.Equal(t, 10*time.Second, m.Window)
	require.Equal(t, 2*time.Second, m.Hop)
	require.Equal(t, []sound.Class{
		"Telephone dialing, DTMF", "Dial tone", "Busy signal", "Smoke detector, smoke alarm", "Silence",
		"Sine wave", "Chirp tone", "Pulse", "Mains hum", "White noise", "Pink noise",
	}, m.Classes)
	last := -1
	for _, class := range m.Classes {
		index, ok := audioset.Index(class)
		require.True(t, ok, class)
		require.Greater(t, index, last, class)
		last = index
	}

	m.Classes[0] = "0"
	again, err := newScorer(t).Model(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, m.Classes[0], again.Classes[0], "the caller's list is their own")
}

func TestOptions(t *testing.T) {
	_, err := New(&Options{Parallel: -1})
	require.ErrorContains(t, err, "Parallel")
	_, err = New(&Options{Parallel: 3})
	require.NoError(t, err)
}

func TestScoreRefuses(t *testing.T) {
	s := newScorer(t)
	_, err := s.Score(t.Context(), [][]float32{make([]float32, 5), make([]float32, windowSize+1)})
	require.ErrorContains(t, err, "clip 1 has 160001 samples")

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Score(cancelled, [][]float32{make([]float32, 5)})
	require.ErrorIs(t, err, context.Canceled)

	scores, err := s.Score(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, scores)
}

// The scores of a clip depend on its samples alone: not on what stands beside it, what
// was scored before, or who else calls.
func TestDeterministic(t *testing.T) {
	var clips [][]float32
	for i, e := range examples() {
		if i%48 == 0 {
			clips = append(clips, e.sound)
		}
	}
	clips = append(clips, nil, []float32{1}, make([]float32, 3000))
	var want []sound.Scores
	for _, clip := range clips {
		scores, err := newScorer(t).Score(t.Context(), [][]float32{clip}) // one that has seen nothing else
		require.NoError(t, err)
		want = append(want, scores[0])
	}
	s, err := New(&Options{Parallel: 3})
	require.NoError(t, err)
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for first := caller; first < len(clips); first += 3 {
				scores, err := s.Score(t.Context(), clips[first:])
				if err != nil || !slices.EqualFunc(scores, want[first:], slices.Equal[sound.Scores]) {
					t.Errorf("caller %d: other scores from clip %d on (%v)", caller, first, err)
				}
			}
		})
	}
	callers.Wait()
}

// The clips belong to the caller.
func TestScoreKeepsClips(t *testing.T) {
	clip := []float32{float32(math.Inf(1)), 20, -20}
	_, err := newScorer(t).Score(t.Context(), [][]float32{clip})
	require.NoError(t, err)
	require.Equal(t, []float32{float32(math.Inf(1)), 20, -20}, clip)
}
