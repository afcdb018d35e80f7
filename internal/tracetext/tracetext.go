// Package tracetext is the text of a trace carrier in a database, for all backends.
package tracetext

import "net/url"

// Format writes a carrier as it is stored: a query string, in the order of its keys, which
// keeps every byte and can be read. It is empty for none.
func Format(trace map[string]string) string {
	values := make(url.Values, len(trace))
	for k, v := range trace {
		values.Set(k, v)
	}
	return values.Encode()
}

// Parse reads the text of Format.
func Parse(text string) (map[string]string, error) {
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
