package mortise

// MaxPageSize is how many items a page of a list may hold: the bound of the limit of all
// lists. A Service takes 0 for 50.
const MaxPageSize = 1000

// Page is a part of a list, in the order of the list.
type Page[T any] struct {
	Items []T // nil or empty: there are none

	// Next is the cursor at which the next page begins. If it is "", this page is the last
	// one; a page with a Next may have fewer items than its limit.
	Next Cursor
}

// Cursor is where a page of a list begins. "" is the start of the list. The other cursors
// are opaque: a caller takes one from a [Page] as it is.
//
// A cursor is a place in the order of the list. It stays where it is while items come and
// go, so paging neither repeats nor skips items that exist throughout. It outlives the
// process, the item before it, and a move to another backend.
//
// A cursor has at most 512 characters, and none that needs an escape in a URL. It may be
// shown to all who may see the items of the list. Another text is a [*ValidationError]
// at "after". A cursor of another list is one, too, or it begins somewhere in this list; it
// never shows an item that the list does not have.
type Cursor string
