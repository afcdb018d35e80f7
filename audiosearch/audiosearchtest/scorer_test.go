package audiosearchtest_test

import (
	"context"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// meter is a Scorer that is right: how loud a clip is, and how often it crosses zero.
type meter struct{}

func (meter) Model(context.Context) (sound.Model, error) {
	return sound.Model{ID: "meter/1", Family: "meter", SampleRate: 1000, Window: 2 * time.Second, Hop: time.Second, Classes: []sound.Class{"loud", "high"}, Batch: 4}, nil
}

func (meter) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rows := make([]sound.Scores, len(clips))
	for i, clip := range clips {
		var power float64
		crossings := 0
		for j, x := range clip {
			v := float64(x)
			if math.IsNaN(v) || math.Abs(v) > 1 {
				v = 1
			}
			power += v * v
			if j > 0 && (x > 0) != (clip[j-1] > 0) {
				crossings++
			}
		}
		rows[i] = sound.Scores{float32(math.Sqrt(power / float64(len(clip)))), float32(crossings) / float32(len(clip))}
	}
	return rows, nil
}

func TestSoundsAreAScorer(t *testing.T) {
	audiosearchtest.RunScorer(t, func(*testing.T) sound.Scorer { return new(audiosearchtest.Sounds) })
}

// brokenScorer is a meter with a mistake.
type brokenScorer struct {
	meter
	model func(*sound.Model)
	score func(ctx context.Context, clips [][]float32) ([]sound.Scores, error)
}

func (s *brokenScorer) Model(ctx context.Context) (sound.Model, error) {
	m, err := s.meter.Model(ctx)
	if s.model != nil {
		s.model(&m)
	}
	return m, err
}

func (s *brokenScorer) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	if s.score != nil {
		return s.score(ctx, clips)
	}
	return s.meter.Score(ctx, clips)
}

// scorerMutant makes a broken scorer.
type scorerMutant struct {
	name   string
	breaks string // ids of rules
	make   func() *brokenScorer
}

// describing is a scorer whose model is wrong.
func describing(change func(*sound.Model)) func() *brokenScorer {
	return func() *brokenScorer { return &brokenScorer{model: change} }
}

// scoring is a scorer whose scores are wrong.
func scoring(score func(ctx context.Context, clips [][]float32) ([]sound.Scores, error)) func() *brokenScorer {
	return func() *brokenScorer { return &brokenScorer{score: score} }
}

// changing is a scorer whose every row is changed.
func changing(change func(clip []float32, row sound.Scores) sound.Scores) func() *brokenScorer {
	return scoring(func(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
		rows, err := meter{}.Score(ctx, clips)
		for i := range rows {
			rows[i] = change(clips[i], rows[i])
		}
		return rows, err
	})
}

var scorerMutants = []scorerMutant{
	{"has no name", "scorer/model-id", describing(func(m *sound.Model) { m.ID = "" })},
	{"has a hop over its window", "scorer/model-times", describing(func(m *sound.Model) { m.Hop = m.Window + 1 })},
	{"has no family", "scorer/model-family", describing(func(m *sound.Model) { m.Family = "" })},
	{"has a family that is no text", "scorer/model-family", describing(func(m *sound.Model) { m.Family = "\xff" })},
	{"predicts a class twice", "scorer/model-classes", describing(func(m *sound.Model) { m.Classes[1] = m.Classes[0] })},
	{"predicts what has no name", "scorer/model-classes", describing(func(m *sound.Model) { m.Classes[1] = "" })},
	{"predicts too much", "scorer/model-classes", describing(func(m *sound.Model) {
		for i := range sound.MaxClasses {
			m.Classes = append(m.Classes, sound.Class(strconv.Itoa(i)))
		}
	})},
	{"has more classes than scores", "scorer/one-for-each-clip", describing(func(m *sound.Model) { m.Classes = append(m.Classes, "deep") })},
	{"returns logits", "scorer/one-for-each-clip scorer/short-clips", changing(func(_ []float32, row sound.Scores) sound.Scores {
		row[0] = float32(math.Log(float64(row[0])))
		return row
	})},
	{"scores a clip by those before it", "scorer/in-order scorer/clips-are-the-callers", func() *brokenScorer {
		var before atomic.Int64
		return changing(func(_ []float32, row sound.Scores) sound.Scores {
			row[0] = row[0]/2 + float32(before.Add(1)%7)/100
			return row
		})()
	}},
	{"normalizes over the batch", "scorer/in-order scorer/concurrent", scoring(func(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
		rows, err := meter{}.Score(ctx, clips)
		var most float32
		for _, row := range rows {
			most = max(most, row[0])
		}
		for _, row := range rows {
			row[0] /= max(most, 0.001)
		}
		return rows, err
	})},
	{"scales its input in place", "scorer/clips-are-for-reading", changing(func(clip []float32, row sound.Scores) sound.Scores {
		for i := range clip {
			clip[i] /= 2
		}
		return row
	})},
	{"returns scores that are its own", "scorer/clips-are-the-callers", func() *brokenScorer {
		own := make([]sound.Scores, 100)
		for i := range own {
			own[i] = make(sound.Scores, 2)
		}
		return scoring(func(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
			rows, err := meter{}.Score(ctx, clips)
			for i := range rows {
				own[i][0], own[i][1] = rows[i][0], rows[i][1]
			}
			return own[:len(rows)], err
		})()
	}},
	{"takes two samples for granted", "scorer/short-clips", scoring(func(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
		for _, clip := range clips {
			if len(clip) < 2 {
				return nil, context.DeadlineExceeded
			}
		}
		return meter{}.Score(ctx, clips)
	})},
	{"passes on what is no number", "scorer/no-number", changing(func(clip []float32, row sound.Scores) sound.Scores {
		if clip[0] != clip[0] {
			row[1] = clip[0]
		}
		return row
	})},
	{"does not look at the context", "scorer/ended-context", scoring(func(_ context.Context, clips [][]float32) ([]sound.Scores, error) {
		return meter{}.Score(context.Background(), clips)
	})},
}

// TestScorerSuite proves the suite of scorers.
func TestScorerSuite(t *testing.T) {
	p := &conformance.Proof[func(*testing.T) sound.Scorer]{
		Run:      audiosearchtest.RunScorer,
		Faithful: func(*testing.T) sound.Scorer { return meter{} },
	}
	for _, m := range scorerMutants {
		p.Add(m.name, func(*testing.T) sound.Scorer { return m.make() }, strings.Fields(m.breaks)...)
	}
	conformance.Prove(t, p)
}
