package vaulttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
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

// sentinels are the errors that say something else than "unavailable".
func sentinels() []error {
	return []error{
		mortise.ErrNotFound, mortise.ErrExists, mortise.ErrDeleted, vault.ErrTableNotFound, vault.ErrColumnNotFound, vault.ErrGroupNotFound, vault.ErrNotDeterministic,
		vault.ErrNotTokenized, vault.ErrValueNotFound, vault.ErrTokenNotFound, format.ErrMismatch, vault.ErrInvalid,
		vault.ErrForbidden, vault.ErrScopeInUse, vault.ErrConflict, vault.ErrTokenConflict, format.ErrExhausted, vault.ErrFull, keyring.ErrCorrupt, keyring.ErrUnknownKey, keyring.ErrWrongKey,
		keyring.ErrRetired, keyring.ErrInUse,
	}
}

// isFailure requires an error that callers take for "unavailable".
func isFailure(t *testing.T, call string, err error) {
	t.Helper()
	conformance.IsFailure(t, call, err, sentinels())
	var taken *vault.TakenError
	require.NotErrorAs(t, err, &taken, call)
}
