package columnar

import (
	"github.com/seed-6363c74e/mortise/internal/needles"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// search removes the rows whose values lack a part that filters of a key demand.
func (s *Selection) search(t *turns.Turn, k *keyFilters) error {
	parts, err := needles.New(k.parts, t.Step)
	if err != nil {
		return err
	}
	all := float64(k.column.effort())
	if s.rows != nil || len(s.conditions) > 0 && s.effort(float64(s.conditions[0].rows)) < all {
		if err := s.put(t); err != nil || s.rows.count == 0 {
			return err
		}
		if s.rows.count <= len(k.column.codes) {
			return s.searchRows(t, k, parts)
		}
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

// searchRows looks at the values of the rows that are left, at each once.
func (s *Selection) searchRows(t *turns.Turn, k *keyFilters, parts *needles.Set) (err error) {
	known, passing := newBits(k), newBits(k)
	kept := s.rows.keepFunc(func(row uint32) bool {
		code := s.columns.code(row, k.id)
		if err != nil || code == nullCode {
			return false
		}
		word, bit := code/64, uint64(1)<<(code%64)
		if known[word]&bit == 0 {
			known[word] |= bit
			var found bool
			if found, err = k.look(t, parts, code, s.columns.looked); found {
				passing[word] |= bit
			}
		} else if err = t.Step(costOfTest); err != nil {
			return false
		}
		return passing[word]&bit != 0
	})
	if err == nil {
		s.rows = kept
	}
	return err
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
