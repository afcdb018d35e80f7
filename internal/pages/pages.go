// Package pages reads cursors, checks and cuts pages, and iterates over lists, for the services
// and backends of all domains.
package pages

import (
	"fmt"
	"iter"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// Each iterates over a list page by page, from a cursor on. It ends after the first error.
// A page whose Next is its own beginning is [mortise.ErrUnavailable].
func Each[T any](
	after mortise.Cursor, list func(after mortise.Cursor) (mortise.Page[T], error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for at := after; ; {
			var none T
			page, err := list(at)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			switch page.Next {
			case "":
				return
			case at:
				yield(none, ErrNoFurther)
				return
			}
			at = page.Next
		}
	}
}

// Check returns an error if a store's page breaks the contract of lists: it has more items than
// its limit, or a Next and no items, or the Next that it was given.
func Check[T any](page mortise.Page[T], after mortise.Cursor, limit int) error {
	switch {
	case len(page.Items) > limit:
		return fmt.Errorf("%w: the store returned a page of %d items, over its limit of %d", mortise.ErrUnavailable, len(page.Items), limit)
	case page.Next != "" && (page.Next == after || len(page.Items) == 0):
		return ErrNoFurther
	}
	return nil
}

// ErrNoFurther: a list returned the cursor again that it was given.
var ErrNoFurther = fmt.Errorf("%w: the store returned a page whose Next is where the page began", mortise.ErrUnavailable)

// CheckLimit returns an error if limit is not valid for a page.
func CheckLimit(limit int) error {
	if limit < 1 || limit > mortise.MaxPageSize {
		return &mortise.ValidationError{Problems: []mortise.Problem{{
			Path: mortise.Path{{Field: "limit"}}, Message: fmt.Sprintf("must be between 1 and %d", mortise.MaxPageSize),
		}}}
	}
	return nil
}

// Cut makes a page of items that follow each other in a list. A backend gives it one item
// more than the page may hold, if there is one: then the page is not the last one.
func Cut[T any](items []T, limit int, position func(*T) mortise.Position) mortise.Page[T] {
	if len(items) <= limit {
		return mortise.Page[T]{Items: items}
	}
	return mortise.Page[T]{Items: items[:limit], Next: position(&items[limit-1]).Cursor()}
}

// Ceil rounds a bound of a list up to the precision of stored times, which selects the
// same items.
func Ceil(t time.Time) time.Time {
	if cut := t.Truncate(time.Microsecond); cut.Before(t) {
		t = cut.Add(time.Microsecond)
	}
	return t.UTC()
}
