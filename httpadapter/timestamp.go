package httpadapter

import "time"

// Timestamp is a time on the wire: RFC 3339, UTC, microseconds; null if zero.
type Timestamp time.Time

// MarshalJSON implements [json.Marshaler].
func (t Timestamp) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return time.Time(t).UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000000Z"`), nil
}
