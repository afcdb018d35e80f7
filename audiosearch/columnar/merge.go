package columnar

import (
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/needles"
)

// keyFilters are the filters of one key. A value is looked at once for all of them.
type keyFilters struct {
	id     uint32
	column *column

	equal    []string // to be that, each of them
	notEqual []string
	numbers  []bound  // those that leave least: one from below, one from above
	parts    []string // to be contained
}

// bound is a number that values are to be more than, or less.
type bound struct {
	audiosearch.Predicate
	number audiosearch.Decimal
	below  bool // values are to be more
	strict bool // or equal does not do
}

// implies reports whether what is within b is within another bound from the same side.
func (b *bound) implies(other *bound) bool {
	if order := b.number.Compare(other.number); order != 0 {
		return order > 0 == b.below
	}
	return b.strict || !other.strict
}

// keyFilters puts the filters of each key together, in the order of their first ones. It
// reports false if nothing can pass, because nobody has a key.
func (c *Columns) keyFilters(filters []audiosearch.Filter) (all []keyFilters, possible bool, err error) {
	possible = true
	for _, f := range filters {
		p, err := f.Predicate()
		if err != nil {
			return nil, false, err
		}
		id, found := c.byKey[f.Key]
		if !found {
			possible = false
			continue
		}
		i := slices.IndexFunc(all, func(k keyFilters) bool { return k.id == id })
		if i < 0 {
			i = len(all)
			all = append(all, keyFilters{id: id, column: c.columns[id]})
		}
		k := &all[i]
		switch {
		case p.Numeric():
			k.addNumber(f, p)
		case f.Op == audiosearch.OpNotEqual:
			k.notEqual = append(k.notEqual, f.Value)
		case f.Op == audiosearch.OpContains:
			k.parts = append(k.parts, f.Value)
		default:
			k.equal = append(k.equal, f.Value)
		}
	}
	return all, possible, nil
}

// addNumber keeps the bound unless there is one from the same side that leaves no more.
func (k *keyFilters) addNumber(f audiosearch.Filter, p audiosearch.Predicate) {
	n := bound{Predicate: p, strict: f.Op == audiosearch.OpGreater || f.Op == audiosearch.OpLess}
	n.below = f.Op == audiosearch.OpGreater || f.Op == audiosearch.OpGreaterOrEqual
	n.number, _ = audiosearch.ParseDecimal(f.Value) // the predicate has seen to it
	i := slices.IndexFunc(k.numbers, func(other bound) bool { return other.below == n.below })
	switch {
	case i < 0:
		k.numbers = append(k.numbers, n)
	case n.implies(&k.numbers[i]):
		k.numbers[i] = n
	}
}

// conditions returns the filters as conditions, but for parts unless one value is left.
// It reports false if no value passes.
func (k *keyFilters) conditions(looked func(string)) (list []condition, possible bool) {
	if len(k.equal) > 0 {
		n, possible := k.one(looked)
		return []condition{n}, possible
	}
	if len(k.numbers) > 0 {
		n := condition{kind: ranged, id: k.id, column: k.column, numbers: k.numbers, codes: k.column.numbers(k.numbers)}
		n.count()
		list, possible = append(list, n), n.values > 0
		if !possible {
			return nil, false
		}
	}
	if len(k.notEqual) > 0 {
		n := condition{kind: excluding, id: k.id, column: k.column, values: len(k.column.codes), rows: k.column.present.count}
		for _, text := range k.notEqual {
			if code, known := k.column.codes[text]; known && !slices.Contains(n.excluded, code) {
				n.excluded = append(n.excluded, code)
				n.rows -= k.column.holders[code].count()
			}
		}
		if n.rows <= 0 {
			return nil, false
		}
		if len(n.excluded) > 0 || len(k.numbers) == 0 {
			list = append(list, n)
		}
	}
	return list, true
}

// one is conditions where there is one value that may pass.
func (k *keyFilters) one(looked func(string)) (n condition, possible bool) {
	text := k.equal[0]
	code, known := k.column.codes[text]
	if !known || k.column.holders[code].count() == 0 || slices.ContainsFunc(k.equal, func(s string) bool { return s != text }) ||
		slices.Contains(k.notEqual, text) {
		return n, false
	}
	e := &k.column.entries[code]
	for _, p := range k.numbers {
		if !e.numeric || !p.MatchDecimal(e.number) {
			return n, false
		}
	}
	if len(k.parts) > 0 {
		if looked != nil {
			looked(text)
		}
		if !needles.New(k.parts).AllIn(text) {
			return n, false
		}
	}
	return k.column.equal(k.id, code), true
}

// equal returns the condition that a value is the one of a code.
func (c *column) equal(id, code uint32) condition {
	return condition{kind: single, id: id, column: c, only: code, values: 1, rows: c.holders[code].count()}
}
