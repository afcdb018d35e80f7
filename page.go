package mortise

// MaxPageSize is how many items a page of a list may hold: the bound of the Limit of all
// queries. A Service takes 0 for 50.
const MaxPageSize = 1000

// Page is a stretch of a listing: of events, keys, runs or an audit trail. Each has its
// place in an order that stays while others come and go.
type Page[T any] struct {
	Items []T

	// Next is where the next page begins, as the After of its query. If it is zero, this
	// is the last page.
	Next Position
}
