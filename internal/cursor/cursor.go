// Package cursor writes the place of an item in a listing as an opaque text, and reads it
// back. A listing is ordered by a time and an ID; its cursor is both, so that paging goes
// on at the same place while items arrive.
package cursor

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"
)

// ErrInvalid: the text is no cursor.
var ErrInvalid = errors.New("not a cursor")

const size = 8 + 16

var encoding = base64.RawURLEncoding.Strict()

// Encode returns the cursor of the item with this time, kept to the microsecond, and ID:
// 32 characters of the URL-safe base64 alphabet (RFC 4648 section 5).
func Encode(at time.Time, id uuid.UUID) string {
	var b [size]byte
	binary.BigEndian.PutUint64(b[:], uint64(at.UnixMicro()))
	copy(b[8:], id[:])
	return encoding.EncodeToString(b[:])
}

// Decode reads what Encode wrote, or returns [ErrInvalid].
func Decode(text string) (at time.Time, id uuid.UUID, err error) {
	if len(text) != encoding.EncodedLen(size) {
		return time.Time{}, uuid.Nil, ErrInvalid
	}
	b, err := encoding.DecodeString(text)
	if err != nil || len(b) != size {
		return time.Time{}, uuid.Nil, ErrInvalid
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), uuid.UUID(b[8:]), nil
}

// EncodeText is Encode for an ID that is a text, of any bytes.
func EncodeText(at time.Time, id string) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(id)), uint64(at.UnixMicro()))
	return encoding.EncodeToString(append(b, id...))
}

// DecodeText reads what EncodeText wrote of an ID of at most limit bytes, or returns
// [ErrInvalid].
func DecodeText(text string, limit int) (at time.Time, id string, err error) {
	if len(text) > encoding.EncodedLen(8+limit) {
		return time.Time{}, "", ErrInvalid
	}
	b, err := encoding.DecodeString(text)
	// The decoder passes over line ends wherever they stand.
	if err != nil || len(b) < 8 || len(text) != encoding.EncodedLen(len(b)) {
		return time.Time{}, "", ErrInvalid
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), string(b[8:]), nil
}
