package clips

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// maxAhead is how many samples are decoded ahead at most: 16 MiB of them.
const maxAhead = 4 << 20

// chunkSamples is how many samples are held together: few enough that decoder and scorer,
// if they are as fast as each other, pass a few of them back and forth in the caches.
const chunkSamples = 16 << 10

// Queue is the sound of a file on its way from the decoder to the scorer.
type Queue struct {
	most int // samples that it may hold

	more, room chan struct{} // a token each: for who waits for samples, and for who waits for room

	mu     sync.Mutex
	held   int      // samples
	chunks []*chunk // which hold them, oldest first
	free   []*chunk
	put    int64   // samples, in all
	taken  int64   // samples, in all
	ends   []int64 // of the blocks, as counted in put; oldest first
}

// maxEnds is how many ends of blocks are known at a time. Those of blocks of a few
// samples each are not all known then.
const maxEnds = 1024

type chunk struct {
	from, to int
	samples  [chunkSamples]float32
}

// NewQueue returns a Queue that holds as many samples as a batch of the model has, and
// maxAhead at most.
func NewQueue(m *sound.Model) *Queue {
	batch := m.Samples(m.Window) + (m.Batch-1)*m.Samples(m.Hop)
	return &Queue{most: min(batch, maxAhead), more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// Give waits until all samples of a block have found room. It returns false if ctx ended
// before that.
func (q *Queue) Give(ctx context.Context, block []float32) bool {
	for ctx.Err() == nil {
		if block = block[q.add(block):]; len(block) == 0 {
			return true
		}
		select {
		case <-q.room:
		case <-ctx.Done():
		}
	}
	return false
}

// add copies as many samples as there is room for, and returns how many these are.
func (q *Queue) add(block []float32) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(block), q.most-q.held)
	if n == 0 {
		return 0
	}
	for rest := block[:n]; len(rest) > 0; {
		c := q.last()
		copied := copy(c.samples[c.to:], rest)
		c.to += copied
		rest = rest[copied:]
	}
	q.held += n
	q.put += int64(n)
	if n == len(block) {
		if len(q.ends) == maxEnds {
			q.ends = q.ends[:maxEnds-1]
		}
		q.ends = append(q.ends, q.put)
	}
	wake(q.more)
	return n
}

// last returns a chunk with room for the next samples.
func (q *Queue) last() *chunk {
	if n := len(q.chunks); n > 0 && q.chunks[n-1].to < chunkSamples {
		return q.chunks[n-1]
	}
	var c *chunk
	if n := len(q.free); n > 0 {
		c, q.free = q.free[n-1], q.free[:n-1]
	} else {
		c = new(chunk)
	}
	c.from, c.to = 0, 0
	q.chunks = append(q.chunks, c)
	return c
}

// Next waits for samples, and moves some of them to g, which is not full. whole is true
// when they are the last ones of a block. more is false when there are no more samples,
// and the decoder has ended, which closes ended.
func (q *Queue) Next(ended <-chan struct{}, g *Cutter) (whole, more bool) {
	for {
		if whole, more = q.take(g); more {
			return whole, more
		}
		select {
		case <-q.more:
		case <-ended:
			return q.take(g)
		}
	}
}

// take is Next if there are samples.
func (q *Queue) take(g *Cutter) (whole, some bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.chunks) == 0 {
		return false, false
	}
	c := q.chunks[0]
	samples := c.samples[c.from:c.to]
	if len(q.ends) > 0 {
		samples = samples[:min(len(samples), int(q.ends[0]-q.taken))]
	}
	n := len(samples) - len(g.Add(samples))
	q.held -= n
	q.taken += int64(n)
	if len(q.ends) > 0 && q.taken == q.ends[0] {
		q.ends, whole = slices.Delete(q.ends, 0, 1), true
	}
	if c.from += n; c.from == c.to {
		q.chunks = slices.Delete(q.chunks, 0, 1)
		q.free = append(q.free, c)
	}
	wake(q.room)
	return whole, true
}

// wake leaves a token, unless there is one.
func wake(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}
