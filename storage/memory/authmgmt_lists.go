package memory

import (
	"slices"

	"github.com/seed-6363c74e/mortise"
)

// placedLists are the lists of organizations, each oldest first.
type placedLists[T placed] map[string][]T

// add enters a new item.
func (l placedLists[T]) add(org string, item T) { l[org] = insert(l[org], item) }

// remove takes out the items that gone selects.
func (l placedLists[T]) remove(org string, gone func(T) bool) {
	if l[org] = slices.DeleteFunc(l[org], gone); len(l[org]) == 0 {
		delete(l, org)
	}
}

// latest returns a page of a list, newest first, of the items that shows selects.
func latest[T any, P interface {
	*T
	placed
}](list []P, after mortise.Cursor, limit int, shows func(P) bool, clone func(P) T) (page mortise.Page[T], err error) {
	from, err := position(after)
	if err != nil {
		return page, err
	}
	if from != nil {
		list = list[:place(list, *from)]
	}
	for _, item := range slices.Backward(list) {
		switch {
		case !shows(item):
		case len(page.Items) == limit:
			page.Next = P(&page.Items[limit-1]).Position().Cursor()
			return page, nil
		default:
			page.Items = append(page.Items, clone(item))
		}
	}
	return page, nil
}

// clones returns copies of items that the receiver may keep.
func clones[T any](items []*T, clone func(*T) T) []T {
	var all []T
	for _, item := range items {
		all = append(all, clone(item))
	}
	return all
}
