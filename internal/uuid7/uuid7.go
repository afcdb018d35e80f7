// Package uuid7 makes UUIDs of version 7 (RFC 9562 section 5.7) from a clock and a source
// of randomness that the caller gives.
package uuid7

import (
	"encoding/binary"
	"io"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Source makes IDs in an order: its zero value is ready. It is safe for concurrent use.
type Source struct{ made atomic.Uint32 }

// New returns an ID: 48 bits of milliseconds, so that new rows stand together in an
// index; the microseconds within them (section 6.2, method 3); a counter (method 1), so
// that those of one microsecond are in the order in which they were made; and 48 random
// bits.
func (s *Source) New(random io.Reader, now time.Time) (uuid.UUID, error) {
	var id uuid.UUID
	if _, err := io.ReadFull(random, id[10:]); err != nil {
		return uuid.Nil, err
	}
	binary.BigEndian.PutUint64(id[:8], uint64(now.UnixMilli())<<16|7<<12|uint64(now.Nanosecond()/1000%1000))
	binary.BigEndian.PutUint16(id[8:], uint16(s.made.Add(1)&0x3fff|0x8000))
	return id, nil
}
