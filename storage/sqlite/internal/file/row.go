package file

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"time"
)

// Row is a row of a result. Its methods return a column, the zero value for NULL. If the
// column is of another type, which it is in a damaged file only, the row's err says so.
// What they return is the caller's own.
type Row struct {
	values []driver.Value
	err    error
}

func (r *Row) Null(i int) bool { return r.values[i] == nil }

func Cell[T any](r *Row, i int) (value T) {
	if r.values[i] == nil {
		return value
	}
	value, ok := r.values[i].(T)
	if !ok {
		r.err = fmt.Errorf("sqlite: a row is damaged: column %d is of type %T", i, r.values[i])
	}
	return value
}

func (r *Row) Text(i int) string { return Cell[string](r, i) }
func (r *Row) Number(i int) int  { return int(Cell[int64](r, i)) }

// Bytes is a text of which nil is a value.
func (r *Row) Bytes(i int) []byte {
	if r.Null(i) {
		return nil
	}
	return []byte(r.Text(i))
}

// Blob copies an ID or a digest into dst.
func (r *Row) Blob(i int, dst []byte) {
	if b := Cell[[]byte](r, i); copy(dst, b) != len(dst) && b != nil {
		r.err = fmt.Errorf("sqlite: a row is damaged: column %d has %d bytes", i, len(b))
	}
}

// Digests are any number of digests, one behind the other.
func (r *Row) Digests(i int) (list [][32]byte) {
	b := Cell[[]byte](r, i)
	if len(b)%32 != 0 {
		r.err = fmt.Errorf("sqlite: a row is damaged: column %d has %d bytes", i, len(b))
		return nil
	}
	for digest := range slices.Chunk(b, 32) {
		list = append(list, [32]byte(digest))
	}
	return list
}

// Milliseconds is a duration.
func (r *Row) Milliseconds(i int) time.Duration {
	return time.Duration(Cell[int64](r, i)) * time.Millisecond
}

// Moment is a time. The zero time is stored as NULL.
func (r *Row) Moment(i int) time.Time {
	if r.Null(i) {
		return time.Time{}
	}
	return time.UnixMicro(Cell[int64](r, i)).UTC()
}

// Forgive reports whether a column that was read is damaged, and makes that no error.
func (r *Row) Forgive() (damaged bool) {
	damaged, r.err = r.err != nil, nil
	return damaged
}
