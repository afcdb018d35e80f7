package columnar

import (
	"slices"

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// condition is what filters demand of the column of their key.
type condition struct {
	kind   conditionKind
	id     uint32
	column *column

	numbers  []bound    // ranged: all must match
	codes    [][]uint32 // ranged, listed: of the values that pass
	passing  []uint64   // listed: a bit for each code, set if the value passes
	only     uint32     // single: of the value that passes
	excluded []uint32   // excluding: of the values that do not pass
	values   int        // how many pass
	rows     int        // how many pass, about
}

type conditionKind uint8

const (
	single    conditionKind = iota // one value passes
	excluding                      // all values but some
	ranged                         // numbers
	listed                         // the values that were found to pass
)

// passes reports whether a row passes.
func (n *condition) passes(c *Columns, row uint32) bool {
	if n.values == 1 && n.kind != excluding {
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
	}
	e := &n.column.entries[code]
	if !e.numeric {
		return false
	}
	for i := range n.numbers {
		if !n.numbers[i].passes(e.number) {
			return false
		}
	}
	return true
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

// whole returns the set of the rows that pass if there is one, to be read only.
func (n *condition) whole() (*rowSet, bool) {
	switch {
	case n.kind == excluding:
		if len(n.excluded) == 0 {
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
	var u rowUnion
	for _, codes := range n.codes {
		for i, code := range codes {
			switch h := &n.column.holders[code]; {
			case h.many != nil:
				u.addSet(h.many)
			case h.any:
				u.add(h.one)
			}
			if i%someValues == 0 {
				if err := t.Step(costOfValue * someValues); err != nil {
					return nil, err
				}
			}
		}
	}
	return u.set(), nil
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
	var sets []*rowSet
	var singles rowUnion
	blocks := 1 + len(n.column.present.blocks)
	few, sparse := n.values < 128*blocks, n.rows < 2048*blocks // so few that a bitmap does not pay
	for _, codes := range n.codes {
		for i, code := range codes {
			if i%someValues == 0 && scan.turn.Step(costOfValue*someValues) != nil {
				return
			}
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
