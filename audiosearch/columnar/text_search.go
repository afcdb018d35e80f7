package columnar

import (
	"math"

	"github.com/seed-6363c74e/mortise/internal/needles"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// search removes the rows whose values lack a part that filters of a key demand.
func (s *Selection) search(t *turns.Turn, k *keyFilters) error {
	parts, err := needles.New(k.parts, t.Step)
	if err != nil {
		return err
	}
	if s.rows == nil && s.left(k) < float64(k.column.effort()) {
		if err := s.put(t); err != nil || s.rows.count == 0 {
			return err
		}
	}
	if s.rows != nil && s.rows.count <= len(k.column.codes) {
		rows, err := s.columns.searchRows(t, s.rows, k, parts)
		if err == nil {
			s.rows = rows
		}
		return err
	}
	n, err := k.searchAll(t, parts, s.columns.looked)
	if err != nil {
		return err
	}
	switch {
	case n.values == 0:
		s.rows = &rowSet{}
	case s.rows == nil:
		s.conditions = append(s.conditions, n)
		s.sort()
	default:
		rows, err := n.set(t)
		if err != nil {
			return err
		}
		s.rows = s.rows.keep(rows, true)
	}
	return nil
}

// left returns about how many nanoseconds it takes to put the set together, and to look at
// the texts of its rows.
func (s *Selection) left(k *keyFilters) float64 {
	driving, share := s.share()
	switch {
	case s.rows != nil:
		return driving * k.column.each()
	case len(s.conditions) == 0:
		return math.Inf(1)
	}
	return s.effort(driving) + share*float64(s.columns.rows.count)*k.column.each()
}

// searchRows returns those of some rows whose values contain all parts. It looks at each
// value once.
func (c *Columns) searchRows(t *turns.Turn, rows *rowSet, k *keyFilters, parts *needles.Set) (kept *rowSet, err error) {
	known, passing := newBits(k), newBits(k)
	kept = rows.keepFunc(func(row uint32) bool {
		code := c.code(row, k.id)
		if err != nil || code == nullCode {
			return false
		}
		word, bit := code/64, uint64(1)<<(code%64)
		if known[word]&bit == 0 {
			known[word] |= bit
			var found bool
			if found, err = k.look(t, parts, code, c.looked); found {
				passing[word] |= bit
			}
		} else if err = t.Step(costOfTest); err != nil {
			return false
		}
		return passing[word]&bit != 0
	})
	return kept, err
}

// searchAll looks at all values.
func (k *keyFilters) searchAll(t *turns.Turn, parts *needles.Set, looked func(string)) (condition, error) {
	n := condition{kind: listed, id: k.id, column: k.column, passing: newBits(k)}
	var codes []uint32
	for i := range k.column.entries {
		code := uint32(i)
		if !k.column.entries[code].used || k.column.holders[code].count() == 0 {
			continue
		}
		found, err := k.look(t, parts, code, looked)
		if err != nil {
			return n, err
		}
		if found {
			codes = append(codes, code)
			n.passing[code/64] |= 1 << (code % 64)
		}
	}
	n.codes = codes
	n.count()
	return n, nil
}

// newBits returns a bit for each value.
func newBits(k *keyFilters) []uint64 { return make([]uint64, len(k.column.entries)/64+1) }

// look reports whether a value contains all parts.
func (k *keyFilters) look(t *turns.Turn, parts *needles.Set, code uint32, looked func(string)) (bool, error) {
	text := k.column.entries[code].text
	if looked != nil {
		looked(text)
	}
	found := parts.AllIn(text)
	return found, t.Step(costOfValue + costOfByte*len(text))
}
