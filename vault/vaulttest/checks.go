package vaulttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	orgA = "org-a"
	orgB = "org-b"
)

// moment returns a time of the suite's own calendar, well in the past. It has
// microseconds, which stores keep.
func moment(d time.Duration) time.Time {
	return time.Date(2024, 3, 14, 15, 9, 26, 535_897_000, time.UTC).Add(d)
}

// exactTimes are times that a backend might round, or take for another one.
var exactTimes = []time.Time{
	moment(0), moment(time.Microsecond), moment(-time.Microsecond),
	time.Date(2024, 12, 31, 23, 59, 59, 999_999_000, time.UTC), time.Date(1999, 12, 31, 23, 59, 59, 1000, time.UTC),
	time.Date(1969, 7, 20, 20, 17, 40, 1000, time.UTC), time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC),
}

// hard are strings that a backend might change, cut or take for another one. They are not
// the same, though a collation may think so.
var hard = []string{
	"acme", "ACME", "acme ", " acme", "acm", "acme/", "acm_", "acm%", "acm\u00e9", "acme\u0301", "a'c\"m\\e", "acme\x00", "acme\x00\x00",
	"\x00acme",
	"\U0001F4DA\U0010FFFF", "\ufeffacme", "\u2028\u2029\u202e", "\ufffd", "\xff", "\xfe\xff", "1", "01", "1.0", "null", "acme\n", "acme\r\n",
}

// sameTime compares two times and makes got identical to want, so that the rest can be
// compared as a whole.
func sameTime(t *testing.T, field string, want time.Time, got *time.Time) {
	t.Helper()
	require.True(t, want.Equal(*got), "%s: want %v, got %v", field, want, *got)
	require.Equal(t, time.UTC, got.Location(), "%s is not in UTC", field)
	*got = want
}

// oneWins requires that exactly one call succeeded and the others returned the sentinel.
// It returns which one.
func oneWins(t *testing.T, errs []error, sentinel error) int {
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

// sentinels are the errors that say something else than "unavailable".
func sentinels() []error {
	return []error{
		vault.ErrNotFound, vault.ErrExists, vault.ErrDeleted, vault.ErrTableNotFound, vault.ErrColumnNotFound, vault.ErrGroupNotFound, vault.ErrNotDeterministic,
		vault.ErrNotTokenized, vault.ErrValueNotFound, vault.ErrTokenNotFound, format.ErrMismatch, vault.ErrInvalid,
		vault.ErrForbidden, vault.ErrScopeInUse, vault.ErrConflict, vault.ErrTokenConflict, format.ErrExhausted, vault.ErrFull, keyring.ErrCorrupt, keyring.ErrUnknownKey, keyring.ErrWrongKey,
		keyring.ErrRetired, keyring.ErrInUse,
	}
}

// isFailure requires an error that callers take for "unavailable".
func isFailure(t *testing.T, call string, err error) {
	t.Helper()
	require.Error(t, err, call)
	for _, sentinel := range sentinels() {
		require.NotErrorIs(t, err, sentinel, call)
	}
	var taken *vault.TakenError
	require.NotErrorAs(t, err, &taken, call)
}
