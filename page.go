package mortise

// Page is a stretch of a listing: of events, keys, runs or an audit trail. Each has its
// place in an order that stays while others come and go.
type Page[T any] struct {
	Items []T

	// Next is where the next page begins, as the After of its query. If it is zero, this
	// is the last page.
	Next Position
}
