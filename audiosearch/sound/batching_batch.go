package sound

import (
	"context"
	"slices"
	"time"
)

// batch is clips of several calls. Its fields are guarded by batching.mu until it is
// started. Then pieces does not change any more.
type batch struct {
	pieces         []*piece
	clips, samples int
	waiting        int         // calls that have not left
	timer          *time.Timer // starts it
	cancel         context.CancelFunc
}

// piece is the clips of one call in a batch.
type piece struct {
	clips   [][]float32 // copies
	memory  *[]float32  // where they are
	samples int
	left    bool         // its call has ended; guarded by batching.mu
	told    chan verdict // one at most
}

// verdict tells a call what becomes of its piece.
type verdict struct {
	rows   []Scores
	err    error
	alone  bool          // it is to score its clips itself
	report chan<- answer // with alone: who wants to know what the answer was; or nil
}

// join scores clips together with those of others.
func (b *batching) join(
	ctx context.Context, clips [][]float32, samples, most int,
) ([]Scores, error) {
	p := b.copied(clips, samples)
	b.mu.Lock()
	g := b.gathering
	if g != nil && (g.clips+len(clips) > most || g.samples+samples > maxSamples) {
		b.start(g)
		g = nil
	}
	if g == nil {
		g = new(batch)
		g.timer = time.AfterFunc(b.wait, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.start(g)
		})
		b.gathering = g
	}
	g.pieces = append(g.pieces, p)
	g.clips, g.samples, g.waiting = g.clips+len(clips), g.samples+samples, g.waiting+1
	if g.clips >= most {
		b.start(g)
	}
	b.mu.Unlock()

	select {
	case v := <-p.told:
		if v.alone {
			return b.alone(ctx, clips, v.report)
		}
		return v.rows, v.err
	case <-ctx.Done():
		b.leave(g, p)
		return nil, ctx.Err()
	}
}

// copied returns a piece with copies of clips: their owner may leave before they are
// scored.
func (b *batching) copied(clips [][]float32, samples int) *piece {
	memory, _ := b.memory.Get().(*[]float32)
	if memory == nil || cap(*memory) < samples {
		fresh := make([]float32, 0, samples)
		memory = &fresh
	}
	p := &piece{
		clips: make([][]float32, len(clips)), memory: memory, samples: samples,
		told: make(chan verdict, 1),
	}
	all := (*memory)[:0]
	for i, clip := range clips {
		from := len(all)
		all = append(all, clip...)
		p.clips[i] = all[from:len(all):len(all)]
	}
	return p
}

// free lets others use the memory of a piece that nobody reads any more.
func (b *batching) free(p *piece) {
	b.memory.Put(p.memory)
	p.clips, p.memory = nil, nil
}

// start has a batch scored, if that was not begun before. The caller has locked mu.
func (b *batching) start(g *batch) {
	if b.gathering != g {
		return
	}
	b.gathering = nil
	g.timer.Stop()
	if len(g.pieces) == 1 {
		p := g.pieces[0]
		b.free(p)
		p.told <- verdict{alone: true}
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	go b.run(ctx, g)
}

// leave ends the waiting of a call whose context has ended.
func (b *batching) leave(g *batch, p *piece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.left = true
	g.waiting--
	switch {
	case b.gathering == g:
		g.pieces = slices.DeleteFunc(g.pieces, func(other *piece) bool { return other == p })
		g.clips, g.samples = g.clips-len(p.clips), g.samples-p.samples
		b.free(p)
		if g.waiting == 0 {
			g.timer.Stop()
			b.gathering = nil
		}
	case g.waiting == 0 && g.cancel != nil:
		g.cancel()
	}
	select {
	case v := <-p.told:
		if v.report != nil {
			v.report <- answer{kind: answerLeft}
		}
	default:
	}
}

// tell gives a call its verdict, and reports whether it still waits.
func (b *batching) tell(p *piece, v verdict) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.left {
		return false
	}
	p.told <- v
	return true
}

// run scores a batch that several calls have joined, and tells each what came of it.
func (b *batching) run(ctx context.Context, g *batch) {
	defer g.cancel()
	rows, said := b.together(ctx, g)
	for _, p := range g.pieces {
		n := len(p.clips)
		b.free(p)
		switch said.kind {
		case answerScores:
			b.tell(p, verdict{rows: rows[:n:n]})
			rows = rows[n:]
		case answerOwn:
			b.tell(p, verdict{alone: true})
		case answerLater:
			b.tell(p, verdict{err: said.err})
		}
	}
	if said.kind == answerAway {
		b.probe(g.pieces)
	}
}

// together calls the scorer. What it panics with must not end the program, nor reach
// those who are not to blame: with their own clips, each call will see for itself.
func (b *batching) together(ctx context.Context, g *batch) (rows []Scores, said answer) {
	clips := make([][]float32, 0, g.clips)
	for _, p := range g.pieces {
		clips = append(clips, p.clips...)
	}
	said = answer{kind: answerOwn}
	ended := make(chan struct{})
	go func() { // one of its own, because the scorer may end it by runtime.Goexit
		defer close(ended)
		defer func() { _ = recover() }()
		got, err := b.scorer.Score(ctx, clips)
		if err == nil {
			err = rightRows(got, len(clips))
		}
		rows, said = got, answerOf(err)
	}()
	<-ended
	return rows, said
}

// probe finds out after an error whether it is the fault of one call: they score again
// alone, one after another, until one is answered. Then the others do so at once. When
// the scorer is taken to be away, the others get its latest error.
func (b *batching) probe(pieces []*piece) {
	const most = 2
	report := make(chan answer, 1)
	others := verdict{alone: true}
	for failed := 0; len(pieces) > 0 && failed < most; {
		p := pieces[0]
		pieces = pieces[1:]
		if !b.tell(p, verdict{alone: true, report: report}) {
			continue
		}
		switch said := <-report; said.kind {
		case answerLeft:
		case answerAway:
			failed++
			others = verdict{err: said.err}
		case answerLater:
			failed, others = most, verdict{err: said.err}
		default:
			failed, others = most, verdict{alone: true}
		}
	}
	for _, p := range pieces {
		b.tell(p, others)
	}
}
