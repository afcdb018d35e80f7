package memory

import (
	"context"
	"slices"
	"sort"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// listingStep is how many rows a listing looks at before it leaves the lock to others.
// They take a fraction of a millisecond.
const listingStep = 4096

// placed is an item with a place in a list.
type placed interface{ Position() mortise.Position }

// place returns where an item with a position is in a list, or would be.
func place[T placed](list []T, p mortise.Position) int {
	last := len(list) - 1
	if last < 0 || list[last].Position().Compare(p) < 0 { // as nearly all new ones
		return len(list)
	}
	return sort.Search(len(list), func(i int) bool { return list[i].Position().Compare(p) >= 0 })
}

// insert enters a new item into a list.
func insert[T placed](list []T, item T) []T {
	return slices.Insert(list, place(list, item.Position()), item)
}

// position reads a cursor; nil is the start of a list.
func position(after mortise.Cursor) (*mortise.Position, error) {
	if after == "" {
		return nil, nil
	}
	p, err := after.Position()
	return &p, err
}

// oldestFirst returns a page of a list that is ordered from the oldest item to the newest.
func oldestFirst[T any, P interface {
	*T
	placed
}](list []P, after mortise.Cursor, limit int, clone func(P) T) (mortise.Page[T], error) {
	from, err := position(after)
	if err != nil {
		return mortise.Page[T]{}, err
	}
	if from != nil {
		list = list[place(list, *from):]
		if len(list) > 0 && list[0].Position().Compare(*from) == 0 {
			list = list[1:]
		}
	}
	var items []T
	for _, item := range list[:min(limit+1, len(list))] {
		items = append(items, clone(item))
	}
	return pages.Cut(items, limit, func(item *T) mortise.Position { return P(item).Position() }), nil
}

// newestFirst calls look for rows, the newest first, until look returns false. It begins
// at the newest row, or behind a cursor. all returns the rows, oldest first. all and look
// are called under the lock.
//
// It leaves the lock after each step. Otherwise a filter that few of many rows pass would
// hold up the writes of all organizations. So a long listing shows each row as it was at
// some moment of the call, and not all as they were at the same moment.
func newestFirst[T any](
	ctx context.Context, db *DB, after mortise.Cursor, all func(*tables) []T, at func(*T) mortise.Position, look func(*T) (more bool),
) error {
	from, err := position(after)
	if err != nil {
		return err
	}
	step := func() (more bool, err error) {
		c, err := db.read(ctx)
		if err != nil {
			return false, err
		}
		defer c.end()
		rows := all(c.tables)
		if from != nil { // rows may have come and gone since the last step
			rows = rows[:sort.Search(len(rows), func(i int) bool { return at(&rows[i]).Compare(*from) >= 0 })]
		}
		first := max(0, len(rows)-listingStep)
		for i := len(rows) - 1; i >= first; i-- {
			if !look(&rows[i]) {
				return false, nil
			}
		}
		if first > 0 {
			last := at(&rows[first])
			from = &last
		}
		return first > 0, nil
	}
	for {
		if more, err := step(); err != nil || !more {
			return err
		}
	}
}
