package audiosearch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// askingScorer asks another service of ours, whose answer fails once.
type askingScorer struct {
	*volume
	calls int
}

func (s *askingScorer) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	if s.calls++; s.calls == 1 {
		return nil, fmt.Errorf("settings service: %w", &mortise.ValidationError{Problems: []mortise.Problem{
			{Path: mortise.Path{{Field: "internal_page"}}, Message: "must be between 1 and 1000"},
		}})
	}
	return s.volume.Score(ctx, clips)
}

// TestScorerWithAnotherServicesProblem: a problem of a Scorer's own request does not end the
// run.
func TestScorerWithAnotherServicesProblem(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Scorers = []sound.Scorer{&askingScorer{volume: new(volume)}}
	})
	r.video("v", 5000, map[int]byte{1500: 100}, nil)
	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, audiosearch.Success, run.Termination)
}
