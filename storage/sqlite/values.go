package sqlite

import (
	"errors"
	"net/url"
	"time"
)

// micros is a time as it is stored: NULL for the zero time.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// ceilMicros rounds a bound up to the precision of the column, which selects the same
// events.
func ceilMicros(t time.Time) int64 {
	m := t.UnixMicro()
	if time.UnixMicro(m).Before(t) {
		m++
	}
	return m
}

// blob returns an ID or a digest as it is stored, or NULL unless is says
// that there is one.
func blob(b []byte, is bool) any {
	if !is {
		return nil
	}
	return b
}

// text returns a copy of a string as it is stored, or NULL unless is says
// that there is one.
func text[S ~string | ~[]byte](s S, is bool) any {
	if !is {
		return nil
	}
	return string(s)
}

// traceText writes a trace carrier as a query string, which keeps every byte and can be
// read.
func traceText(trace map[string]string) any {
	if trace == nil {
		return nil
	}
	values := make(url.Values, len(trace))
	for k, v := range trace {
		values.Set(k, v)
	}
	return values.Encode()
}

func traceMap(text string) (map[string]string, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, err
	}
	trace := make(map[string]string, len(values))
	for k, v := range values {
		trace[k] = v[0]
	}
	return trace, nil
}

// pruneStep is how many rows go at a time: other writes wait for so long.
const pruneStep = 100

// errEnough ends a query whose further rows do not matter.
var errEnough = errors.New("sqlite: enough")
