package cursor

import "time"

// Ceil rounds a bound of a listing up to the precision of stored times, which selects the
// same items.
func Ceil(t time.Time) time.Time {
	if cut := t.Truncate(time.Microsecond); cut.Before(t) {
		t = cut.Add(time.Microsecond)
	}
	return t.UTC()
}
