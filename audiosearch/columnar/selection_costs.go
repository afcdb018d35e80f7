package columnar

import (
	"cmp"
	"math"
	"slices"
)

// The costs below are in nanoseconds, as profiles of BenchmarkNewFilters showed on an Intel
// Xeon (Emerald Rapids) with 2 MB of second-level cache and a million videos, rounded.
// They differ from one machine to the next, and what counts is how they compare: they
// decide which of two ways a search goes, and where the two take about as long, either is
// good. No result depends on them. Constants in other files that were found in the same
// way say so by a name that begins with costOf.
const (
	costOfBlock  = 2                                         // to look at the maximum of 64 windows, and count it for a guess
	costOfPeak   = 4                                         // to take the only good window of a block
	costOfScores = 20                                        // to look at 64 scores
	costOfChunk  = chunkWindows / blockWindows * costOfBlock // to look at all maxima of a chunk
	costOfVideo  = 4                                         // to look up a video of one window whose row is known
	costOfPlace  = 30                                        // the same if its windows are more
	costOfTest   = 12                                        // to find out whether a row passes a condition, if its column is dense
	costOfSearch = 100                                       // the same if it is not
	costOfMiss   = 8                                         // besides costOfTest, if its numbers are so many that they are not in the caches
	costOfValue  = 20                                        // to look up the rows of a value
	costOfByte   = 5                                         // to search a byte of a value for texts, if they are many
	costOfRow    = 2                                         // to put a row into a set
	costOfSet    = 100                                       // to look up a part of a set that few others are near to, besides its rows
	costOfWords  = 1000                                      // to join two bitmaps
	costOfCommon = 4000                                      // the same if few rows are in both
)

// sideBySide is the share of its time that a test takes in a table scan, where the memory
// need not be waited for one by one.
const sideBySide = 2. / 3

// few reports whether it takes less to look up the selected videos than to look at all
// scores of a table, for so many windows that are wanted.
func (s *Selection) few(t *table, regular bool, wanted int) bool {
	if s == nil {
		return false
	}
	driving, share := s.share()
	if driving == 0 {
		return true
	}
	windows := float64(t.windows)
	looks := expected(wanted, share, windows)
	if looks > windows/rare && s.late() != nil {
		// No floor is guessed. Until the end there are some above the best found so far.
		looks = min(looks*(1+math.Log(max(share*windows/float64(wanted), 1))), windows)
	}
	blocks, good := t.good(looks)
	alone := looks * math.Exp(-looks/blocks) // good blocks with one good window
	all := costOfBlock*blocks + costOfPeak*alone + costOfScores*(good-alone) + (costOfVideo+sideBySide*s.test(0))*looks
	tested, combined := s.rowCosts(t, regular, wanted)
	return min(tested, combined) < all
}

// good returns how many blocks there are, and about how many of them have one of so many
// windows, as if they stood anywhere.
func (t *table) good(windows float64) (blocks, good float64) {
	blocks = float64(t.windows) / blockWindows
	return blocks, blocks * (1 - math.Exp(-windows/blocks))
}

// rowCosts returns about how many nanoseconds it takes to look up the selected videos in a
// table: if those that pass the first condition are looked up, and the good ones of them
// tested; and if the set is put together first.
func (s *Selection) rowCosts(t *table, regular bool, wanted int) (tested, combined float64) {
	driving, share := s.share()
	passing := share * float64(s.columns.rows.count)
	blocks, good := t.good(expected(wanted, share, float64(t.windows)))
	each := float64(t.windows) / float64(len(t.videos))
	lookups := func(videos float64, whole bool) float64 {
		if !regular {
			return videos * (costOfPlace + each/8)
		}
		cost := 2 * videos * costOfVideo // the rows stand in any order
		if whole {                       // as rowScan.singleBits does it: blocks without a good score are left out
			cost = min(cost/2, 2*costOfBlock*blocks+costOfScores*good+videos*good/blocks*costOfVideo)
		}
		return cost
	}
	tested = lookups(driving, s.whole())
	if s.rows != nil {
		return tested, tested
	}
	if tested += s.conditions[0].listing(); len(s.conditions) == 1 {
		return tested, tested
	}
	return tested + s.test(1)*expected(wanted, passing/driving, driving*each), s.effort(driving) + lookups(passing, true)
}

// primes reports whether a row scan of the selection raises the floor by itself.
func (s *Selection) primes() bool { return s.rows != nil || len(s.conditions) == 1 && s.whole() }

// test returns about how many nanoseconds it takes to find out whether a row passes the
// conditions from one on.
func (s *Selection) test(from int) float64 {
	if s.rows != nil {
		return costOfVideo
	}
	costs, share := 0.0, 1.0
	for i := range s.conditions[from:] {
		n := &s.conditions[from+i]
		costs += share * n.test()
		share *= float64(n.rows) / float64(max(s.columns.rows.count, 1))
	}
	return costs
}

// test returns about how many nanoseconds it takes to find out whether a row passes.
func (n *condition) test() float64 {
	rows, whole := n.whole()
	const many = 1 << 15
	switch {
	case whole && rows.wide():
		return costOfVideo
	case n.kind == late:
		return n.texts.test()
	case n.kind == given || n.column.dense == nil:
		return costOfSearch
	case n.kind == ranged && len(n.column.entries) > many:
		return costOfTest + costOfMiss
	}
	return costOfTest
}

// sortToTest puts the condition first that leaves fewest rows for what it takes to test it.
func (s *Selection) sortToTest() {
	if s == nil || len(s.conditions) < 2 {
		return
	}
	rest := func(n *condition) float64 { return float64(max(s.columns.rows.count-n.rows, 1)) }
	slices.SortStableFunc(s.conditions, func(a, b condition) int { return cmp.Compare(a.test()*rest(&b), b.test()*rest(&a)) })
}

// listing returns about how many nanoseconds it takes to put together the rows that pass.
func (n *condition) listing() float64 {
	if _, whole := n.whole(); whole {
		return 0
	}
	if n.kind == late {
		return float64(n.column.effort())
	}
	blocks := float64(1 + len(n.column.present.blocks))
	if n.kind == excluding {
		return costOfWords * blocks * float64(len(n.excluded))
	}
	parts := min(float64(n.sets)*blocks, float64(n.rows))
	return costOfRow*float64(n.rows) + costOfSet*parts + costOfValue*float64(len(n.codes))
}

// share returns how many videos must be looked at, and which share of all is selected,
// about.
func (s *Selection) share() (driving, share float64) {
	if s == nil {
		return 0, 1
	}
	all := float64(max(s.columns.rows.count, 1))
	if s.rows != nil {
		return float64(s.rows.count), float64(s.rows.count) / all
	}
	if len(s.conditions) == 0 {
		return all, 1
	}
	share = 1
	for i := range s.conditions {
		share *= float64(s.conditions[i].rows) / all
	}
	return float64(s.conditions[0].rows), share
}

// whole reports whether the videos to be looked at are a set already.
func (s *Selection) whole() bool {
	if s.rows != nil {
		return true
	}
	_, whole := s.conditions[0].whole()
	return whole
}

// combines reports whether it takes less to put the set together than to test the good
// ones of the videos that pass the first condition.
func (s *Selection) combines(t *table, regular bool, wanted int) bool {
	if len(s.conditions) == 1 {
		return s.conditions[0].kind == late // so that no text is searched again
	}
	tested, combined := s.rowCosts(t, regular, wanted)
	return combined < tested
}

// effort returns about how many nanoseconds it takes to put the set together.
func (s *Selection) effort(driving float64) float64 {
	effort, left := s.conditions[0].listing(), driving
	blocks := float64(1 + len(s.columns.rows.blocks))
	for i := range s.conditions[1:] {
		n := &s.conditions[i+1]
		kept := left * float64(n.rows) / float64(max(s.columns.rows.count, 1))
		words := costOfWords * blocks
		if kept < maxList/2*blocks {
			words = costOfCommon * blocks
		}
		effort += min(n.listing()+words, n.test()*left) + costOfRow*kept
		left = kept
	}
	return effort
}

// heavy reports whether it takes so long to put the set together that it is better done
// in turns.
func (s *Selection) heavy() bool {
	const long = 8e6
	return s.rows == nil && len(s.conditions) > 1 && s.effort(float64(s.conditions[0].rows)) > long
}
