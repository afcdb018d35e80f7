package columnar

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
)

// Hit is a window found.
type Hit struct {
	Row    uint32 // of the video
	Window uint32 // which one of the video, from 0
	Score  uint16
}

// Page says which windows a [Ranking] is to find.
type Page struct {
	Offset   int    // how many to leave out at the top
	Limit    int    // how many at most
	MinScore uint16 // windows below are left out
}

// Ranking finds a page of the windows that it is offered: score descending, ties by
// video, then by window ascending. It is exact, and holds at most Limit windows and some
// ten thousand more, however great the offset is. For that it may have to see the windows
// more than once: all passes must offer the same windows, in any order.
//
//	for ranking.Next() {
//		ranking.Offer(row, window, score) // for each window
//	}
//	hits := ranking.Hits()
//
// A page that begins within the first 8192 takes one pass. A Ranking is for one
// goroutine.
type Ranking struct {
	page    Page
	compare func(a, b uint32) int
	phase   phase
	free    bool   // collecting, in the first pass
	floor   uint16 // less is of no use any more

	// Of the windows from first on, in the order of the ranking, skip ones come before
	// the page. Earlier passes found that out.
	first    Hit
	firstHas part
	skip     int

	best candidates // collecting

	counts []int // counting: by score; splitting: by interval
	sample []Hit // sampling and splitting, sorted in the end
	seen   int   // how many the sample was taken of
	random *rand.Rand
	end    Hit // where the interval that the page begins in ends, if it does before the next score
	ends   bool
}

// phase is what a pass is for.
type phase uint8

const (
	beforeFirst phase = iota
	counting          // scores, to find the one that the page begins at
	sampling          // windows of that score, because there are very many
	splitting         // these windows into intervals between those sampled
	collecting        // the page
	afterLast
)

// part says how much of a Hit is known.
type part uint8

const (
	nothing part = iota
	itsScore
	allOfIt
)

const (
	maxSkip    = 8192 // up to this many windows before the page are held along with it
	sampleSize = 1024
)

// NewRanking returns a ranking for a page. compare orders videos by their rows, as
// [strings.Compare] orders their IDs.
func NewRanking(page Page, compare func(a, b uint32) int) *Ranking {
	page.Offset, page.Limit = max(page.Offset, 0), max(page.Limit, 0)
	return &Ranking{page: page, compare: compare, floor: page.MinScore, skip: page.Offset}
}

// Next begins a pass, and reports false when the page is complete.
func (r *Ranking) Next() bool {
	switch r.phase {
	case beforeFirst:
		switch {
		case r.page.Limit == 0:
			r.phase = afterLast
		case r.skip <= maxSkip:
			r.phase, r.free = collecting, true
			r.best.begin(r.skip, r.page.Limit)
		default:
			r.phase, r.counts = counting, make([]int, 1<<16)
		}
	case counting:
		r.phase = afterLast // unless the page begins before the end
		for score := len(r.counts) - 1; score >= 0; score-- {
			if r.skip < r.counts[score] {
				r.first, r.firstHas = Hit{Score: uint16(score)}, itsScore
				r.goOn()
				break
			}
			r.skip -= r.counts[score]
		}
	case sampling:
		slices.SortFunc(r.sample, r.order)
		r.phase, r.counts = splitting, make([]int, len(r.sample)+1)
	case splitting:
		r.phase = afterLast // unless all passes offered the same
		for i, n := range r.counts {
			if r.skip < n {
				if i > 0 {
					r.first, r.firstHas = r.sample[i-1], allOfIt
				}
				if i < len(r.sample) {
					r.end, r.ends = r.sample[i], true
				}
				r.goOn()
				break
			}
			r.skip -= n
		}
	case collecting:
		r.sort()
		r.phase = afterLast
	}
	return r.phase != afterLast
}

// goOn chooses the next phase when the score that the page begins at is known.
func (r *Ranking) goOn() {
	r.counts = nil
	if r.skip <= maxSkip {
		r.phase, r.floor, r.sample = collecting, r.page.MinScore, nil
		r.best.begin(r.skip, r.page.Limit)
		return
	}
	r.phase, r.floor, r.sample, r.seen = sampling, r.first.Score, r.sample[:0], 0
	if r.random == nil {
		r.random = rand.New(rand.NewPCG(1, 2)) // any sample is as good as another
	}
}

// Floor returns a score: windows below need not be offered. It changes with each offer,
// and is never less than the page's MinScore.
func (r *Ranking) Floor() uint16 { return r.floor }

// Offer gives the ranking one window.
func (r *Ranking) Offer(row, window uint32, score uint16) {
	if score >= r.floor {
		r.take(Hit{Row: row, Window: window, Score: score})
	}
}

// take is Offer for a score that is not below the floor. It reports false if all later
// windows of the same video are of no use that do not have more than this score.
func (r *Ranking) take(h Hit) bool {
	if r.free {
		return r.collect(h)
	}
	switch r.phase {
	case collecting:
		if !r.beforeFirst(h) {
			return r.collect(h)
		}
	case counting:
		r.counts[h.Score]++
	case sampling:
		if r.inInterval(h) {
			r.addSample(h)
		}
	case splitting:
		if r.inInterval(h) {
			r.counts[sort.Search(len(r.sample), func(i int) bool { return r.order(h, r.sample[i]) < 0 })]++
		}
	}
	return true
}

// order is that of the ranking: what comes first is less.
func (r *Ranking) order(a, b Hit) int {
	switch {
	case a.Score != b.Score:
		return cmp.Compare(b.Score, a.Score)
	case a.Row != b.Row:
		return r.compare(a.Row, b.Row)
	}
	return cmp.Compare(a.Window, b.Window)
}

// beforeFirst reports whether a window is before those that are left to look at.
func (r *Ranking) beforeFirst(h Hit) bool {
	switch r.firstHas {
	case itsScore:
		return h.Score > r.first.Score
	case allOfIt:
		return r.order(h, r.first) < 0
	}
	return false
}

// inInterval reports whether a window has the score that the page begins at, and is one
// of those that it may begin with.
func (r *Ranking) inInterval(h Hit) bool {
	return h.Score == r.first.Score && !r.beforeFirst(h) && (!r.ends || r.order(h, r.end) < 0)
}

// addSample keeps each window with the same probability (Vitter, "Random Sampling with a
// Reservoir", 1985, algorithm R).
func (r *Ranking) addSample(h Hit) {
	r.seen++
	if len(r.sample) < sampleSize {
		r.sample = append(r.sample, h)
	} else if i := r.random.IntN(r.seen); i < sampleSize {
		r.sample[i] = h
	}
}

// Hits returns the page in order, when Next has reported false.
func (r *Ranking) Hits() []Hit {
	if r.phase != afterLast {
		return nil
	}
	return slices.Clone(r.best.hits[min(r.skip, len(r.best.hits)):])
}

// result is Hits for a caller that is the only one to ask.
func (r *Ranking) result() []Hit {
	if r.phase == afterLast && r.skip == 0 {
		return r.best.hits
	}
	return r.Hits()
}
