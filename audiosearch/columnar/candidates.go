package columnar

import (
	"math"
	"slices"
)

// candidates are the windows that may come to stand on the page or, if they must be counted, before it. Once they are too many, the best are
// kept, and what is worse than the worst of these is not taken any more. That costs less for each of them than a heap.
type candidates struct {
	hits   []Hit
	wanted int // that must be kept
	room   int // more than that are not kept
	worst  Hit // of those kept
	pruned bool

	rejected     uint32
	haveRejected bool // rejected is a video whose windows of the worst score come after worst
}

// begin makes ready to keep so many.
func (b *candidates) begin(offset, limit int) {
	b.wanted = math.MaxInt
	if limit <= math.MaxInt-offset {
		b.wanted = offset + limit
	}
	b.room = math.MaxInt
	if b.wanted < math.MaxInt/3 {
		b.room = 2*b.wanted + 64
	}
	b.hits = make([]Hit, 0, min(b.room, 256))
}

// collect adds a window whose score is not below the floor. It reports false as take does.
func (r *Ranking) collect(h Hit) bool {
	b := &r.best
	if b.pruned && h.Score == b.worst.Score {
		if b.haveRejected && h.Row == b.rejected {
			return false
		}
		if r.order(h, b.worst) > 0 {
			// The worst only gets better, so the other windows of this video need not be compared.
			b.rejected, b.haveRejected = h.Row, h.Row != b.worst.Row
			return false
		}
	}
	if b.hits = append(b.hits, h); len(b.hits) >= b.room {
		r.prune()
	}
	return true
}

// prune leaves the wanted ones of more candidates, and raises the floor to the worst of them.
func (r *Ranking) prune() {
	b := &r.best
	score, above := b.atRank(b.wanted)
	var ties []Hit
	kept := b.hits[:0]
	for _, h := range b.hits {
		switch {
		case h.Score > score:
			kept = append(kept, h)
		case h.Score == score:
			ties = append(ties, h)
		}
	}
	slices.SortFunc(ties, r.order)
	b.hits = append(kept, ties[:b.wanted-above]...)
	b.worst, b.pruned, b.haveRejected = b.hits[len(b.hits)-1], true, false
	r.floor = score
}

// atRank returns the score of the n-th best window, and how many have more. There are n at least.
func (b *candidates) atRank(n int) (score uint16, above int) {
	var high, low [256]uint32
	for i := range b.hits {
		high[b.hits[i].Score>>8]++
	}
	upper := len(high) - 1
	for ; above+int(high[upper]) < n; upper-- {
		above += int(high[upper])
	}
	for i := range b.hits {
		if score := b.hits[i].Score; int(score>>8) == upper {
			low[score&0xFF]++
		}
	}
	lower := len(low) - 1
	for ; above+int(low[lower]) < n; lower-- {
		above += int(low[lower])
	}
	return uint16(upper<<8 | lower), above
}
