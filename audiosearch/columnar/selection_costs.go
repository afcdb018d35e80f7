package columnar

// The costs below are in nanoseconds, as measured. What counts is how they compare.
const (
	costOfBlock  = 1                                         // to look at the maximum of 64 windows
	costOfVideo  = 4                                         // to look up a video whose row is known
	costOfValue  = 20                                        // to look up the rows of a value
	costOfRow    = 2                                         // to put a row into a set
	costOfTest   = 25                                        // to find out whether a row passes a condition, if its column is dense
	costOfSearch = 100                                       // the same if it is not
	costOfSet    = 30                                        // to add a part of a set to another one, besides its rows
	costOfChunk  = chunkWindows / blockWindows * costOfBlock // to look at all maxima of a chunk
	costOfScores = 50                                        // to look at 64 scores
	costOfWords  = 1000                                      // to join two bitmaps
	costOfByte   = 5                                         // to search a byte of a value for texts
)

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
	windows, each := float64(t.windows), float64(t.windows)/float64(len(t.videos))
	blocks := windows / blockWindows
	looks := expected(wanted, share, windows)
	all := costOfBlock*blocks + costOfScores*min(blocks, looks) + (costOfVideo+s.test(0))*looks
	tests := 0.0
	if s.rows == nil && len(s.conditions) > 1 {
		passing := share * float64(s.columns.rows.count) / driving
		tests = min(s.test(1)*expected(wanted, passing, driving*each), s.effort(driving)-s.conditions[0].listing())
	}
	lookups := driving * (costOfVideo + 8*each/blockWindows)
	if regular && s.whole() { // as rowScan.singleBits does it
		lookups = min(lookups, 2*costOfBlock*blocks+costOfVideo*expected(wanted, 1, driving)+tests)
	}
	if s.rows == nil {
		lookups += s.conditions[0].listing()
	}
	return lookups+tests < all
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
	if _, whole := n.whole(); whole {
		return costOfVideo
	}
	if n.column.dense == nil {
		return costOfSearch
	}
	return costOfTest
}

// listing returns about how many nanoseconds it takes to put together the rows that pass.
func (n *condition) listing() float64 {
	if _, whole := n.whole(); whole {
		return 0
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
func (s *Selection) combines(wanted int) bool {
	driving, share := s.share()
	if driving == 0 {
		return false
	}
	passing := share * float64(s.columns.rows.count) / driving
	return s.effort(driving) < s.conditions[0].listing()+s.test(1)*expected(wanted, passing, driving)
}

// effort returns about how many nanoseconds it takes to put the set together.
func (s *Selection) effort(driving float64) float64 {
	effort, left := costOfRow*driving+s.conditions[0].listing(), driving
	for i := range s.conditions[1:] {
		n := &s.conditions[i+1]
		effort += min(n.listing()+costOfWords*float64(1+len(n.column.present.blocks)), n.test()*left)
		left *= float64(n.rows) / float64(max(s.columns.rows.count, 1))
	}
	return effort
}

// heavy reports whether it takes so long to put the set together that it is better done
// in turns.
func (s *Selection) heavy() bool {
	const long = 8e6
	return s.rows == nil && len(s.conditions) > 1 && s.effort(float64(s.conditions[0].rows)) > long
}
