package audiosearch

import (
	"context"
	"fmt"
)

// segmenter cuts a stream of samples into the windows of a model and has them scored, a batch at a time. It holds the samples of one batch, and
// 16 bits for each score.
type segmenter struct {
	model       Model
	window, hop int // samples
	score       func(ctx context.Context, clips [][]float32) error

	buffer []float32 // samples from the start of the first window that is not scored yet
	total  int64     // samples seen
	scored int       // windows
}

func newSegmenter(m Model, score func(ctx context.Context, clips [][]float32) error) *segmenter {
	g := &segmenter{model: m, window: m.samples(m.Window), hop: m.samples(m.Hop), score: score}
	g.buffer = make([]float32, 0, (m.Batch-1)*g.hop+g.window)
	return g
}

// add takes the next samples.
func (g *segmenter) add(ctx context.Context, samples []float32) error {
	g.total += int64(len(samples))
	for len(samples) > 0 {
		n := min(len(samples), cap(g.buffer)-len(g.buffer))
		g.buffer = append(g.buffer, samples[:n]...)
		samples = samples[n:]
		if len(g.buffer) == cap(g.buffer) {
			if err := g.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush scores the full windows of the buffer.
func (g *segmenter) flush(ctx context.Context) error {
	var clips [][]float32
	start := 0
	for ; start+g.window <= len(g.buffer); start += g.hop {
		clips = append(clips, g.buffer[start:start+g.window:start+g.window])
	}
	if len(clips) == 0 {
		return nil
	}
	if err := g.score(ctx, clips); err != nil {
		return err
	}
	g.scored += len(clips)
	g.buffer = g.buffer[:copy(g.buffer, g.buffer[start:])]
	return nil
}

// finish scores what is left. The last window ends where the sound ends, and may be shorter.
func (g *segmenter) finish(ctx context.Context) error {
	if err := g.flush(ctx); err != nil {
		return err
	}
	// The samples up to the end of the window before are in the buffer too, unless it is the first one.
	covered := 0
	if g.scored > 0 {
		covered = g.window - g.hop
	}
	if len(g.buffer) <= covered {
		return nil
	}
	if err := g.score(ctx, [][]float32{g.buffer}); err != nil {
		return err
	}
	g.scored++
	return nil
}

// collector keeps scores as columns.
type collector struct {
	classes int
	columns [][]uint16
}

func newCollector(classes int) *collector {
	return &collector{classes: classes, columns: make([][]uint16, classes)}
}

// add takes the scores of clips, after a look at whether the scorer kept its contract.
func (c *collector) add(rows []Scores, clips int) error {
	if len(rows) != clips {
		return Permanent(fmt.Errorf("the scorer returned %d rows of scores for %d clips", len(rows), clips))
	}
	for _, row := range rows {
		if len(row) != c.classes {
			return Permanent(fmt.Errorf("the scorer returned %d scores for %d classes", len(row), c.classes))
		}
		for i, score := range row {
			if !(score >= 0 && score <= 1) {
				return Permanent(fmt.Errorf("the scorer returned a score that is not in [0,1]: %v", score))
			}
			c.columns[i] = append(c.columns[i], Quantize(score))
		}
	}
	return nil
}
