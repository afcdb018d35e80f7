package mortise

import (
	"bytes"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/cursor"
)

// Position is the place of something in a listing that is ordered by a time, those of one
// time by an ID. It stays where it is while others come and go, so that who pages neither
// repeats nor leaves out what is there all the time. It is a place in the order: what
// stood there may be gone.
//
// A number as the ID stands in the last 8 bytes, the highest first. Listings of package
// authmgmt, whose IDs are texts, have positions of their own, with the same methods.
type Position struct {
	At time.Time // kept to the microsecond by what lists
	ID uuid.UUID
}

// IsZero reports whether p is the zero position: the start of a listing where a query has
// it, the end as the Next of a page.
func (p Position) IsZero() bool { return p.ID == uuid.Nil && p.At.IsZero() }

// Compare orders positions from the oldest to the newest, those of equal times by ID, as
// bytes: negative if p comes before other. Listings that go newest first have the
// opposite order.
func (p Position) Compare(other Position) int {
	if c := p.At.Compare(other.At); c != 0 {
		return c
	}
	return bytes.Compare(p.ID[:], other.ID[:])
}

// String returns a text of 32 characters that need no escape in URLs, which
// [ParsePosition] reads: the time in microseconds since 1970, 8 bytes, the highest first,
// and the ID, in the URL-safe alphabet of base64 (RFC 4648 section 5). That of the zero
// position is empty. It may be shown to anybody who may see the time and the ID, which is
// all that it holds.
func (p Position) String() string {
	if p.IsZero() {
		return ""
	}
	return cursor.Encode(p.At, p.ID)
}

// ParsePosition reads what [Position.String] wrote, and nothing else.
func ParsePosition(text string) (Position, error) {
	if text == "" {
		return Position{}, nil
	}
	at, id, err := cursor.Decode(text)
	p := Position{At: at, ID: id}
	if err != nil || p.IsZero() {
		return Position{}, errNoPosition
	}
	return p, nil
}

var errNoPosition = errors.New("mortise: not a position of a listing; take it from the page before as it is")
