package columnar

import (
	"cmp"
	"slices"
	"sort"
)

// numberOrder has what holds the numbers of a column, in the order of the numbers.
//
// It stands in runs, each in order, each more than twice as long as the next: a new one
// costs little, as does a search (O'Neil et al., "The Log-Structured Merge-Tree", 1996;
// Bentley and Saxe, "Decomposable Searching Problems", 1980). What is removed is marked
// until its run is merged or the marks are many.
type numberOrder struct {
	runs    [][]numbered
	removed int
}

// numbered is a row that holds a number; or all rows that do, if they are many.
type numbered struct {
	approx float64 // the nearest one: the order asks for the value only if it is the same
	code   uint32
	row    uint32 // or allHolders
}

const (
	// As many holders of a value stand in the order row by row, which is the fastest if
	// most videos have a number of their own. With more, the value stands there once.
	maxNumbered = 16

	allHolders = 1<<31 - 1
	removedRow = 1 << 31 // a bit that marks the row as removed, and leaves it where it is in the order
)

// compareNumbered orders by number, then by code, then by row.
func (c *column) compareNumbered(a, b numbered) int {
	switch {
	case a.approx != b.approx:
		return cmp.Compare(a.approx, b.approx)
	case a.code == b.code:
		return cmp.Compare(a.row&^removedRow, b.row&^removedRow)
	}
	return cmp.Or(c.entries[a.code].number.Compare(c.entries[b.code].number), cmp.Compare(a.code, b.code))
}

// number puts a row that has come to hold a number into the order.
func (c *column) number(code, row uint32) {
	e, h := &c.entries[code], &c.holders[code]
	one := numbered{approx: e.number.Approx(), code: code, row: row}
	switch n := h.count(); {
	case e.asOne:
	case n <= maxNumbered:
		c.insertNumbered(one)
	default:
		for i := range h.many.blocks {
			b := &h.many.blocks[i]
			for _, low := range b.rows(nil) {
				if one.row = uint32(b.high)<<16 | uint32(low); one.row != row {
					c.deleteNumbered(one)
				}
			}
		}
		e.asOne, one.row = true, allHolders
		c.insertNumbered(one)
	}
}

// unnumber removes a row that holds a number no more.
func (c *column) unnumber(code, row uint32) {
	e := &c.entries[code]
	if e.asOne {
		if c.holders[code].count() > 0 {
			return
		}
		e.asOne, row = false, allHolders
	}
	c.deleteNumbered(numbered{approx: e.number.Approx(), code: code, row: row})
}

func (c *column) insertNumbered(one numbered) {
	o := &c.order
	if o.removed > 0 {
		if found := c.findNumbered(one); found != nil {
			*found = one // it was removed, and is back
			o.removed--
			return
		}
	}
	run := []numbered{one}
	for n := len(o.runs); n > 0 && len(o.runs[n-1]) <= 2*len(run); n-- {
		run = c.mergeNumbered(o.runs[n-1], run)
		o.runs = o.runs[:n-1]
	}
	o.runs = append(o.runs, run)
}

func (c *column) mergeNumbered(a, b []numbered) []numbered {
	merged := make([]numbered, 0, len(a)+len(b))
	put := func(one numbered) {
		if one.row&removedRow == 0 {
			merged = append(merged, one)
		} else {
			c.order.removed--
		}
	}
	for len(a) > 0 && len(b) > 0 {
		if c.compareNumbered(b[0], a[0]) < 0 {
			put(b[0])
			b = b[1:]
		} else {
			put(a[0])
			a = a[1:]
		}
	}
	for _, one := range a {
		put(one)
	}
	for _, one := range b {
		put(one)
	}
	return merged
}

func (c *column) deleteNumbered(one numbered) {
	o := &c.order
	if found := c.findNumbered(one); found != nil {
		found.row |= removedRow
		o.removed++
	}
	// Half of a run at most is searched in vain, and a sweep costs little for each row
	// that was removed.
	if all := c.lenNumbered(); o.removed > 16+all/2 {
		c.sweepNumbered()
	}
}

// findNumbered returns where a row stands in the order, removed or not, or nil. No row
// stands in two runs with the same value.
func (c *column) findNumbered(one numbered) *numbered {
	for _, run := range slices.Backward(c.order.runs) {
		if at, found := slices.BinarySearchFunc(run, one, c.compareNumbered); found {
			return &run[at]
		}
	}
	return nil
}

// lenNumbered returns how many there are, removed ones included.
func (c *column) lenNumbered() (n int) {
	for _, run := range c.order.runs {
		n += len(run)
	}
	return n
}

// sweepNumbered lets go of what was removed.
func (c *column) sweepNumbered() {
	o := &c.order
	for i := range o.runs {
		o.runs[i] = slices.DeleteFunc(o.runs[i], func(one numbered) bool { return one.row&removedRow != 0 })
	}
	o.runs = slices.DeleteFunc(o.runs, func(run []numbered) bool { return len(run) == 0 })
	o.removed = 0
}

// within returns what holds the numbers within all bounds, in parts.
func (c *column) within(bounds []bound) (parts [][]numbered) {
	for _, run := range c.order.runs {
		for i := range bounds {
			p := &bounds[i]
			at := sort.Search(len(run), func(i int) bool { return c.passes(run[i].approx, run[i].code, p) == p.below })
			if p.below {
				run = run[at:]
			} else {
				run = run[:at]
			}
		}
		if len(run) > 0 {
			parts = append(parts, run)
		}
	}
	return parts
}

// passes reports whether the number of a code, which is about so much, is within a bound.
func (c *column) passes(approx float64, code uint32, p *bound) bool {
	if limit := p.number.Approx(); approx != limit {
		return approx > limit == p.below
	}
	return p.passes(c.entries[code].number)
}
