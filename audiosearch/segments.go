package audiosearch

import (
	"fmt"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// segmenter cuts a stream of samples into the windows of a model, a batch at a time. It
// holds the samples of one batch.
type segmenter struct {
	window, hop int // samples

	buffer   []float32 // samples from the start of the first window that is not taken yet
	total    int64     // samples seen
	taken    int       // windows, skipped ones included
	dropping int64     // samples that are still to be skipped
}

func newSegmenter(m *sound.Model) *segmenter {
	g := &segmenter{window: m.Samples(m.Window), hop: m.Samples(m.Hop)}
	g.buffer = make([]float32, 0, (m.Batch-1)*g.hop+g.window)
	return g
}

// add takes samples until there is a batch, and returns the others.
func (g *segmenter) add(samples []float32) (rest []float32) {
	if n := min(g.dropping, int64(len(samples))); n > 0 {
		g.dropping -= n
		g.total += n
		samples = samples[n:]
	}
	n := min(len(samples), cap(g.buffer)-len(g.buffer))
	g.buffer = append(g.buffer, samples[:n]...)
	g.total += int64(n)
	return samples[n:]
}

// full reports whether there is a batch.
func (g *segmenter) full() bool { return len(g.buffer) == cap(g.buffer) }

// clips returns the whole windows that there are.
func (g *segmenter) clips() [][]float32 {
	var clips [][]float32
	for start := 0; start+g.window <= len(g.buffer); start += g.hop {
		clips = append(clips, g.buffer[start:start+g.window:start+g.window])
	}
	return clips
}

// take forgets the first windows.
func (g *segmenter) take(windows int) {
	g.taken += windows
	g.buffer = g.buffer[:copy(g.buffer, g.buffer[min(windows*g.hop, len(g.buffer)):])]
}

// last returns the last window when all samples have come and all whole windows were
// taken. It ends where the sound ends, and may be shorter; nil: there is none.
func (g *segmenter) last() []float32 {
	// The samples up to the end of the window before are in the buffer too, unless it is
	// the first one.
	covered := 0
	if g.taken > 0 {
		covered = g.window - g.hop
	}
	if len(g.buffer) <= covered {
		return nil
	}
	return g.buffer
}

// skip goes on with a window that is still to come.
func (g *segmenter) skip(to int) {
	if to <= g.taken {
		return
	}
	samples := int64(to-g.taken) * int64(g.hop)
	n := min(samples, int64(len(g.buffer)))
	g.buffer = g.buffer[:copy(g.buffer, g.buffer[n:])]
	g.dropping += samples - n
	g.taken = to
}

// collector keeps scores as columns, 16 bits for each.
type collector struct {
	classes int
	columns [][]uint16
}

func newCollector(classes int) *collector {
	return &collector{classes: classes, columns: make([][]uint16, classes)}
}

// windows returns how many windows it has scores of.
func (c *collector) windows() int {
	if c.classes == 0 {
		return 0
	}
	return len(c.columns[0])
}

// reset forgets the scores.
func (c *collector) reset() {
	for i := range c.columns {
		c.columns[i] = c.columns[i][:0]
	}
}

// add takes the scores of clips, after a look at whether the scorer kept its contract.
func (c *collector) add(rows []sound.Scores, clips int) error {
	if len(rows) != clips {
		return sound.Permanent(fmt.Errorf("the scorer returned %d rows of scores for %d clips", len(rows), clips))
	}
	for _, row := range rows {
		if len(row) != c.classes {
			return sound.Permanent(fmt.Errorf("the scorer returned %d scores for %d classes", len(row), c.classes))
		}
		for i, score := range row {
			if !(score >= 0 && score <= 1) {
				return sound.Permanent(fmt.Errorf("the scorer returned a score that is not in [0,1]: %v", score))
			}
			c.columns[i] = append(c.columns[i], quantize(score))
		}
	}
	return nil
}
