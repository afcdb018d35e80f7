package columnar

import (
	"math"
	"slices"
)

// candidates are the windows that may come to stand on the page or, if they must be
// counted, before it: a heap when there are as many as are wanted, the worst on top.
type candidates struct {
	hits   []Hit
	wanted int // how many are kept

	rejected     uint32
	haveRejected bool // the windows of the video rejected come after the worst, if their score is the same
}

// begin makes ready to keep so many.
func (b *candidates) begin(offset, limit int) {
	b.wanted = math.MaxInt
	if limit <= math.MaxInt-offset {
		b.wanted = offset + limit
	}
	b.hits = make([]Hit, 0, min(b.wanted, 64))
}

// holds returns how many windows must be found before the floor rises.
func (r *Ranking) holds() int {
	if r.phase != collecting {
		return math.MaxInt // it does not
	}
	return r.best.wanted
}

// collect adds a window whose score is not below the floor. It reports false as take
// does.
func (r *Ranking) collect(h Hit) bool {
	b := &r.best
	if len(b.hits) < b.wanted {
		if b.hits = append(b.hits, h); len(b.hits) == b.wanted {
			r.heapify()
			r.floor = b.hits[0].Score
		}
		return true
	}
	if worst := b.hits[0]; h.Score == worst.Score {
		if b.haveRejected && h.Row == b.rejected {
			return false
		}
		if r.order(h, worst) > 0 {
			// The worst only gets better, so the other windows of this video need not be
			// compared.
			b.rejected, b.haveRejected = h.Row, h.Row != worst.Row
			return false
		}
	}
	r.sink(0, h)
	if score := b.hits[0].Score; score > r.floor {
		r.floor, b.haveRejected = score, false
	}
	return true
}

// heapify makes a heap of the candidates when there are as many as are wanted (Floyd,
// "Algorithm 245: Treesort 3", 1964).
func (r *Ranking) heapify() {
	hits := r.best.hits
	for i := len(hits)/2 - 1; i >= 0; i-- {
		r.sink(i, hits[i])
	}
}

// sink puts another one in the place of one of the heap, or below.
func (r *Ranking) sink(i int, h Hit) {
	hits := r.best.hits
	for {
		worst := 2*i + 1
		if worst >= len(hits) {
			break
		}
		w := &hits[worst]
		if worst+1 < len(hits) {
			if other := &hits[worst+1]; other.Score < w.Score || other.Score == w.Score && r.order(*other, *w) > 0 {
				worst, w = worst+1, other
			}
		}
		if h.Score < w.Score || h.Score == w.Score && r.order(h, *w) > 0 {
			break
		}
		hits[i] = *w
		i = worst
	}
	hits[i] = h
}

// sort puts the candidates in order. It asks for the order of videos only where scores
// are equal.
func (r *Ranking) sort() {
	var fewKeys [64]uint64
	var fewHits [64]Hit
	hits := r.best.hits
	keys, unsorted := fewKeys[:0], append(fewHits[:0], hits...)
	for i := range hits {
		keys = append(keys, uint64(math.MaxUint16-hits[i].Score)<<48|uint64(i))
	}
	slices.Sort(keys)
	for i, key := range keys {
		hits[i] = unsorted[key&(1<<48-1)]
	}
	for from := 0; from < len(hits); {
		to := from + 1
		for to < len(hits) && hits[to].Score == hits[from].Score {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(hits[from:to], r.order)
		}
		from = to
	}
}
