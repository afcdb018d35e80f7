package audiosearch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestModelComesAndGoes: a model comes before the scorer of a dataset, and is taken away
// again. Each class is found all the time, and what is found is of the files that are
// there.
func TestModelComesAndGoes(t *testing.T) {
	model := newFlat("model", "1", "Dog", "Rain", "Dial tone")
	signal := newFlat("signal", "1", "Dial tone")
	r := newScorerRig(t, signal)
	r.video("a", 4000, nil, nil)
	ingest := func(s *audiosearch.Service, scored int) {
		t.Helper()
		in, err := s.Ingest(t.Context(), org, "", "d")
		require.NoError(t, err)
		require.Empty(t, in.Problems)
		require.Equal(t, scored, in.Scored)
	}
	finds := func(s *audiosearch.Service, class sound.Class, segments, leftOut int, score float64) {
		t.Helper()
		found := r.find(s, audiosearch.Query{Class: class})
		require.Len(t, found.Results, segments)
		require.Equal(t, leftOut, found.LeftOut)
		require.InDelta(t, score, found.Results[0].Score, 1e-4)
	}
	top := func(s *audiosearch.Service, video string) map[sound.Class]float64 {
		t.Helper()
		heard, err := s.Top(t.Context(), org, "d", video, 0, time.Hour, 10)
		require.NoError(t, err)
		scores := make(map[sound.Class]float64)
		for _, h := range heard {
			scores[h.Class] = h.Score
		}
		return scores
	}
	ingest(r.Service, 1)
	finds(r.Service, "Dial tone", 2, 0, 1)

	with := r.another(nil, model, signal)
	r.video("a", 8000, nil, nil)
	r.video("b", 4000, nil, nil)
	ingest(with, 2)
	finds(with, "Dial tone", 6, 0, 0.25)
	finds(with, "Dog", 6, 0, 1)
	require.InDelta(t, 0.25, top(with, "a")["Dial tone"], 1e-4)
	require.EqualValues(t, 2, signal.clips.Load(), "no search would read its scores")

	r.video("c", 4000, nil, nil)
	ingest(r.Service, 3)
	finds(r.Service, "Dial tone", 8, 0, 1)
	finds(r.Service, "Dog", 6, 1, 1)
	require.Equal(t, map[sound.Class]float64{"Dial tone": 1}, top(r.Service, "c"))
	require.Len(t, top(r.Service, "b"), 3)
	require.Equal(t, map[string]bool{"model/1": true, "signal/1": true}, r.models())
}
