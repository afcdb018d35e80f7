package audiosearch_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestSpans: the last segment ends where the sound does.
func TestSpans(t *testing.T) {
	s := audiosearch.Scoring{Duration: 25500 * time.Millisecond, Window: 10 * time.Second, Hop: 2 * time.Second, Windows: 9}
	start, end := s.Span(0)
	assert.Equal(t, []time.Duration{0, 10 * time.Second}, []time.Duration{start, end})
	start, end = s.Span(8)
	assert.Equal(t, []time.Duration{16 * time.Second, 25500 * time.Millisecond}, []time.Duration{start, end})
	short := audiosearch.Scoring{Duration: time.Millisecond, Window: 10 * time.Second, Hop: 2 * time.Second, Windows: 1}
	start, end = short.Span(0)
	assert.Equal(t, []time.Duration{0, time.Millisecond}, []time.Duration{start, end})
}

// TestSpansAreWhole: also of hops that are not.
func TestSpansAreWhole(t *testing.T) {
	s := audiosearch.Scoring{Duration: 63 * time.Millisecond, Window: 10062500, Hop: 5062500, Windows: 12}
	start, end := s.Span(1)
	assert.Equal(t, []time.Duration{5 * time.Millisecond, 15 * time.Millisecond}, []time.Duration{start, end})
	start, end = s.Span(13)
	assert.Equal(t, []time.Duration{66 * time.Millisecond, 66 * time.Millisecond}, []time.Duration{start, end}, "never before its start")
}

// fine is volume over 16 kHz.
type fine struct{ volume }

func (f *fine) Model(ctx context.Context) (sound.Model, error) {
	m, err := f.volume.Model(ctx)
	m.SampleRate = 16_000
	return m, err
}

// TestShortestSound: it has a length, and is heard.
func TestShortestSound(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Scorers = []sound.Scorer{new(fine)}
		o.Media = &fakeMedia{pcm: func(yield func([]float32, error) bool) { yield([]float32{1}, nil) }}
	})
	r.video("a", 1, nil, nil)
	results := r.search(audiosearch.Query{Class: loud}).Results
	require.Len(t, results, 1)
	assert.Less(t, results[0].Start, results[0].End)
}

// TestNearestKeyframe: the one nearest to the start, the earlier of two.
func TestNearestKeyframe(t *testing.T) {
	r := newRig(t, nil)
	r.video("scored", 2000, nil, nil)
	r.ingest() // which makes the model the current one
	require.NoError(t, r.DeleteVideo(t.Context(), org, "", "d", "scored"))
	at := map[time.Duration]time.Duration{ // milliseconds
		0: 1000, 1: 1000, 1999: 1000, 2000: 1000, 2001: 3000, 3400: 3000, 3600: 4000, 4500: 4000,
	}
	found := func(keyframes ...time.Duration) []audiosearch.Result {
		r.video("v", 1, nil, nil)
		column := make([]uint16, 4501)
		for start := range at {
			column[start] = 65535
		}
		scoring := audiosearch.Scoring{
			Model: "volume/1", Media: r.media.ID(), Duration: time.Minute, Window: time.Second, Hop: time.Millisecond,
			Windows: len(column), HasVideo: len(keyframes) > 0, Keyframes: keyframes, Classes: []sound.Class{loud},
		}
		store := r.db.AudioSearch().Store
		require.NoError(t, store.PutScoring(t.Context(), org, "d", "v", "v", scoring, [][]uint16{column}))
		results := r.search(audiosearch.Query{Class: loud, MinScore: 0.5}).Results
		require.Len(t, results, len(at))
		return results
	}
	for _, result := range found(time.Second, 3*time.Second, 4*time.Second) {
		assert.Equal(t, at[result.Start/time.Millisecond]*time.Millisecond, result.Keyframe.At, result.Start)
	}
	for _, result := range found() {
		if result.Start == 2001*time.Millisecond {
			assert.Equal(t, audiosearch.Keyframe{ImageID: "v@2001", At: result.Start}, result.Keyframe)
		}
		assert.Equal(t, result.Start, result.Keyframe.At)
	}
}
