package wav

// resampler changes the sampling rate of a stream: sample n of the result is what is
// heard at the time n/to. What the lower of the two rates cannot hold is removed: nothing
// is left of it above half that rate, and 0.9 times that is passed unchanged.
//
// The steep filter that this needs is the same for all pairs of rates, because it always
// stands at twice the lower rate. A [polyphase] stage goes between there and the higher
// rate; it has room to be short, for the steep filter cleans up what it leaves.
type resampler struct {
	from, to int
	stages   []stage
	between  []float32 // what the first of two stages gave last
	in, out  int64     // samples so far
}

// stage is a part of a resampler. What it gives does not depend on how its input is cut
// into blocks.
type stage interface {
	process(dst, src []float32) []float32
}

func newResampler(from, to int) *resampler {
	r := &resampler{from: from, to: to}
	switch {
	case from == to:
	case from == 2*to || to == 2*from:
		steep := newBrickwall(to > from)
		steep.pending = make([]float32, steep.marginIn)
		r.stages = []stage{steep}
	case from > to:
		steep, short := newBrickwall(false), newPolyphase(from, 2*to, to)
		short.start(0, steep.marginIn)
		r.stages = []stage{short, steep}
	case from < to:
		steep, short := newBrickwall(true), newPolyphase(2*from, to, from)
		lead := short.taps // more than it looks back
		steep.pending = make([]float32, steep.marginIn+lead)
		short.start(2*lead, 0)
		r.stages = []stage{steep, short}
	}
	return r
}

// process appends to dst what is certain after src. The last samples come with flush.
func (r *resampler) process(dst, src []float32) []float32 {
	r.in += int64(len(src))
	return r.pass(dst, src)
}

// flush appends the rest to dst: there are as many samples as begin before the end of the
// last one that came in, n*to/from rounded up.
func (r *resampler) flush(dst []float32) []float32 {
	want := (r.in*int64(r.to) + int64(r.from) - 1) / int64(r.from)
	silence := make([]float32, blockSamples)
	for r.out < want {
		dst = r.pass(dst, silence)
	}
	dst = dst[:len(dst)-int(r.out-want)]
	r.out = want
	return dst
}

func (r *resampler) pass(dst, src []float32) []float32 {
	had := len(dst)
	switch len(r.stages) {
	case 0:
		dst = append(dst, src...)
	case 1:
		dst = r.stages[0].process(dst, src)
	default:
		r.between = r.stages[0].process(r.between[:0], src)
		dst = r.stages[1].process(dst, r.between)
	}
	r.out += int64(len(dst) - had)
	return dst
}
