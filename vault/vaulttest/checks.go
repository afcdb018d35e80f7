package vaulttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	orgA = "org-a"
	orgB = "org-b"
)

// moment returns a time of the suites' own calendar.
func moment(d time.Duration) time.Time { return conformance.Moment(d) }

// exactTimes and hard are what a backend might change.
var exactTimes, hard = conformance.Times, conformance.Strings

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
