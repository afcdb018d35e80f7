package columnar

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// Selection is a set of rows. A nil one stands for all rows. It is for one goroutine.
type Selection struct {
	columns    *Columns
	conditions []condition // the most selective first
	rows       *rowSet     // nil: not put together yet
	first      [1]condition
}

// Contains reports whether a row is selected.
func (s *Selection) Contains(row uint32) bool {
	if s.late() != nil { // it is exact as long as the effort lasts
		return s.set().contains(row)
	}
	return s.contains(nil, row)
}

// contains is Contains that gives way. Once the context has ended, it reports false.
func (s *Selection) contains(t *turns.Turn, row uint32) bool {
	switch {
	case s == nil:
		return true
	case s.rows != nil:
		return s.rows.contains(row)
	case t.Step(costOfTest*len(s.conditions)) != nil:
		return false
	}
	return s.passes(t, 0, row)
}

// passes reports whether a row passes the conditions from one on.
func (s *Selection) passes(t *turns.Turn, from int, row uint32) bool {
	for i := range s.conditions[from:] {
		n := &s.conditions[from+i]
		if passes := n.passes(s.columns, row); n.texts.owes(t) != nil || !passes {
			return false
		}
	}
	return true
}

// keep returns those of a few windows whose videos are selected, in the place of all. It
// gives way as contains does.
func (s *Selection) keep(t *turns.Turn, hits []Hit) []Hit {
	switch {
	case s == nil:
		return hits
	case s.rows != nil:
		return s.rows.filter(hits)
	}
	for i := range s.conditions {
		if t.Step(costOfTest*len(hits)) != nil {
			return nil
		}
		n := &s.conditions[i]
		if n.kind != late {
			hits = n.filter(s.columns, hits)
			continue
		}
		kept := hits[:0]
		for _, h := range hits {
			passes := n.passes(s.columns, h.Row)
			if n.texts.owes(t) != nil { // a text may take as long as all else
				return nil
			}
			if passes {
				kept = append(kept, h)
			}
		}
		hits = kept
	}
	return hits
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
		s.set().all(yield)
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
	_ = s.put(nil) // it cannot end
	return s.rows
}

// put puts the rows together, unless they are already. It leaves the selection as it is
// after an error.
func (s *Selection) put(t *turns.Turn) error {
	if s.rows != nil {
		return nil
	}
	s.sort()
	rows, err := s.conditions[0].set(t)
	for i := 1; i < len(s.conditions) && err == nil && rows.count > 0; i++ {
		n := &s.conditions[i]
		if whole, ok := n.whole(); ok {
			rows = rows.keep(whole, true)
			err = t.Step(costOfWords * len(rows.blocks))
		} else if n.listing() < n.test()*float64(rows.count) {
			var others *rowSet
			if others, err = n.set(t); err == nil {
				rows = rows.keep(others, true)
			}
		} else if n.kind == late {
			rows, err = s.columns.searchRows(t, rows, &n.texts.keyFilters, n.texts.parts)
		} else {
			rows = rows.keepFunc(func(row uint32) bool {
				if err == nil {
					err = t.Step(costOfTest)
				}
				return err == nil && n.passes(s.columns, row)
			})
		}
	}
	if err == nil {
		s.rows = rows
	}
	return err
}

// scan goes through the selected rows.
func (s *Selection) scan(scan *rowScan) {
	if s.rows == nil && s.combines(scan.table, scan.places.regular(scan.number), scan.holds()) && s.put(scan.turn) != nil {
		return
	}
	if s.rows != nil {
		scan.prime(s.rows)
		scan.set(s.rows)
		return
	}
	if len(s.conditions) > 1 {
		turn := scan.turn // scan itself is to stay on the stack
		scan.passes = func(row uint32) bool {
			return turn.Step(costOfTest*len(s.conditions)) == nil && s.passes(turn, 1, row)
		}
	}
	s.conditions[0].scan(scan)
}

// Select returns the rows that pass all filters; no filters, all rows. The selection
// holds until the next Set or Remove. A look at many values takes long, so it gives way
// as [Turn] says. The error is the context's, or that of a filter that
// [metadata.Filter.Check] refuses.
//
// The filters that an index answers come first. If they leave no video, no text is
// searched. Otherwise texts are searched in the values of the videos that are left, or in
// all values of the key if those are fewer: each value once for all filters of the key.
func (c *Columns) Select(ctx context.Context, filters []metadata.Filter) (*Selection, error) {
	if len(filters) == 0 || len(filters) == 1 && (filters[0].Op == metadata.OpEqual || filters[0].Op == "") {
		return c.selection(nil, filters, false) // there is a set already
	}
	return c.selected(ctx, filters, false)
}

// SelectToRank is Select for [Scores.Rank]. Where it takes long to search all texts, they
// are searched only in videos with good scores, unless that turns out to take longer.
// Other methods of the selection search them all at once, and do not give way.
func (c *Columns) SelectToRank(ctx context.Context, filters []metadata.Filter) (*Selection, error) {
	if len(filters) == 0 || len(filters) == 1 && (filters[0].Op == metadata.OpEqual || filters[0].Op == "") {
		return c.selection(nil, filters, false)
	}
	return c.selected(ctx, filters, true)
}

func (c *Columns) selected(ctx context.Context, filters []metadata.Filter, rank bool) (*Selection, error) {
	rows, times := c.kept.find(filters)
	if rows != nil {
		return &Selection{columns: c, rows: rows}, nil
	}
	t, err := turns.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer t.End()
	s, err := c.selection(t, filters, rank)
	again := times > 0 && s.pays(times)
	if err == nil && (again || !rank && s.heavy()) {
		err = s.put(t)
	}
	if err != nil {
		return nil, err
	}
	if again {
		c.kept.keep(filters, s.rows, c.rows.count)
	}
	return s, nil
}

// selection puts conditions together. To rank it may put off the search of texts.
func (c *Columns) selection(t *turns.Turn, filters []metadata.Filter, rank bool) (*Selection, error) {
	s := &Selection{columns: c}
	s.conditions = s.first[:0] // mostly there is one
	if len(filters) == 0 {
		s.rows = &c.rows
		return s, nil
	}
	if f := filters[0]; len(filters) == 1 && (f.Op == metadata.OpEqual || f.Op == "") {
		s.rows = &rowSet{}
		if id, found := c.byKey[f.Key]; found {
			if code, known := c.columns[id].codes[f.Value]; known {
				s.conditions, s.rows = append(s.conditions, c.columns[id].equal(id, code)), nil
			}
		}
		return s, nil
	}
	keys, possible, err := c.keyFilters(filters)
	if err != nil {
		return nil, err
	}
	var texts []*keyFilters
	for i := 0; i < len(keys) && possible; i++ {
		k := &keys[i]
		var list []condition
		if list, possible, err = k.conditions(t, c.looked); err != nil {
			return nil, err
		}
		s.conditions = append(s.conditions, list...)
		if len(k.parts) > 0 && len(k.equal) == 0 {
			texts = append(texts, k)
		}
	}
	if !possible {
		s.rows = &rowSet{}
		return s, nil
	}
	s.sort()
	slices.SortStableFunc(texts, func(a, b *keyFilters) int { return cmp.Compare(a.column.effort(), b.column.effort()) })
	for _, k := range texts {
		if rank && s.putsOff(k) {
			if err := s.putOff(t, k); err != nil {
				return nil, err
			}
			continue
		}
		if err := s.search(t, k); err != nil || s.rows != nil && s.rows.count == 0 {
			return s, err
		}
	}
	return s, nil
}

// sort puts the condition first whose rows take least to look up.
func (s *Selection) sort() {
	if s == nil || len(s.conditions) < 2 {
		return
	}
	slices.SortStableFunc(s.conditions, func(a, b condition) int {
		return cmp.Compare(a.listing()+costOfVideo*float64(a.rows), b.listing()+costOfVideo*float64(b.rows))
	})
}
