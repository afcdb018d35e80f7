package mortise

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Position is for backends: the place of an item in a list, which has the order of a time,
// then of an ID. The Next of a page that is not the last one is the Cursor of the position
// of its last item.
type Position struct {
	At time.Time // UTC, to the microsecond; zero where the list has the order of IDs alone
	ID string    // the text of an ID, at most 255 bytes; the 16 bytes of a UUID; a number, 8 bytes, big-endian
}

// Compare orders positions from the oldest to the newest, and positions of equal times by
// ID, as bytes: negative if p comes before other. Lists that go newest first have the
// opposite order.
func (p Position) Compare(other Position) int {
	return cmp.Or(p.At.Compare(other.At), strings.Compare(p.ID, other.ID))
}

// UUID returns the ID of a list whose IDs are UUIDs. Another ID is a [*ValidationError].
func (p Position) UUID() (uuid.UUID, error) {
	id, err := uuid.FromBytes([]byte(p.ID))
	if err != nil {
		return uuid.Nil, errNoCursor
	}
	return id, nil
}

// Number returns the ID of a list whose IDs are numbers of 0 or more. Another ID is a
// [*ValidationError].
func (p Position) Number() (int64, error) {
	if len(p.ID) != 8 || p.ID[0] > 127 {
		return 0, errNoCursor
	}
	return int64(binary.BigEndian.Uint64([]byte(p.ID))), nil
}

// Cursor returns the cursor of the items behind p: the time in microseconds since 1970, 8
// bytes, big-endian, and the ID, in the URL-safe alphabet of base64 (RFC 4648
// section 5), without padding.
func (p Position) Cursor() Cursor {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(p.ID)), uint64(p.At.UnixMicro()))
	return Cursor(cursorText.EncodeToString(append(b, p.ID...)))
}

// Position reads a cursor that [Position.Cursor] made, and no other text: the error is a
// [*ValidationError], for "", the start of a list, too.
func (c Cursor) Position() (Position, error) {
	b, err := cursorText.DecodeString(string(c))
	// The decoder ignores line ends, so the length tells whether there was one.
	if err != nil || len(b) < 8 || len(c) != cursorText.EncodedLen(len(b)) {
		return Position{}, errNoCursor
	}
	return Position{At: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), ID: string(b[8:])}, nil
}

var cursorText = base64.RawURLEncoding.Strict()

var errNoCursor = &ValidationError{Problems: []Problem{{
	Path: Path{{Field: "after"}}, Message: "must be a cursor that a page of this list returned as its Next",
}}}
