package columnar

import (
	"cmp"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// condition is a filter over the column of its key.
type condition struct {
	audiosearch.Predicate
	id     uint32
	column *column

	codes    [][]uint32 // of the values that pass, if it is not excluding and there are several
	only     uint32     // that of the value that passes, if it is not excluding and there is one
	excludes bool       // all values pass but one:
	excluded uint32     // nullCode: no row has it
	values   int        // how many pass
	rows     int        // how many pass, about
}

// Select returns the rows that pass all filters; no filters, all rows. The selection holds until the next Set or Remove. The error is that of a
// filter that [audiosearch.Filter.Predicate] refuses.
func (c *Columns) Select(filters []audiosearch.Filter) (*Selection, error) {
	if len(filters) == 0 || len(filters) == 1 && (filters[0].Op == audiosearch.OpEqual || filters[0].Op == "") {
		return c.selection(filters) // there is a set already
	}
	rows, again := c.kept.find(filters)
	if rows != nil {
		return &Selection{columns: c, rows: rows}, nil
	}
	s, err := c.selection(filters)
	if err == nil && again {
		c.kept.keep(filters, s.set(), c.rows.count)
	}
	return s, err
}

func (c *Columns) selection(filters []audiosearch.Filter) (*Selection, error) {
	s := &Selection{columns: c}
	s.conditions = s.first[:0] // mostly there is one
	for _, f := range filters {
		p, err := f.Predicate()
		if err != nil {
			return nil, err
		}
		if id, found := c.byKey[f.Key]; found {
			s.conditions = append(s.conditions, newCondition(f, p, id, c.columns[id]))
		} else {
			s.rows = &rowSet{}
		}
	}
	if len(s.conditions) == 0 && s.rows == nil {
		s.rows = &c.rows
	}
	slices.SortStableFunc(s.conditions, func(a, b condition) int { return cmp.Compare(a.rows, b.rows) })
	return s, nil
}

func newCondition(f audiosearch.Filter, p audiosearch.Predicate, id uint32, col *column) condition {
	n := condition{Predicate: p, id: id, column: col}
	code, known := col.codes[f.Value] // nullCode if not
	switch f.Op {
	case audiosearch.OpNotEqual:
		n.excludes, n.excluded = true, code
		n.values, n.rows = len(col.codes), col.present.count
		if known {
			n.rows -= col.holders[code].count()
		}
	case audiosearch.OpContains:
		var codes []uint32
		for code := range col.entries {
			if e := &col.entries[code]; e.used && p.MatchText(e.text) {
				codes = append(codes, uint32(code))
			}
		}
		n.codes = [][]uint32{codes}
		n.count()
	case audiosearch.OpGreater, audiosearch.OpGreaterOrEqual, audiosearch.OpLess, audiosearch.OpLessOrEqual:
		n.codes = col.numbers(f.Op, p)
		n.count()
	default:
		if known {
			n.only, n.values, n.rows = code, 1, col.holders[code].count()
		}
	}
	return n
}

// count finds out how many rows pass, or guesses.
func (n *condition) count() {
	const sample = 1024
	for _, codes := range n.codes {
		n.values += len(codes)
		rows := 0
		counted := codes[:min(len(codes), sample)]
		for _, code := range counted {
			rows += n.column.holders[code].count()
		}
		if len(counted) > 0 {
			n.only = codes[0]
			n.rows += rows * len(codes) / len(counted)
		}
	}
}

// passes reports whether a row passes.
func (n *condition) passes(c *Columns, row uint32) bool {
	if n.values == 1 && !n.excludes {
		return n.column.holders[n.only].contains(row)
	}
	code := c.code(row, n.id)
	switch {
	case code == nullCode:
		return false
	case n.excludes:
		return code != n.excluded
	}
	e := &n.column.entries[code]
	if n.Numeric() {
		return e.numeric && n.MatchDecimal(e.number)
	}
	return n.MatchText(e.text)
}

// whole returns the set of the rows that pass if there is one, to be read only.
func (n *condition) whole() (*rowSet, bool) {
	switch {
	case n.excludes:
		if n.excluded == nullCode {
			return &n.column.present, true
		}
	case n.values == 0:
		return &rowSet{}, true
	case n.values == 1:
		return n.column.holders[n.only].set(), true
	}
	return nil, false
}

// set returns the rows that pass, to be read only.
func (n *condition) set() *rowSet {
	if s, whole := n.whole(); whole {
		return s
	}
	if n.excludes {
		return n.column.present.keep(n.column.holders[n.excluded].set(), false)
	}
	var u rowUnion
	for _, codes := range n.codes {
		for _, code := range codes {
			switch h := &n.column.holders[code]; {
			case h.many != nil:
				u.addSet(h.many)
			case h.any:
				u.add(h.one)
			}
		}
	}
	return u.set()
}

// scan goes through the rows that pass, in any order.
func (n *condition) scan(scan *rowScan) {
	if s, whole := n.whole(); whole {
		if scan.passes == nil {
			scan.prime(s)
		}
		scan.set(s)
		return
	}
	if n.excludes {
		scan.set(n.set())
		return
	}
	var sets []*rowSet
	var singles rowUnion
	blocks := 1 + len(n.column.present.blocks)
	few, sparse := n.values < 128*blocks, n.rows < 2048*blocks // so few that a bitmap does not pay
	for _, codes := range n.codes {
		for _, code := range codes {
			switch h := &n.column.holders[code]; {
			case h.many != nil && sparse:
				scan.set(h.many)
			case h.many != nil:
				sets = append(sets, h.many)
			case h.any && few:
				scan.row(h.one)
			case h.any:
				singles.add(h.one)
			}
		}
	}
	scan.union(sets)
	for high, bits := range singles.blocks {
		if bits != nil {
			scan.block(&rowBlock{high: uint16(high), bits: bits})
		}
	}
}
