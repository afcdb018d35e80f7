package vault

import (
	"fmt"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Item is a value and where it belongs.
type Item struct {
	Place Place
	Value Value
}

// Place is where a value belongs: [InColumn] or [InGroup]. The zero value is not a place.
type Place struct {
	kind  placeKind
	table string // of a column
	name  string // of the column or the group
}

type placeKind uint8

const (
	noPlace placeKind = iota
	columnPlace
	groupPlace
)

// InColumn is a column of a table.
func InColumn(table, column string) Place { return Place{columnPlace, table, column} }

// InGroup is a column group, as Tokenize takes it: whichever of its columns the value is
// in.
func InGroup(group string) Place { return Place{kind: groupPlace, name: group} }

// String names the column with its table, "persons.email", or the group.
func (p Place) String() string {
	if p.kind == columnPlace {
		return p.table + "." + p.name
	}
	return p.name
}

// The ways in which an item is not well formed.
var (
	errNoValue   = fmt.Errorf("%w: give it a value", ErrInvalid)
	errNoPlace   = fmt.Errorf("%w: give it a place, InColumn or InGroup", ErrInvalid)
	errRedaction = fmt.Errorf("%w: ask for %q, %q or %q", ErrInvalid, Redacted, Masked, PlainText)
	errGroup     = fmt.Errorf("%w: the place must be a column, not a column group", ErrInvalid)
)

func (it *Item) check(maxValue int) error {
	switch {
	case it.Value.IsZero():
		return errNoValue
	case it.Place.kind == noPlace:
		return errNoPlace
	case len(it.Value.Reveal()) > maxValue:
		return fmt.Errorf("%w: %d bytes are the most", errTooLong, maxValue)
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
		if err == nil && insertion && items[i].Place.kind == groupPlace {
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
		return fmt.Errorf("%w: give at least one", errBatch)
	case n > s.opts.MaxItems:
		return fmt.Errorf("%w: %d are the most", errBatch, s.opts.MaxItems)
	}
	return nil
}

// batch is what a call's items have in one scope.
type batch struct {
	column *column // of the first item
	scope  keyring.Scope
	items  []int // the index in the call of each value
	values []keyring.FingerprintItem
	tokens []string // of the values; "" where none is known, nil: of none

	// fingerprints has those of the values, by the place of the version among all and by
	// value. Values that were found before a version was asked for have none of it.
	fingerprints [][]keyring.Fingerprint
	// How many values have no token, when fingerprints are computed.
	missing int

	// Of an insertion: whether the values were taken for new ones, without a look, and
	// whether one of them was there.
	assumed, known bool

	room room
}

// room is for the slices that a call with one value needs: one allocation in place of many.
type room struct {
	batches     [1]*batch
	items       [1]int
	values      [1]keyring.FingerprintItem
	fingerprint [1]keyring.Fingerprint
	primary     [1][]keyring.Fingerprint // for any number of values: as a rule there is one version
	lookups     [1]Lookup
}

// resolveItems finds the columns of items and puts the values of each scope together.
// refuse says which columns will not do.
//
// An error holds the items of one kind: first unknown groups, then unknown tables and
// columns, then columns that will not do.
func resolveItems(k *knownVault, org, vault string, items []Item, refuse func(*column) error) ([]*batch, error) {
	var errs [3]itemErrors
	var batches []*batch
	var byScope map[string]*batch // if there are several
	var last *batch               // of the item before
	for i := range items {
		it := &items[i]
		if last == nil || it.Place != items[i-1].Place {
			c, rank, err := k.find(it.Place)
			if err == nil {
				rank, err = rankColumn, refuse(c)
			}
			if err != nil {
				errs[rank].add(i, err)
				last = nil
				continue
			}
			switch {
			case len(batches) == 0: // as a rule there will be no other
				last = &batch{column: c, scope: keyring.Scope{Organization: org, Vault: vault, Name: c.scope}}
				last.items, last.values, batches = last.room.items[:0], last.room.values[:0], last.room.batches[:0]
				if n := len(items) - i; n > 1 {
					last.items, last.values = make([]int, 0, n), make([]keyring.FingerprintItem, 0, n)
				}
				batches = append(batches, last)
			case c.scope == batches[0].scope.Name:
				last = batches[0]
			default:
				if last = byScope[c.scope]; last != nil {
					break
				}
				if byScope == nil {
					byScope = make(map[string]*batch)
				}
				last = &batch{column: c, scope: keyring.Scope{Organization: org, Vault: vault, Name: c.scope}}
				byScope[c.scope] = last
				batches = append(batches, last)
			}
		}
		last.items = append(last.items, i)
		last.values = append(last.values, keyring.FingerprintItem{Scope: last.scope, Value: it.Value})
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

// The ranks of errors in resolveItems.
const (
	rankGroup = iota
	rankName
	rankColumn
)

// find returns the column of a place, or the first one of its group; or an error and its
// rank.
func (k *knownVault) find(p Place) (c *column, rank int, err error) {
	if p.kind == groupPlace {
		if c = k.groups[p.name]; c == nil {
			return nil, rankGroup, &namedError{err: ErrGroupNotFound, join: " ", name: p.name, none: true}
		}
		return c, 0, nil
	}
	c, err = k.column(p.table, p.name)
	return c, rankName, err
}
