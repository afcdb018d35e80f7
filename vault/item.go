package vault

import "fmt"

// Item is a value and where it belongs: to a column group, or to a column of a table. A name that is empty is not given.
type Item struct {
	Table  string
	Column string
	Group  string
	Value  Value
}

// The ways in which an item is not well formed.
var (
	errNoValue   = fmt.Errorf("%w: give it a value", ErrInvalid)
	errNoPlace   = fmt.Errorf("%w: give either a column group, or table and column", ErrInvalid)
	errHalfPlace = fmt.Errorf("%w: table and column go together", ErrInvalid)
	errTwoPlaces = fmt.Errorf("%w: give a column group, or table and column, not both", ErrInvalid)
	errRedaction = fmt.Errorf("%w: ask for %q, %q or %q", ErrInvalid, Redacted, Masked, PlainText)
	errGroup     = fmt.Errorf("%w: an insertion names table and column, not a column group", ErrInvalid)
)

func (it *Item) check(maxValue int) error {
	switch {
	case it.Value.IsZero():
		return errNoValue
	case it.Group != "" && (it.Table != "" || it.Column != ""):
		return errTwoPlaces
	case it.Group == "" && it.Table == "" && it.Column == "":
		return errNoPlace
	case it.Group == "" && (it.Table == "" || it.Column == ""):
		return errHalfPlace
	case len(it.Value.Reveal()) > maxValue:
		return fmt.Errorf("%w: %d bytes are the most", ErrTooLong, maxValue)
	}
	return nil
}

// checkItems finds what is wrong with items whatever the vault is.
func (s *Service) checkItems(items []Item, insertion bool) error {
	if err := s.checkBatch(len(items)); err != nil {
		return err
	}
	var errs itemErrors
	for i := range items {
		err := items[i].check(s.opts.MaxValue)
		if err == nil && insertion && items[i].Group != "" {
			err = errGroup
		}
		if err != nil {
			errs.add(i, err)
		}
	}
	return errs.err()
}

func (s *Service) checkBatch(n int) error {
	switch {
	case n == 0:
		return fmt.Errorf("%w: give at least one", ErrBatch)
	case n > s.opts.MaxItems:
		return fmt.Errorf("%w: %d are the most", ErrBatch, s.opts.MaxItems)
	}
	return nil
}

// batch is what a call's items have in one scope.
type batch struct {
	column *column // of the first item
	scope  Scope
	items  []int // the index in the call of each value
	values []Value
	tokens []string // of the values; "" where none is known

	// fingerprints has those of the values, by the place of the version among all and by
	// value. Values that were found before a version was asked for have none of it.
	fingerprints [][]Fingerprint
	primary      [1][]Fingerprint // room for fingerprints: as a rule there is one version
	missing      int              // how many values have no token, when fingerprints are computed
}

// resolveItems finds the columns of items and puts the values of each scope together. refuse says which columns will not do.
//
// An error holds the items of one kind: first unknown groups, then unknown tables and columns, then columns that will not do.
func resolveItems(k *knownVault, org, vault string, items []Item, refuse func(*column) error) ([]*batch, error) {
	var errs [3]itemErrors
	var batches []*batch
	byScope := make(map[string]*batch)
	var last *batch // of the item before
	for i := range items {
		it := &items[i]
		if last == nil || !it.samePlace(&items[i-1]) {
			c, rank, err := k.find(it)
			if err == nil {
				rank, err = rankColumn, refuse(c)
			}
			if err != nil {
				errs[rank].add(i, err)
				last = nil
				continue
			}
			if last = byScope[c.scope]; last == nil {
				last = &batch{column: c, scope: Scope{org, vault, c.scope}}
				if len(batches) == 0 { // as a rule there will be no other
					last.items, last.values = make([]int, 0, len(items)-i), make([]Value, 0, len(items)-i)
				}
				byScope[c.scope] = last
				batches = append(batches, last)
			}
		}
		last.items = append(last.items, i)
		last.values = append(last.values, it.Value)
	}
	for i := range errs {
		if err := errs[i].err(); err != nil {
			return nil, err
		}
	}
	return batches, nil
}

// insertable is ErrNotTokenized if the column takes no values.
func (c *column) insertable() error {
	if !c.tokenized {
		return ofColumn(c, ErrNotTokenized)
	}
	return nil
}

func (it *Item) samePlace(other *Item) bool {
	return it.Column == other.Column && it.Table == other.Table && it.Group == other.Group
}

// The ranks of errors in resolveItems.
const (
	rankGroup = iota
	rankName
	rankColumn
)

// find returns the column of an item, or the first one of its group; or an error and its rank.
func (k *knownVault) find(it *Item) (c *column, rank int, err error) {
	if it.Group != "" {
		if c = k.groups[it.Group]; c == nil {
			return nil, rankGroup, &namedError{err: ErrGroupNotFound, join: " ", name: it.Group, none: true}
		}
		return c, 0, nil
	}
	c, err = k.column(it.Table, it.Column)
	return c, rankName, err
}
