package audiosearch

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestDigestBeats: a digest gets on by parts, ends with its context, and names no folder
// when it fails.
func TestDigestBeats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, 9<<20))
	beats := 0
	_, _, err := digestFile(t.Context(), path, func() { beats++ })
	require.NoError(t, err)
	assert.Equal(t, 3, beats)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = digestFile(ended, path, func() {})
	require.ErrorIs(t, err, context.Canceled)
	_, unread, err := digestFile(t.Context(), filepath.Dir(path), func() {})
	require.NoError(t, err)
	assert.Equal(t, unsearchable, unread.kind)
	assert.False(t, unread.lasting)
	assert.NotContains(t, unread.problem, filepath.Dir(path))
}

// TestFlightIsLeft: the last who leaves waits until the work has ended, and who comes
// meanwhile begins anew.
func TestFlightIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flights
		key := flightKey{video: "a"}
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan time.Time, 1)
		go func() {
			_, err := f.do(ctx, key, nil, new(gauge), func(ctx context.Context) (*outcome, error) {
				<-ctx.Done()
				time.Sleep(time.Second) // until it has let go
				return nil, ctx.Err()
			})
			assert.ErrorIs(t, err, context.Canceled)
			left <- time.Now()
		}()
		synctest.Wait()
		start := time.Now()
		leave()
		synctest.Wait()
		_, err := f.do(t.Context(), key, nil, new(gauge), nothingDone)
		require.NoError(t, err, "not the one that is being cut off")
		assert.Equal(t, start, time.Now())
		assert.Equal(t, start.Add(time.Second), <-left)
		assert.Empty(t, f.all)
	})
}

// TestFlightEndsItsGoroutine: nobody waits for ever, and the next one begins anew.
func TestFlightEndsItsGoroutine(t *testing.T) {
	var f flights
	ended := make(chan error, 1)
	go func() {
		_, err := f.do(t.Context(), flightKey{}, nil, new(gauge), func(context.Context) (*outcome, error) { exit(); return nil, nil })
		ended <- err
	}()
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("do hangs")
	}
	_, err := f.do(t.Context(), flightKey{}, nil, new(gauge), nothingDone)
	require.NoError(t, err)
}

func nothingDone(context.Context) (*outcome, error) { return &outcome{kind: unchanged}, nil }

// TestSpansAreWhole: also of hops that are not.
func TestSpansAreWhole(t *testing.T) {
	s := Scoring{Duration: 63 * time.Millisecond, Window: 10062500, Hop: 5062500, Windows: 12}
	start, end := s.Span(1)
	assert.Equal(t, []time.Duration{5 * time.Millisecond, 15 * time.Millisecond}, []time.Duration{start, end})
	start, end = s.Span(13)
	assert.Equal(t, []time.Duration{66 * time.Millisecond, 66 * time.Millisecond}, []time.Duration{start, end}, "never before its start")
}

// TestShortestSound: it has a length, and is heard.
func TestShortestSound(t *testing.T) {
	m := sound.Model{SampleRate: 16_000, Window: time.Second, Hop: time.Second}
	in := &ingestion{model: m}
	g := newSegmenter(&sound.Model{SampleRate: 16_000, Window: time.Second, Hop: time.Second, Batch: 1})
	g.add(make([]float32, 1))
	require.Len(t, g.last(), 1)
	g.take(1)
	scoring := in.describe(g)
	start, end := scoring.Span(0)
	assert.Less(t, start, end)
}

func exit() { runtime.Goexit() }
