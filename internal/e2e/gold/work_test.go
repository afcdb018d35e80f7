package gold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/trigger"
)

// gate holds work up while a script looks at what is under way.
type gate struct {
	shut    atomic.Bool
	entered chan struct{}
	leave   chan struct{}
}

func (g *gate) pass() {
	if g.shut.CompareAndSwap(true, false) {
		g.entered <- struct{}{}
		<-g.leave
	}
}

// scorer finds how loud a window is, in steps that every machine computes alike.
type scorer struct{ gate *gate }

func (*scorer) Model(context.Context) (sound.Model, error) {
	return sound.Model{
		ID: "gold/1", Family: "gold", SampleRate: 1000, Window: time.Second, Hop: time.Second,
		Classes: []sound.Class{"Silence", "Beep"},
	}, nil
}

func (s *scorer) Score(_ context.Context, clips [][]float32) ([]sound.Scores, error) {
	s.gate.pass()
	var all []sound.Scores
	for _, clip := range clips {
		var peak float32
		for _, x := range clip {
			peak = max(peak, x)
		}
		all = append(all, sound.Scores{1 - peak, peak})
	}
	return all, nil
}

func moderate(_ context.Context, _ string, results []audiosearch.Result) ([]float64, error) {
	scores := make([]float64, len(results))
	for i := range scores {
		scores[i] = 0.5
	}
	return scores, nil
}

// workers prepares work.
func (r *rig) workers() {
	triggers, err := trigger.NewWorker(r.trigger, r.process, &trigger.WorkerOptions{
		MaxAttempts: 2, Backoff: func(int) time.Duration { return 0 },
	})
	require.NoError(r.t, err)
	searches, err := audiosearch.NewWorker(r.audio, nil)
	require.NoError(r.t, err)
	r.work = func() {
		for _, step := range []func(context.Context) (bool, error){triggers.RunOnce, searches.RunOnce} {
			for {
				more, err := step(context.WithoutCancel(r.t.Context()))
				require.NoError(r.t, err)
				if !more {
					break
				}
			}
		}
		_, err := r.auth.RunOnce(r.t.Context())
		require.NoError(r.t, err)
	}
}

// process is the work on an event, which its instructions name.
func (r *rig) process(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
	r.gate.pass()
	switch what, text, _ := strings.Cut(e.Instructions, ": "); what {
	case "fail":
		return trigger.Outcome{}, trigger.Permanent(errors.New(text))
	case "retry":
		if e.Attempts < 2 {
			return trigger.Outcome{}, errors.New(text)
		}
	case "never":
		return trigger.Outcome{}, fmt.Errorf("attempt %d: %s", e.Attempts, text)
	case "data":
		return trigger.Outcome{Summary: "Changed 2 pages.", Data: []byte(text)}, nil
	case "panic":
		panic(text)
	}
	return trigger.Outcome{}, nil
}

// writeSounds makes the videos of the provisioning document: seconds of silence, and of
// beeps of some loudness.
func writeSounds(t *testing.T, dir string) {
	t.Helper()
	for name, peaks := range map[string][]float32{
		"door.wav": {0, 0.5, 0}, "phone.wav": {0.75, 0.25, 0.75, 0.5}, "night.wav": {0},
	} {
		var samples []float32
		for _, peak := range peaks {
			for range 500 {
				samples = append(samples, peak, -peak)
			}
		}
		require.NoError(t, wav.WriteFile(filepath.Join(dir, name), 1000, samples))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken.wav"), []byte("no sound"), 0o600))
}
