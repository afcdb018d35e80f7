package fromsqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"time"
)

// column is a column of PostgreSQL's.
type column struct {
	name, is string // is: the type, as format_type writes it
	identity bool   // its values come from a sequence, unless they are given
}

// The years that storage/postgres stores. SQLite has had all that 64 bits have.
var (
	firstTime = time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(100000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// value makes a value of SQLite's one of the column's type, or of a smaller set of types
// that pgx reads too. ok is false if it is none.
func (c *column) value(v any) (_ any, ok bool) {
	if v == nil {
		return nil, true
	}
	switch c.is {
	case "bytea":
		b, ok := asBytes(v)
		return b, ok
	case "text":
		b, ok := asBytes(v)
		return string(b), ok
	case "uuid":
		b, ok := v.([]byte)
		if !ok || len(b) != 16 {
			return nil, false
		}
		return [16]byte(b), true
	case "smallint", "integer", "bigint":
		n, ok := v.(int64)
		return n, ok
	case "boolean":
		n, ok := v.(int64)
		return n == 1, ok && (n == 0 || n == 1)
	case "timestamp with time zone":
		n, ok := v.(int64)
		at := time.UnixMicro(n).UTC()
		switch {
		case at.Before(firstTime):
			at = firstTime
		case at.After(lastTime):
			at = lastTime
		}
		return at, ok
	}
	return nil, false
}

func asBytes(v any) ([]byte, bool) {
	switch v := v.(type) {
	case string:
		return append([]byte{}, v...), true
	case []byte:
		return append([]byte{}, v...), true
	}
	return nil, false
}

// sum is the number of rows, and the sum of their digests modulo 2^256: the same in any
// order, which the two databases do not share.
type sum struct {
	rows   int64
	digest [32]byte
}

// add adds a row of values as column.value or pgx returns them.
func (s *sum) add(values []any) {
	h := sha256.New()
	for _, v := range values {
		var b []byte
		kind := byte(1)
		switch v := v.(type) {
		case nil:
			kind = 0
		case []byte:
			b = v
		case string:
			b = []byte(v)
		case [16]byte:
			b = v[:]
		case bool:
			b = []byte{0}
			if v {
				b[0] = 1
			}
		case time.Time:
			b = number(v.UnixMicro())
		case int64:
			b = number(v)
		case int32:
			b = number(int64(v))
		case int16:
			b = number(int64(v))
		default:
			kind = 2 // of no column: it never equals what the other side has
		}
		h.Write([]byte{kind})
		h.Write(number(int64(len(b))))
		h.Write(b)
	}
	row := h.Sum(nil)
	var carry uint64
	for i := 24; i >= 0; i -= 8 {
		var word uint64
		word, carry = bits.Add64(binary.BigEndian.Uint64(s.digest[i:]), binary.BigEndian.Uint64(row[i:]), carry)
		binary.BigEndian.PutUint64(s.digest[i:], word)
	}
	s.rows++
}

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func (s *sum) hex() string { return hex.EncodeToString(s.digest[:]) }
