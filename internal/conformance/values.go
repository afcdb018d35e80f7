package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Times are times that a backend might round, or take for another one.
var Times = []time.Time{
	Moment(0), Moment(time.Microsecond), Moment(-time.Microsecond),
	time.Date(2026, 1, 2, 3, 4, 5, 1000, time.UTC), time.Date(2026, 12, 31, 23, 59, 59, 123_457_000, time.UTC),
	time.Date(2024, 12, 31, 23, 59, 59, 999_999_000, time.UTC), time.Date(1999, 12, 31, 23, 59, 59, 1000, time.UTC),
	time.Date(2096, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(1969, 7, 20, 20, 17, 40, 1000, time.UTC), time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC),
}

// Strings are strings that a backend might change, cut or take for another one. They are
// not the same, though a collation may think so. They are UTF-8 without U+0000, as all names are.
var Strings = []string{
	"acme", "ACME", "acme ", " acme", "acm", "acme/", "acm_", "acm%", "acm\u00e9", "acme\u0301", "a'c\"m\\e", "acme\x01", "\x01acme",
	"\U0001F4DA\U0010FFFF", "\ufeffacme", "\u2028\u2029\u202e", "\ufffd", "1", "01", "1.0", "null", "acme\n", "acme\r\n",
}

// SameTime requires that two times are the same instant, and the second one UTC. It makes
// got identical to want, so that the rest can be compared as a whole.
func SameTime(t *testing.T, field string, want time.Time, got *time.Time) {
	t.Helper()
	require.True(t, want.Equal(*got), "%s: want %v, got %v", field, want, *got)
	require.Equal(t, time.UTC, got.Location(), "%s is not in UTC", field)
	*got = want
}

// OneWins requires that exactly one call succeeded and the others returned the sentinel.
// It returns which one.
func OneWins(t *testing.T, errs []error, sentinel error) int {
	t.Helper()
	winner, winners := -1, 0
	for i, err := range errs {
		if err == nil {
			winner = i
			winners++
		} else {
			require.ErrorIs(t, err, sentinel)
		}
	}
	require.Equal(t, 1, winners, "calls that succeeded")
	return winner
}

// Each returns what of returns of each item, in their order: their IDs, say.
func Each[T, R any](items []T, of func(*T) R) []R {
	all := make([]R, len(items))
	for i := range items {
		all[i] = of(&items[i])
	}
	return all
}
