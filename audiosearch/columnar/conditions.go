package columnar

import (
	"math"
	"slices"

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// condition is what filters demand of the column of their key.
type condition struct {
	kind   conditionKind
	id     uint32
	column *column

	bounds   []bound      // ranged: all must match
	within   [][]numbered // ranged: what is within them, removed ones included
	codes    []uint32     // listed: of the values that pass
	passing  []uint64     // listed: a bit for each code, set if the value passes
	only     uint32       // of the value that passes, if it is one
	excluded []uint32     // excluding: of the values that do not pass
	values   int          // how many pass, at most
	rows     int          // how many pass, about
	sets     int          // how many of the values have more rows than one, about
	found    *rowSet      // given
	texts    *lateTexts   // late
}

type conditionKind uint8

const (
	single    conditionKind = iota // one value passes
	excluding                      // all values but some
	ranged                         // numbers
	listed                         // the values that were found to pass
	given                          // rows that were found to pass all there was before
	late                           // texts that are searched when the row is asked for
)

// passes reports whether a row passes.
func (n *condition) passes(c *Columns, row uint32) bool {
	switch {
	case n.kind == given:
		return n.found.contains(row)
	case n.kind != excluding && n.values == 1:
		return n.column.holders[n.only].contains(row)
	}
	code := c.code(row, n.id)
	switch {
	case code == nullCode:
		return false
	case n.kind == excluding:
		return !slices.Contains(n.excluded, code)
	case n.kind == listed:
		return n.passing[code/64]>>(code%64)&1 != 0
	case n.kind == late:
		return n.texts.pass(code)
	}
	approx := n.column.approx[code]
	if approx != approx { // it is none
		return false
	}
	return n.inBounds(code)
}

// filter returns those of a few windows whose videos pass, in the place of all. Step by
// step for all of them it takes a fraction of the time that passes takes for each.
func (n *condition) filter(c *Columns, hits []Hit) []Hit {
	rows, whole := n.whole()
	if whole && (n.kind == given || n.kind == excluding || n.column.dense == nil || rows.wide()) {
		return rows.filter(hits)
	}
	kept := 0
	var most [2 * testBatch]uint32
	if n.column.dense == nil || len(hits) > len(most) || !whole && n.kind != ranged && n.kind != listed {
		for _, h := range hits {
			if n.passes(c, h.Row) {
				hits[kept] = h
				kept++
			}
		}
		return hits[:kept]
	}
	codes := most[:len(hits)]
	for i := range codes {
		if row := hits[i].Row; int(row) < len(n.column.dense) {
			codes[i] = n.column.dense[row]
		}
	}
	// Which ones pass cannot be foreseen, so there is no branch for the processor to guess.
	if whole {
		for i, code := range codes {
			hits[kept] = hits[i]
			if code == n.only {
				kept++
			}
		}
		return hits[:kept]
	}
	if n.kind == listed {
		for i, code := range codes {
			hits[kept] = hits[i]
			kept += int(n.passing[code/64] >> (code % 64) & 1)
		}
		return hits[:kept]
	}
	low, high := n.limits()
	for i, code := range codes {
		approx := n.column.approx[code]
		hits[kept] = hits[i]
		above, below := 0, 0
		if approx > low {
			above = 1
		}
		if approx < high {
			below = 1
		}
		kept += above & below
		if (approx == low || approx == high) && n.inBounds(code) {
			kept++
		}
	}
	return hits[:kept]
}

// limits returns what the bounds are about.
func (n *condition) limits() (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	for i := range n.bounds {
		if b := &n.bounds[i]; b.below {
			low = b.number.Approx()
		} else {
			high = b.number.Approx()
		}
	}
	return low, high
}

// inBounds reports whether the number of a code is within the bounds.
func (n *condition) inBounds(code uint32) bool {
	approx := n.column.approx[code]
	for i := range n.bounds {
		if !n.column.passes(approx, code, &n.bounds[i]) {
			return false
		}
	}
	return true
}

// count finds out how many rows pass, or guesses by a sample.
func (n *condition) count() {
	const sample = 128
	all := len(n.codes)
	for _, part := range n.within {
		all += len(part)
	}
	looks, values, rows, sets := 0, 0, 0, 0
	look := func(code, row uint32) {
		if looks++; row&removedRow != 0 {
			return
		}
		n.only = code
		values++
		if row != allHolders {
			rows++
			return
		}
		holders := n.column.holders[code].count()
		if rows += holders; holders > 1 {
			sets++
		}
	}
	step := max(1, all/sample)
	for i := 0; i < len(n.codes); i += step {
		look(n.codes[i], allHolders)
	}
	from := 0
	for _, part := range n.within {
		for ; from < len(part); from += step {
			look(part[from].code, part[from].row)
		}
		from -= len(part)
	}
	n.values, n.rows, n.sets = values, rows, sets
	if step > 1 {
		n.values, n.rows, n.sets = all, rows*all/looks, sets*all/looks
	}
}

// whole returns the set of the rows that pass if there is one, to be read only.
func (n *condition) whole() (*rowSet, bool) {
	switch {
	case n.kind == excluding:
		if len(n.excluded) == 0 {
			return &n.column.present, true
		}
	case n.kind == given:
		return n.found, true
	case n.kind == late:
	case n.values == 0:
		return &rowSet{}, true
	case n.values == 1:
		return n.column.holders[n.only].set(), true
	}
	return nil, false
}

// set returns the rows that pass, to be read only.
func (n *condition) set(t *turns.Turn) (*rowSet, error) {
	if s, whole := n.whole(); whole {
		return s, nil
	}
	if n.kind == excluding {
		rows := &n.column.present
		for _, code := range n.excluded {
			rows = rows.keep(n.column.holders[code].set(), false)
			if err := t.Step(costOfWords * len(rows.blocks)); err != nil {
				return nil, err
			}
		}
		return rows, nil
	}
	if n.kind == late {
		return n.texts.set(t)
	}
	var u rowUnion
	sets, err := n.parts(t, func(some []numbered) {
		for i := range some {
			if row := some[i].row; row < allHolders {
				u.add(row)
			}
		}
	})
	for i := 0; i < len(sets) && err == nil; i++ {
		u.addSet(sets[i])
		err = t.Step(costOfRow * sets[i].count)
	}
	if err != nil {
		return nil, err
	}
	return u.set(), nil
}

// parts calls rows with what stands in the order of the numbers row by row, among other
// things, and returns the sets of all other rows that pass.
func (n *condition) parts(t *turns.Turn, rows func(some []numbered)) (sets []*rowSet, err error) {
	value := func(code uint32) {
		switch h := &n.column.holders[code]; {
		case h.many != nil:
			sets = append(sets, h.many)
		case h.any:
			rows([]numbered{{row: h.one}})
		}
	}
	for from := 0; from < len(n.codes); from += someValues {
		some := n.codes[from:min(from+someValues, len(n.codes))]
		for _, code := range some {
			value(code)
		}
		if err := t.Step(costOfValue * len(some)); err != nil {
			return nil, err
		}
	}
	for _, part := range n.within {
		for from := 0; from < len(part); from += someValues {
			some := part[from:min(from+someValues, len(part))]
			for i := range some {
				if some[i].row == allHolders {
					value(some[i].code)
				}
			}
			rows(some)
			if err := t.Step(costOfRow * len(some)); err != nil {
				return nil, err
			}
		}
	}
	return sets, nil
}

// someValues is how many values are looked at between two steps.
const someValues = 1024

// scan goes through the rows that pass, in any order.
func (n *condition) scan(scan *rowScan) {
	if s, whole := n.whole(); whole {
		if scan.passes == nil {
			scan.prime(s)
		}
		scan.set(s)
		return
	}
	if n.kind == excluding {
		if rows, err := n.set(scan.turn); err == nil {
			scan.set(rows)
		}
		return
	}
	var singles rowUnion
	blocks := 1 + len(n.column.present.blocks)
	sparse := n.rows < 1024*blocks // so few that a bitmap does not pay
	sets, err := n.parts(scan.turn, func(some []numbered) {
		if sparse {
			scan.some(some)
			return
		}
		for i := range some {
			if row := some[i].row; row < allHolders {
				singles.add(row)
			}
		}
	})
	if err != nil {
		return
	}
	if sparse {
		scan.sets(sets)
		scan.flush()
	} else {
		scan.flush()
		scan.union(sets)
	}
	for high, bits := range singles.blocks {
		if bits != nil {
			scan.block(&rowBlock{high: uint16(high), bits: bits})
		}
	}
}
