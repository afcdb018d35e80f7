package columnar

import (
	"github.com/seed-6363c74e/mortise/internal/needles"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// lateTexts are the texts of a key that are searched when the ranking asks for a video. It
// asks for few if many pass. If hardly any do it would ask for nearly all, one by one,
// which takes longer than to search the texts one behind the other. So what this may take
// is bounded.
type lateTexts struct {
	keyFilters
	parts  *needles.Set
	looked func(string)
	left   int // nanoseconds that it may still take
	owed   int // nanoseconds that it took, and no turn was told of

	looks, passed int
}

const (
	lateFrom = 300_000 // nanoseconds to search all texts, from which on the search is put off
	// costOfRanking is what a search takes that has put off texts, as costOfByte reckons.
	// Filters that come so often that it adds up to a search of all texts are kept.
	costOfRanking = 500_000
)

// putsOff reports whether the texts of a key are better searched late.
func (s *Selection) putsOff(k *keyFilters) bool {
	return min(float64(k.column.effort()), s.left(k)) > lateFrom
}

// putOff makes a condition of the texts of a key, and guesses by a sample how many pass.
func (s *Selection) putOff(t *turns.Turn, k *keyFilters) error {
	parts, err := needles.New(k.parts, t.Step)
	if err != nil {
		return err
	}
	texts := &lateTexts{keyFilters: *k, parts: parts, looked: s.columns.looked}
	const sample = 128 // values, or fewer if they are long
	texts.left = lateFrom / 4
	entries := k.column.entries
	step := max(1, len(entries)/sample)
	for code := step / 2; code < len(entries) && texts.left > 0; code += step {
		if entries[code].used && k.column.holders[code].count() > 0 {
			texts.pass(uint32(code))
		}
	}
	n := condition{kind: late, id: k.id, column: k.column, texts: texts, values: len(k.column.codes)}
	n.learn()
	texts.left = k.column.effort() / 2
	if s.rows != nil {
		s.conditions = append(s.conditions[:0], condition{kind: given, found: s.rows, rows: s.rows.count})
		s.rows = nil
	}
	s.conditions = append(s.conditions, n)
	s.sort()
	return texts.owes(t)
}

// pass reports whether a value contains all parts. It reports false when it has taken as
// long as it may.
func (l *lateTexts) pass(code uint32) bool {
	if l.left <= 0 {
		return false
	}
	text := l.column.entries[code].text
	if l.looked != nil {
		l.looked(text)
	}
	cost := costOfValue + costOfByte*len(text)
	l.left -= cost
	l.owed += cost
	l.looks++
	found := l.parts.AllIn(text)
	if found {
		l.passed++
	}
	return found
}

// learn guesses how many rows pass by what was found so far.
func (n *condition) learn() {
	n.rows = n.column.present.count * (2*n.texts.passed + 1) / (2*n.texts.looks + 2)
}

// set returns the rows whose values contain all parts.
func (l *lateTexts) set(t *turns.Turn) (*rowSet, error) {
	n, err := l.searchAll(t, l.parts, l.looked)
	if err != nil {
		return nil, err
	}
	return n.set(t)
}

// test returns about how many nanoseconds it takes to find out whether a row passes.
func (l *lateTexts) test() float64 { return costOfSearch + l.column.each() }

// owes tells a turn what the texts took, if there are any.
func (l *lateTexts) owes(t *turns.Turn) error {
	if l == nil {
		return nil
	}
	owed := l.owed
	l.owed = 0
	return t.Step(owed)
}

// learn guesses anew how many rows pass.
func (s *Selection) learn() {
	if s.late() == nil {
		return
	}
	for i := range s.conditions {
		if n := &s.conditions[i]; n.kind == late {
			n.learn()
		}
	}
}

// late returns a condition whose texts are still to be searched, or nil.
func (s *Selection) late() *condition {
	if s == nil || s.rows != nil {
		return nil
	}
	for i := range s.conditions {
		if s.conditions[i].kind == late {
			return &s.conditions[i]
		}
	}
	return nil
}

// gaveUp reports whether rows were left out because texts took too long.
func (s *Selection) gaveUp() bool {
	if s.late() == nil {
		return false
	}
	for i := range s.conditions {
		if n := &s.conditions[i]; n.kind == late && n.texts.left <= 0 {
			return true
		}
	}
	return false
}

// pays reports whether it pays to keep what passes filters that came so many times before.
func (s *Selection) pays(times int) bool {
	n := s.late()
	return n == nil || times*costOfRanking > n.column.effort()
}
