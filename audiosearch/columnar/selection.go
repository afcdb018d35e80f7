package columnar

import (
	"iter"
	"math"
)

// Selection is a set of rows. A nil one stands for all rows. It is for one goroutine.
type Selection struct {
	columns    *Columns
	conditions []condition // the most selective first
	rows       *rowSet     // nil: not put together yet
}

// Contains reports whether a row is selected.
func (s *Selection) Contains(row uint32) bool {
	switch {
	case s == nil:
		return true
	case s.rows != nil:
		return s.rows.contains(row)
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
	if s.rows != nil {
		return s.rows
	}
	rows := s.conditions[0].set()
	for i := 1; i < len(s.conditions) && rows.count > 0; i++ {
		n := &s.conditions[i]
		if whole, ok := n.whole(); ok {
			rows = rows.keep(whole, true)
		} else if rows.count > n.rows/4 {
			rows = rows.keep(n.set(), true)
		} else {
			rows = rows.keepFunc(func(row uint32) bool { return n.passes(s.columns, row) })
		}
	}
	s.rows = rows
	return rows
}

// few reports whether it takes less to look up the selected videos than to look at all scores of a table for so many that are wanted. The
// costs are in nanoseconds, as measured; their ratio is what counts.
func (s *Selection) few(t *table, wanted int) bool {
	if s == nil {
		return false
	}
	share, driving, videos := 1.0, 0, float64(max(s.columns.rows.count, 1))
	if s.rows != nil {
		driving = s.rows.count
		share = float64(driving) / videos
	} else {
		driving = s.conditions[0].rows
		for i := range s.conditions {
			share *= float64(s.conditions[i].rows) / videos
		}
	}
	if driving == 0 {
		return true
	}
	windows, k := float64(t.windows), float64(wanted)
	lookups := float64(driving) * (3 + 8*windows/float64(len(t.videos))/blockWindows)
	// With random scores, so many windows are good enough when they are looked at, and must be selected to count.
	good := min(k/share*(1+math.Log(1+windows*share/k)), windows)
	return lookups < windows/blockWindows+100*good
}

// scan goes through the selected rows.
func (s *Selection) scan(scan *rowScan) {
	if s.rows == nil && s.combines() {
		s.set()
	}
	switch {
	case s.rows != nil:
		scan.set(s.rows)
		return
	case len(s.conditions) > 1:
		scan.passes = func(row uint32) bool {
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

// combines reports whether the set is put together with little effort.
func (s *Selection) combines() bool {
	if len(s.conditions) == 1 {
		return false
	}
	for i := range s.conditions {
		if _, whole := s.conditions[i].whole(); !whole {
			return false
		}
	}
	return true
}
