// Package pages iterates over listings that come page by page.
package pages

import "iter"

// Position is a place in a listing. The zero one is the start of the first page, and what
// follows the last.
type Position interface{ IsZero() bool }

// ID is a Position in a listing by ID.
type ID string

// IsZero reports whether there is no ID.
func (id ID) IsZero() bool { return id == "" }

// Each iterates over pages from a position on. read returns a page, the position of the
// next one, and whether that is further on. Each ends after the first error, which is
// stands if a page goes on where it began.
func Each[T any, P Position](
	from P, stands error, read func(at P) (items []T, next P, further bool, err error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for at := from; ; {
			var none T
			items, next, further, err := read(at)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			switch {
			case next.IsZero():
				return
			case !further:
				yield(none, stands)
				return
			}
			at = next
		}
	}
}
