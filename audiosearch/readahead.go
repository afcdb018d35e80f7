package audiosearch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/watch"
)

// While the scorer has a batch, or the store a part, the file is decoded further, on a
// goroutine of its own. It decodes ahead by as many samples as a batch has, and by
// maxAhead at most; then it stands still until the scoring takes some of them. What is
// scored, and in which batches, does not depend on who is faster: how the decoding ended
// comes behind the samples before it.
//
// The one whom the scoring waits for is the one who may be blamed: the scorer or the
// store during a call of theirs, and the decoder while there are no samples. The time of
// each counts from where the waiting began. So a decoder that stands still meanwhile,
// because it is far enough ahead or for a reason of its own, has all of Options.Stall
// when the scorer is done; and what it decodes meanwhile gives the scorer no more time.

// maxAhead is how many samples are decoded ahead at most: 16 MiB of them.
const maxAhead = 4 << 20

// chunkSamples is how many samples are held together: few enough that decoder and scorer,
// if they are as fast as each other, pass a few of them back and forth in the caches.
const chunkSamples = 16 << 10

// ahead is the sound of a file on its way from the decoder to the scorer.
type ahead struct {
	most   int                // samples that it may hold
	cancel context.CancelFunc // tells the decoder to end
	done   chan struct{}      // closed when it has
	end    decoded            // once done is closed

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

// decoded is how the decoding ended. All nil: at the end of the sound, or before that
// because it was told to.
type decoded struct {
	said error    // by the Media
	bad  *outcome // what is wrong with what it gave
	lost error    // what became of it if it panicked, or ended its goroutine
}

func newAhead(m *sound.Model, cancel context.CancelFunc) *ahead {
	batch := m.Samples(m.Window) + (m.Batch-1)*m.Samples(m.Hop)
	return &ahead{
		most: min(batch, maxAhead), cancel: cancel, done: make(chan struct{}),
		more: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// decodeAhead begins to decode the file.
func (in *ingestion) decodeAhead(ctx context.Context, file string) *ahead {
	ctx, cancel := context.WithCancel(ctx)
	a := newAhead(&in.model, cancel)
	go func() {
		end := decoded{lost: watch.ErrGoexit}
		defer func() {
			if p := recover(); p != nil {
				end = decoded{lost: in.broke(ctx, mediaHook, p)}
			}
			a.end = end
			close(a.done)
		}()
		end = in.decode(ctx, file, a)
	}()
	return a
}

// decode gives what the file has to a, until ctx ends.
func (in *ingestion) decode(ctx context.Context, file string, a *ahead) decoded {
	s, total := in.service, int64(0)
	for block, err := range s.opts.Media.PCM(ctx, file, in.model.SampleRate) {
		if err != nil {
			return decoded{said: err}
		}
		if !areNumbers(block) {
			return decoded{bad: broken(errors.New("its sound has samples that are no numbers: make it again"))}
		}
		if !a.give(ctx, block) {
			break
		}
		total += int64(len(block))
		if lasting(&in.model, total) > s.opts.MaxDuration {
			return decoded{bad: in.tooLong()}
		}
	}
	return decoded{}
}

// stop ends the decoding, and waits for that. A decoder that goes on is blamed after
// Grace, unless ctx has ended already, for which somebody else is.
func (a *ahead) stop(ctx context.Context, in *ingestion, beat func(time.Duration)) {
	a.cancel()
	select {
	case <-a.done:
		return
	default:
	}
	if ctx.Err() == nil {
		opts := &in.service.opts
		stage := in.stage.Swap(reading)
		beat(min(opts.Grace, opts.Stall))
		defer func() {
			beat(opts.Stall)
			in.stage.Store(stage)
		}()
	}
	<-a.done
}

// give waits until all samples of a block have found room. It reports whether more are
// wanted.
func (a *ahead) give(ctx context.Context, block []float32) bool {
	for ctx.Err() == nil {
		if block = block[a.add(block):]; len(block) == 0 {
			return true
		}
		select {
		case <-a.room:
		case <-ctx.Done():
		}
	}
	return false
}

// add copies as many samples as there is room for, and returns how many these are.
func (a *ahead) add(block []float32) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := min(len(block), a.most-a.held)
	if n == 0 {
		return 0
	}
	for rest := block[:n]; len(rest) > 0; {
		c := a.last()
		copied := copy(c.samples[c.to:], rest)
		c.to += copied
		rest = rest[copied:]
	}
	a.held += n
	a.put += int64(n)
	if n == len(block) {
		if len(a.ends) == maxEnds {
			a.ends = a.ends[:maxEnds-1]
		}
		a.ends = append(a.ends, a.put)
	}
	wake(a.more)
	return n
}

// last returns a chunk with room for the next samples.
func (a *ahead) last() *chunk {
	if n := len(a.chunks); n > 0 && a.chunks[n-1].to < chunkSamples {
		return a.chunks[n-1]
	}
	var c *chunk
	if n := len(a.free); n > 0 {
		c, a.free = a.free[n-1], a.free[:n-1]
	} else {
		c = new(chunk)
	}
	c.from, c.to = 0, 0
	a.chunks = append(a.chunks, c)
	return c
}

// next waits for samples, and moves some of them to g, which is not full. whole is true
// when they are the last ones of a block. more is false when there are no more samples,
// and the decoder has ended.
func (a *ahead) next(g *segmenter) (whole, more bool) {
	for {
		if whole, more = a.take(g); more {
			return whole, more
		}
		select {
		case <-a.more:
		case <-a.done:
			return a.take(g)
		}
	}
}

// take is next if there are samples.
func (a *ahead) take(g *segmenter) (whole, some bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.chunks) == 0 {
		return false, false
	}
	c := a.chunks[0]
	samples := c.samples[c.from:c.to]
	if len(a.ends) > 0 {
		samples = samples[:min(len(samples), int(a.ends[0]-a.taken))]
	}
	n := len(samples) - len(g.add(samples))
	a.held -= n
	a.taken += int64(n)
	if len(a.ends) > 0 && a.taken == a.ends[0] {
		a.ends, whole = slices.Delete(a.ends, 0, 1), true
	}
	if c.from += n; c.from == c.to {
		a.chunks = slices.Delete(a.chunks, 0, 1)
		a.free = append(a.free, c)
	}
	wake(a.room)
	return whole, true
}

// wake leaves a token, unless there is one.
func wake(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}
