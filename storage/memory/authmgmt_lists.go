package memory

import (
	"slices"
	"sort"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// placed is what stands in a listing of package authmgmt.
type placed interface{ Position() authmgmt.Position }

// placedLists are the listings of organizations, each oldest first.
type placedLists[T placed] map[string][]T

// place returns where an item with a position stands, or would.
func place[T placed](list []T, p authmgmt.Position) int {
	last := len(list) - 1
	if last < 0 || list[last].Position().Compare(p) < 0 { // as nearly all new ones
		return len(list)
	}
	return sort.Search(len(list), func(i int) bool { return list[i].Position().Compare(p) >= 0 })
}

// add enters a new item.
func (l placedLists[T]) add(org string, item T) {
	l[org] = slices.Insert(l[org], place(l[org], item.Position()), item)
}

// remove takes out the items that gone selects.
func (l placedLists[T]) remove(org string, gone func(T) bool) {
	if l[org] = slices.DeleteFunc(l[org], gone); len(l[org]) == 0 {
		delete(l, org)
	}
}

// stretch is what a listing shows.
type stretch[T any] struct {
	items []T
	next  authmgmt.Position
	total int
}

// page returns the stretch of an organization's listing that p selects, of the items that
// shows selects, or all if it is nil.
func (l placedLists[T]) page(org string, p authmgmt.Paging, newestFirst bool, shows func(T) bool) stretch[T] {
	list := l[org]
	var s stretch[T]
	switch {
	case !p.Total:
	case shows == nil:
		s.total = len(list)
	default:
		for _, item := range list {
			if shows(item) {
				s.total++
			}
		}
	}
	if p.Limit <= 0 {
		return s
	}
	if !p.After.IsZero() {
		at := place(list, p.After)
		switch {
		case newestFirst:
			list = list[:at]
		case at < len(list) && list[at].Position().Compare(p.After) == 0:
			list = list[at+1:]
		default:
			list = list[at:]
		}
	}
	skip := max(p.Offset, 0)
	for i := range list {
		item := list[i]
		if newestFirst {
			item = list[len(list)-1-i]
		}
		switch {
		case shows != nil && !shows(item):
		case skip > 0:
			skip--
		case len(s.items) == p.Limit:
			s.next = s.items[p.Limit-1].Position()
			return s
		default:
			s.items = append(s.items, item)
		}
	}
	return s
}

// clones returns what the receiver of a page may keep.
func clones[T any](items []*T, clone func(*T) T) []T {
	var all []T
	for _, item := range items {
		all = append(all, clone(item))
	}
	return all
}
