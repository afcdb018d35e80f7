package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise/internal/tracetext"
)

// The years that a timestamptz and the services' JSON both can have. A bound of a listing
// may lie beyond, and is then as good as the last of them.
var (
	firstTime = time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(100000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// stamp is a time as it is stored: NULL for the zero time.
func stamp(t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case t.Before(firstTime):
		return firstTime
	case t.After(lastTime):
		return lastTime
	}
	return t.UTC().Truncate(time.Microsecond)
}

// bound is a time to compare with, which is never NULL.
func bound(t time.Time) any {
	if t.IsZero() {
		return t
	}
	return stamp(t)
}

// timeOf reads what stamp has stored.
func timeOf(t pgtype.Timestamptz) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

// bytes is a string as it is stored, in a bytea. What it is given is copied.
func bytes[S ~string | ~[]byte](s S) []byte { return append([]byte{}, s...) }

// bytesIf is the same if is says that there is one, and else NULL.
func bytesIf[S ~string | ~[]byte](s S, is bool) any {
	if !is {
		return nil
	}
	return bytes(s)
}

// ceil rounds a bound up to microseconds, which selects the same rows.
func ceil(t time.Time) time.Time {
	if cut := t.Truncate(time.Microsecond); cut.Before(t) {
		return cut.Add(time.Microsecond)
	}
	return t
}

// endOfTime is after all that is stored.
var endOfTime = lastTime.Add(time.Microsecond)

// upper is the end of a range of times, which is not part of it.
func upper(t time.Time) any {
	if t = ceil(t); t.Before(endOfTime) {
		return bound(t)
	}
	return endOfTime
}

// traceText is a trace carrier as it is stored: NULL for an empty one.
func traceText(trace map[string]string) []byte {
	if len(trace) == 0 {
		return nil
	}
	return []byte(tracetext.Format(trace))
}

func traceMap(text []byte) (map[string]string, error) {
	if text == nil {
		return nil, nil
	}
	return tracetext.Parse(string(text))
}
