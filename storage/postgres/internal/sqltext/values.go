package sqltext

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise/internal/tracetext"
)

// The years that a timestamptz and the services' JSON both can have. A bound of a listing
// may lie beyond, and is then as good as the last of them.
var (
	FirstTime = time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(100000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Stamp is a time as it is stored: NULL for the zero time.
func Stamp(t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case t.Before(FirstTime):
		return FirstTime
	case t.After(lastTime):
		return lastTime
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Bound is a time to compare with, which is never NULL.
func Bound(t time.Time) any {
	if t.IsZero() {
		return t
	}
	return Stamp(t)
}

// TimeOf reads a time that Stamp has stored.
func TimeOf(t pgtype.Timestamptz) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

// Bytes is a string as it is stored, in a bytea. It is a copy.
func Bytes[S ~string | ~[]byte](s S) []byte { return append([]byte{}, s...) }

// BytesIf is the same if is says that there is one, and else NULL.
func BytesIf[S ~string | ~[]byte](s S, is bool) any {
	if !is {
		return nil
	}
	return Bytes(s)
}

// Ceil rounds a bound up to microseconds, which selects the same rows.
func Ceil(t time.Time) time.Time {
	if cut := t.Truncate(time.Microsecond); cut.Before(t) {
		return cut.Add(time.Microsecond)
	}
	return t
}

// EndOfTime is after all that is stored.
var EndOfTime = lastTime.Add(time.Microsecond)

// Upper is the end of a range of times, which is not part of it.
func Upper(t time.Time) any {
	if t = Ceil(t); t.Before(EndOfTime) {
		return Bound(t)
	}
	return EndOfTime
}

// TextIf is a text as it is stored if is says that there is one, and else NULL.
func TextIf[S ~string | ~[]byte](s S, is bool) any {
	if !is {
		return nil
	}
	return string(s)
}

// TraceText is a trace carrier as it is stored: NULL for an empty one.
func TraceText(trace map[string]string) any {
	return TextIf(tracetext.Format(trace), len(trace) > 0)
}

func TraceMap(text []byte) (map[string]string, error) {
	if text == nil {
		return nil, nil
	}
	return tracetext.Parse(string(text))
}
