package authmgmt

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/cursor"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// Paging selects a stretch of a listing: from its start, behind a position, or, for pages
// with numbers, from an offset on.
//
// A listing by positions neither repeats nor leaves out what is there all the time, while
// other things come and go, and each page of it costs the same. By offsets it may do
// both, and a page costs as much as all before it.
type Paging struct {
	// After is where the page before ended: its Next. Zero is the start. It is a place in
	// the order: what stood there may be gone. For tokens, its ID is the text of a UUID.
	After Position

	Offset int  // how many to pass over; 0 or more. A Service refuses it together with After
	Limit  int  // at most mortise.MaxPageSize; a Service takes 0 for 50, a Store returns nothing for it
	Total  bool // count the whole listing, which takes longer the longer it is
}

// Page is a stretch of a listing of clients, tokens or invitations, whose IDs are texts.
// The audit trail has a [mortise.Page].
type Page[T any] struct {
	Items []T
	Next  Position // where the next page begins (as its Paging.After); zero: this is the last one
	Total int      // of the whole listing, at one moment; 0 without Paging.Total
}

// Position is the place of a client, a token or an invitation in a listing of its kind.
// It stays where it is while others come and go.
type Position struct {
	At time.Time // CreatedAt
	ID string
}

// IsZero reports whether p is the zero position: the start of a listing as Paging.After,
// its end as the Next of a page.
func (p Position) IsZero() bool { return p == Position{} }

// Compare orders positions from the oldest to the newest, those of equal times by ID, as
// bytes: negative if p comes before the other one. Listings of clients have this order,
// those of tokens and invitations the opposite one.
func (p Position) Compare(other Position) int {
	return cmp.Or(p.At.Compare(other.At), strings.Compare(p.ID, other.ID))
}

// String returns a text of characters that need no escape in URLs, at most 351 of them,
// which [ParsePosition] reads. That of the zero position is empty. It may be shown
// to anybody who may see the time and the ID, which is all that it holds.
func (p Position) String() string {
	if p.IsZero() {
		return ""
	}
	return cursor.EncodeText(p.At, p.ID)
}

// ParsePosition reads what [Position.String] wrote, and nothing else.
func ParsePosition(text string) (Position, error) {
	if text == "" {
		return Position{}, nil
	}
	at, id, err := cursor.DecodeText(text, name.Max)
	p := Position{At: at, ID: id}
	if err != nil || p.IsZero() {
		return Position{}, errors.New("authmgmt: not a position of a listing; take it from the page before as it is")
	}
	return p, nil
}

// Position returns the client's place in ListClients.
func (c *Client) Position() Position { return Position{At: c.CreatedAt, ID: c.ID} }

// Position returns the token's place in ListTokens.
func (t *Token) Position() Position { return Position{At: t.CreatedAt, ID: t.ID.String()} }

// Position returns the invitation's place in ListInvitations and ListAllInvitations.
func (i *Invitation) Position() Position { return Position{At: i.CreatedAt, ID: i.ID} }

// paging checks what selects a page, and fills in the limit.
func (p *problems) paging(q Paging) Paging {
	q.Limit = p.Limit(q.Limit)
	switch {
	case q.Offset < 0:
		p.Add("offset", "must be 0 or more")
	case q.Offset > 0 && !q.After.IsZero():
		p.Add("offset", "must not be set beside after: a page begins at a position or at an offset")
	}
	// Stores count microseconds, so nothing stands between two of them, nor further away
	// than 64 bits reach.
	if len(q.After.ID) > name.Max || !q.After.At.Equal(time.UnixMicro(q.After.At.UnixMicro())) {
		p.Add("after", "must be a position that a page or ParsePosition returned")
	}
	return q
}

// tokenPaging is paging for tokens, whose IDs are UUIDs.
func (p *problems) tokenPaging(q Paging) Paging {
	if q = p.paging(q); q.After.IsZero() || p.Err() != nil {
		return q
	}
	// Other ways to write a UUID have another order.
	if id, err := uuid.Parse(q.After.ID); err != nil || id.String() != q.After.ID {
		p.Add("after", "must be a position that ListTokens returned")
	}
	return q
}

// each iterates over a listing page by page. It ends after the first error, of which one
// is that of a store whose pages go on where they began.
func each[T any](list func(Paging) (Page[T], error)) iter.Seq2[T, error] {
	return pages.Each(Position{}, errStands, func(after Position) ([]T, Position, bool, error) {
		page, err := list(Paging{After: after, Limit: iteratorPage})
		return page.Items, page.Next, page.Next.Compare(after) != 0, err
	})
}

var errStands = fmt.Errorf("%w: it returned a page that goes on where it began", mortise.ErrUnavailable)

// iteratorPage is how many items an iterator asks for at once.
const iteratorPage = 100
