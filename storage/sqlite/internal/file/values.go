package file

import (
	"errors"
	"time"
)

// Micros is a time as it is stored: NULL for the zero time.
func Micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// CeilMicros rounds a bound up to the precision of the column, which selects the same
// events.
func CeilMicros(t time.Time) int64 {
	m := t.UnixMicro()
	if time.UnixMicro(m).Before(t) {
		m++
	}
	return m
}

// Blob returns an ID or a digest as it is stored, or NULL unless is says
// that there is one.
func Blob(b []byte, is bool) any {
	if !is {
		return nil
	}
	return b
}

// Text returns a copy of a string as it is stored, or NULL unless is says
// that there is one.
func Text[S ~string | ~[]byte](s S, is bool) any {
	if !is {
		return nil
	}
	return string(s)
}

// ErrEnough is returned by a query's function whose further rows do not matter: it ends the
// query without an error.
var ErrEnough = errors.New("sqlite: enough")
