package sqlite

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"time"
)

// row is a row of a result. Its methods return a column, the zero value for NULL. If the
// column is of another type, which it is in a damaged file only, the row's err says so.
// What they return is the caller's own.
type row struct {
	values []driver.Value
	err    error
}

func (r *row) null(i int) bool { return r.values[i] == nil }

func cell[T any](r *row, i int) (value T) {
	if r.values[i] == nil {
		return value
	}
	value, ok := r.values[i].(T)
	if !ok {
		r.err = fmt.Errorf("sqlite: a row is damaged: column %d is of type %T", i, r.values[i])
	}
	return value
}

func (r *row) text(i int) string { return cell[string](r, i) }
func (r *row) number(i int) int  { return int(cell[int64](r, i)) }

// bytes is a text of which nil is a value.
func (r *row) bytes(i int) []byte {
	if r.null(i) {
		return nil
	}
	return []byte(r.text(i))
}

// blob copies an ID or a digest into dst.
func (r *row) blob(i int, dst []byte) {
	if b := cell[[]byte](r, i); copy(dst, b) != len(dst) && b != nil {
		r.err = fmt.Errorf("sqlite: a row is damaged: column %d has %d bytes", i, len(b))
	}
}

// digests are any number of digests, one behind the other.
func (r *row) digests(i int) (list [][32]byte) {
	b := cell[[]byte](r, i)
	if len(b)%32 != 0 {
		r.err = fmt.Errorf("sqlite: a row is damaged: column %d has %d bytes", i, len(b))
		return nil
	}
	for digest := range slices.Chunk(b, 32) {
		list = append(list, [32]byte(digest))
	}
	return list
}

// milliseconds is a duration.
func (r *row) milliseconds(i int) time.Duration {
	return time.Duration(cell[int64](r, i)) * time.Millisecond
}

// moment is a time. The zero time is stored as NULL.
func (r *row) moment(i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return time.UnixMicro(cell[int64](r, i)).UTC()
}
