package columnar

import (
	"iter"
	"math"

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// Selection is a set of rows. A nil one stands for all rows. It is for one goroutine.
type Selection struct {
	columns    *Columns
	conditions []condition // the most selective first
	rows       *rowSet     // nil: not put together yet
	first      [1]condition
}

// Contains reports whether a row is selected.
func (s *Selection) Contains(row uint32) bool { return s.contains(nil, row) }

// contains is Contains that gives way. Once the context has ended, it reports false.
func (s *Selection) contains(t *turns.Turn, row uint32) bool {
	switch {
	case s == nil:
		return true
	case s.rows != nil:
		return s.rows.contains(row)
	case t.Step(costOfTest*len(s.conditions)) != nil:
		return false
	}
	for i := range s.conditions {
		if !s.conditions[i].passes(s.columns, row) {
			return false
		}
	}
	return true
}

// Len returns how many rows are selected, and 0 for nil.
func (s *Selection) Len() int {
	if s == nil {
		return 0
	}
	return s.set().count
}

// Rows returns the selected rows in order, and none for nil.
func (s *Selection) Rows() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if s == nil {
			return
		}
		for i := range s.set().blocks {
			b := &s.rows.blocks[i]
			for _, low := range b.rows(nil) {
				if !yield(uint32(b.high)<<16 | uint32(low)) {
					return
				}
			}
		}
	}
}

// Clone returns a selection that later changes of the columns leave as it is.
func (s *Selection) Clone() *Selection {
	if s == nil {
		return nil
	}
	return &Selection{columns: s.columns, rows: s.set().clone()}
}

// set puts the rows together.
func (s *Selection) set() *rowSet {
	_ = s.put(nil) // it cannot end
	return s.rows
}

// put puts the rows together, unless they are already. It leaves the selection as it is
// after an error.
func (s *Selection) put(t *turns.Turn) error {
	if s.rows != nil {
		return nil
	}
	rows, err := s.conditions[0].set(t)
	for i := 1; i < len(s.conditions) && err == nil && rows.count > 0; i++ {
		n := &s.conditions[i]
		if whole, ok := n.whole(); ok {
			rows = rows.keep(whole, true)
			err = t.Step(costOfWords * len(rows.blocks))
		} else if rows.count > n.rows/4 {
			var others *rowSet
			if others, err = n.set(t); err == nil {
				rows = rows.keep(others, true)
			}
		} else {
			rows = rows.keepFunc(func(row uint32) bool {
				if err == nil {
					err = t.Step(costOfTest)
				}
				return err == nil && n.passes(s.columns, row)
			})
		}
	}
	if err == nil {
		s.rows = rows
	}
	return err
}

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

// scan goes through the selected rows.
func (s *Selection) scan(scan *rowScan) {
	if s.rows == nil && len(s.conditions) > 1 && s.combines(scan.holds()) && s.put(scan.turn) != nil {
		return
	}
	if s.rows != nil {
		scan.prime(s.rows)
		scan.set(s.rows)
		return
	}
	if len(s.conditions) > 1 {
		turn := scan.turn // scan itself is to stay on the stack
		scan.passes = func(row uint32) bool {
			if turn.Step(costOfTest*len(s.conditions)) != nil {
				return false
			}
			for i := range s.conditions[1:] {
				if !s.conditions[i+1].passes(s.columns, row) {
					return false
				}
			}
			return true
		}
	}
	s.conditions[0].scan(scan)
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
