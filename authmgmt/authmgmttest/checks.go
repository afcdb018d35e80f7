package authmgmttest

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

const (
	orgA = "org-a"
	orgB = "org-b"

	orgGone = "org-gone" // which is deleted
)

// moment returns a time of the suites' own calendar.
func moment(d time.Duration) time.Time { return conformance.Moment(d) }

// exactTimes and hard are what a backend might change.
var exactTimes, hard = conformance.Times, conformance.Strings

// newDigest returns a digest that nothing else has.
func newDigest() [32]byte {
	id := uuid.New()
	return sha256.Sum256(id[:])
}

// samePointer is conformance.SameTime for times that may not be there.
func samePointer(t *testing.T, field string, want, got *time.Time) {
	t.Helper()
	require.Equal(t, want == nil, got == nil, "%s: want %v, got %v", field, want, got)
	if want != nil {
		conformance.SameTime(t, field, *want, got)
	}
}

// noneIsNil makes an empty slice nil: the contracts do not tell them apart.
func noneIsNil[T any](list *[]T) {
	if len(*list) == 0 {
		*list = nil
	}
}

// sentinels are the errors that say something else than "unavailable".
func sentinels() []error {
	return []error{
		mortise.ErrNotFound, mortise.ErrExists, mortise.ErrDeleted, authmgmt.ErrPendingInvitation, authmgmt.ErrForbidden,
		authmgmt.ErrRBACDisabled,
		authmgmt.ErrInvalidCredentials, authmgmt.ErrGrantPending, authmgmt.ErrUnattended,
		authmgmt.ErrWrongKey,
	}
}

// isFailure requires an error that callers take for "unavailable".
func isFailure(t *testing.T, call string, err error) {
	t.Helper()
	conformance.IsFailure(t, call, err, sentinels())
}
