package columnar

import (
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/decimal"
	"github.com/seed-6363c74e/mortise/internal/needles"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// keyFilters are the filters of one key. A value is looked at once for all of them.
type keyFilters struct {
	id     uint32
	column *column

	equal    []string // to be that, each of them
	notEqual []string
	numbers  []bound  // the tightest ones: one from below, one from above
	parts    []string // to be contained
}

// bound is a lower or an upper bound of numbers.
type bound struct {
	number decimal.Decimal
	below  bool // it is a lower bound
	strict bool // the number itself is out
}

// passes reports whether a number is within the bound.
func (b *bound) passes(number decimal.Decimal) bool {
	order := number.Compare(b.number)
	return order != 0 && order > 0 == b.below || order == 0 && !b.strict
}

// implies reports whether whatever is within b is also within another bound from the same
// side.
func (b *bound) implies(other *bound) bool {
	if order := b.number.Compare(other.number); order != 0 {
		return order > 0 == b.below
	}
	return b.strict || !other.strict
}

// keyFilters puts the filters of each key together, the keys in the order of their first
// filters. It reports false if nothing can pass, because no row has a key.
func (c *Columns) keyFilters(filters []metadata.Filter) (all []keyFilters, possible bool, err error) {
	possible = true
	for _, f := range filters {
		if err := f.Check(); err != nil {
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
		case f.Op.Numeric():
			k.addNumber(f)
		case f.Op == metadata.OpNotEqual:
			k.notEqual = append(k.notEqual, f.Value)
		case f.Op == metadata.OpContains:
			k.parts = append(k.parts, f.Value)
		default:
			k.equal = append(k.equal, f.Value)
		}
	}
	return all, possible, nil
}

// addNumber adds a bound, unless there is one from the same side that is as tight.
func (k *keyFilters) addNumber(f metadata.Filter) {
	n := bound{strict: f.Op == metadata.OpGreater || f.Op == metadata.OpLess}
	n.below = f.Op == metadata.OpGreater || f.Op == metadata.OpGreaterOrEqual
	n.number, _ = decimal.Parse(f.Value) // Check has seen to it
	i := slices.IndexFunc(k.numbers, func(other bound) bool { return other.below == n.below })
	switch {
	case i < 0:
		k.numbers = append(k.numbers, n)
	case n.implies(&k.numbers[i]):
		k.numbers[i] = n
	}
}

// conditions returns the filters as conditions. Those of parts are among them only if they
// leave one value. It reports false if no value passes.
func (k *keyFilters) conditions(t *turns.Turn, looked func(string)) (list []condition, possible bool, err error) {
	if len(k.equal) > 0 {
		n, possible, err := k.one(t, looked)
		return []condition{n}, possible, err
	}
	if len(k.numbers) > 0 {
		n := condition{kind: ranged, id: k.id, column: k.column, bounds: k.numbers, within: k.column.within(k.numbers)}
		n.count()
		list, possible = append(list, n), n.values > 0
		if !possible {
			return nil, false, nil
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
			return nil, false, nil
		}
		if len(n.excluded) > 0 || len(k.numbers) == 0 {
			list = append(list, n)
		}
	}
	return list, true, nil
}

// one is conditions for filters that leave one value at most.
func (k *keyFilters) one(t *turns.Turn, looked func(string)) (n condition, possible bool, err error) {
	text := k.equal[0]
	code, known := k.column.codes[text]
	if !known || k.column.holders[code].count() == 0 || slices.ContainsFunc(k.equal, func(s string) bool { return s != text }) ||
		slices.Contains(k.notEqual, text) {
		return n, false, nil
	}
	e := &k.column.entries[code]
	for _, p := range k.numbers {
		if !e.numeric || !p.passes(e.number) {
			return n, false, nil
		}
	}
	if len(k.parts) > 0 {
		parts, err := needles.New(k.parts, t.Step)
		if err != nil {
			return n, false, err
		}
		if found, err := k.look(t, parts, code, looked); !found || err != nil {
			return n, false, err
		}
	}
	return k.column.equal(k.id, code), true, nil
}

// equal returns the condition that a value is the one of a code.
func (c *column) equal(id, code uint32) condition {
	return condition{kind: single, id: id, column: c, only: code, values: 1, rows: c.holders[code].count()}
}
