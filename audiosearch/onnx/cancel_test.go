//go:build cgo

package onnx

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// endless is a model that never ends on a loud clip.
func endless() graph {
	g := waveform(anyLength)
	g.weights = append(g.weights, floats("half", []float32{0.5}), longs("most", []int64{math.MaxInt64}))
	body := graph{
		nodes: []message{
			node("Identity", []string{"before"}, []string{"after"}),
			node("Identity", []string{"going"}, []string{"on"}),
		},
		inputs:  []message{tensorInfo("turn", int64s), tensorInfo("going", bools), tensorInfo("before", float32s, anyLength, waveClasses)},
		outputs: []message{tensorInfo("on", bools), tensorInfo("after", float32s, anyLength, waveClasses)},
	}
	g.nodes = append(loud(), append(g.nodes[:1:1],
		node("Sigmoid", []string{"sums"}, []string{"s"}),
		node("Loop", []string{"most", "over", "s"}, []string{"scores"}, graphAttribute("body", body.encode())))...)
	return g
}

// When the context ends, so does a run that is under way.
func TestCancelWithinARun(t *testing.T) {
	s := open(t, endless().model(), &Options{Description: []byte(described), Parallel: 1})
	want := score(t, s, tone(100))
	clip := tone(200)
	clip[17] = 0.9
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := s.Score(ctx, [][]float32{clip})
			failed <- err
		}()
		for len(s.runner.slots) == 0 { // until it runs
		}
		waiting, stop := context.WithCancel(t.Context())
		waits := make(chan error)
		go func() {
			_, err := s.Score(waiting, [][]float32{tone(100)})
			waits <- err
		}()
		stop()
		require.ErrorIs(t, <-waits, context.Canceled, "who waits for a run may leave")
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		require.Equal(t, want, score(t, s, tone(100)), "the next run is not ended")
	}
}
