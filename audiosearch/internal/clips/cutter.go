// Package clips carries the sound of a file from its decoder to the scorer: samples wait
// in a [Queue], a [Cutter] makes clips of them, and a [Collector] keeps the scores that the
// scorer gives these.
package clips

import (
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Cutter cuts a stream of samples into the windows of a model, a batch at a time. It
// holds the samples of one batch. A clip is the samples of one window.
type Cutter struct {
	Window, Hop int   // of the model, in samples
	Total       int64 // samples seen, skipped ones included
	Taken       int   // windows, skipped ones included

	buffer   []float32 // samples from the start of the first window that is not taken yet
	dropping int64     // samples that are still to be skipped
}

// NewCutter returns a Cutter for a model.
func NewCutter(m *sound.Model) *Cutter {
	g := &Cutter{Window: m.Samples(m.Window), Hop: m.Samples(m.Hop)}
	g.buffer = make([]float32, 0, (m.Batch-1)*g.Hop+g.Window)
	return g
}

// Add takes samples until there is a batch, and returns the others.
func (g *Cutter) Add(samples []float32) (rest []float32) {
	if n := min(g.dropping, int64(len(samples))); n > 0 {
		g.dropping -= n
		g.Total += n
		samples = samples[n:]
	}
	n := min(len(samples), cap(g.buffer)-len(g.buffer))
	g.buffer = append(g.buffer, samples[:n]...)
	g.Total += int64(n)
	return samples[n:]
}

// Full reports whether there is a batch.
func (g *Cutter) Full() bool { return len(g.buffer) == cap(g.buffer) }

// Clips returns the whole windows that there are. They are of the Cutter, until Take.
func (g *Cutter) Clips() [][]float32 {
	var clips [][]float32
	for start := 0; start+g.Window <= len(g.buffer); start += g.Hop {
		clips = append(clips, g.buffer[start:start+g.Window:start+g.Window])
	}
	return clips
}

// Take forgets the first windows.
func (g *Cutter) Take(windows int) {
	g.Taken += windows
	g.buffer = g.buffer[:copy(g.buffer, g.buffer[min(windows*g.Hop, len(g.buffer)):])]
}

// Last returns the last window, when all samples have come and all whole windows were
// taken. It ends where the sound ends, and may be shorter. It is nil if there is none.
func (g *Cutter) Last() []float32 {
	// The samples up to the end of the window before are in the buffer too, unless it is
	// the first one.
	covered := 0
	if g.Taken > 0 {
		covered = g.Window - g.Hop
	}
	if len(g.buffer) <= covered {
		return nil
	}
	return g.buffer
}

// Skip drops the samples before window to, and counts the windows before it as taken.
func (g *Cutter) Skip(to int) {
	if to <= g.Taken {
		return
	}
	samples := int64(to-g.Taken) * int64(g.Hop)
	n := min(samples, int64(len(g.buffer)))
	g.buffer = g.buffer[:copy(g.buffer, g.buffer[n:])]
	g.dropping += samples - n
	g.Taken = to
}

// Skipping reports whether samples are still to be dropped.
func (g *Cutter) Skipping() bool { return g.dropping > 0 }
