package columnar

import "math"

// The costs below are in nanoseconds, as measured. What counts is how they compare.
const (
	costOfBlock  = 1                                         // to look at the maximum of 64 windows
	costOfVideo  = 4                                         // to look up a video whose row is known
	costOfValue  = 20                                        // to look up the rows of a value
	costOfRow    = 2                                         // to put a row into a set
	costOfTest   = 100                                       // to find out whether a row passes
	costOfChunk  = chunkWindows / blockWindows * costOfBlock // to look at all maxima of a chunk
	costOfScores = 100                                       // to look at 64 scores
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
	windows := float64(t.windows)
	tests := costOfTest * 3 / 2 * good(windows, share, wanted)
	lookups := driving * (costOfVideo + 8*windows/float64(len(t.videos))/blockWindows)
	if s.rows == nil {
		lookups += costOfValue * float64(s.conditions[0].values)
	}
	if regular && s.whole() { // as rowScan.singleBits does it
		lookups = min(lookups, 2*costOfBlock*windows/blockWindows+tests/5)
	}
	return lookups < costOfBlock*windows/blockWindows+tests
}

// good returns about how many of so many windows, of which a share is selected, are good
// enough when they are looked at, if scores are random.
func good(windows, share float64, wanted int) float64 {
	k := float64(wanted)
	return min(k/share*(1+math.Log(1+windows*share/k)), windows)
}

// share returns how many videos must be looked at, and which share of all is selected,
// about.
func (s *Selection) share() (driving, share float64) {
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
	return s.effort(driving) < costOfTest*good(driving, share*float64(s.columns.rows.count)/driving, wanted)
}

// effort returns about how many nanoseconds it takes to put the set together.
func (s *Selection) effort(driving float64) float64 {
	effort := costOfRow * driving
	for i := range s.conditions {
		if _, whole := s.conditions[i].whole(); !whole {
			effort += min(costOfRow*float64(s.conditions[i].rows)+costOfValue*float64(s.conditions[i].values), costOfTest*driving)
		}
	}
	return effort
}

// heavy reports whether it takes so long to put the set together that it is better done
// in turns.
func (s *Selection) heavy() bool {
	const long = 8e6
	return s.rows == nil && len(s.conditions) > 1 && s.effort(float64(s.conditions[0].rows)) > long
}
