package columnar

import (
	"math"
	"slices"
)

// candidates are the windows that may come to stand on the page or, if they must be counted, before it: a heap, the worst on top.
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

// collect adds a window whose score is not below the floor. It reports false as take does.
func (r *Ranking) collect(h Hit) bool {
	b := &r.best
	if len(b.hits) < b.wanted {
		b.hits = append(b.hits, h)
		r.rise()
		if len(b.hits) == b.wanted {
			r.floor = b.hits[0].Score
		}
		return true
	}
	if worst := b.hits[0]; h.Score == worst.Score {
		if b.haveRejected && h.Row == b.rejected {
			return false
		}
		if r.order(h, worst) > 0 {
			// The worst only gets better, so the other windows of this video need not be compared.
			b.rejected, b.haveRejected = h.Row, h.Row != worst.Row
			return false
		}
	}
	r.sink(h)
	if score := b.hits[0].Score; score > r.floor {
		r.floor, b.haveRejected = score, false
	}
	return true
}

// rise moves the last one of the heap to its place.
func (r *Ranking) rise() {
	hits := r.best.hits
	i := len(hits) - 1
	h := hits[i]
	for i > 0 {
		parent := (i - 1) / 2
		if p := &hits[parent]; h.Score > p.Score || h.Score == p.Score && r.order(h, *p) < 0 {
			break
		}
		hits[i] = hits[parent]
		i = parent
	}
	hits[i] = h
}

// sink puts another one in the place of the first one of the heap.
func (r *Ranking) sink(h Hit) {
	hits := r.best.hits
	i := 0
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

// sorted returns the candidates in order. It asks for the order of videos only where scores are equal.
func (r *Ranking) sorted() []Hit {
	keys := make([]uint64, len(r.best.hits))
	for i, h := range r.best.hits {
		keys[i] = uint64(math.MaxUint16-h.Score)<<48 | uint64(i)
	}
	slices.Sort(keys)
	sorted := make([]Hit, len(keys))
	for i, key := range keys {
		sorted[i] = r.best.hits[key&(1<<48-1)]
	}
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].Score == sorted[from].Score {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(sorted[from:to], r.order)
		}
		from = to
	}
	return sorted
}
