package authmgmttest

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// maxKeyChecks is how many values a store must be able to note.
const maxKeyChecks = 64

// updateKeyChecks calls the method.
func (s *subject) updateKeyChecks(ctx context.Context, update func([][32]byte) ([][32]byte, error)) error {
	return s.Store.(authmgmt.KeyChecker).UpdateKeyChecks(ctx, update)
}

// notes makes values the only ones that are noted.
func (s *subject) notes(t *testing.T, values ...[32]byte) {
	t.Helper()
	require.NoError(t, s.updateKeyChecks(t.Context(), func([][32]byte) ([][32]byte, error) { return values, nil }))
}

// hasNoted requires that these values are noted, in this order.
func (s *subject) hasNoted(t *testing.T, want ...[32]byte) {
	t.Helper()
	var got [][32]byte
	require.NoError(t, s.updateKeyChecks(t.Context(), func(noted [][32]byte) ([][32]byte, error) {
		got = noted
		return noted, nil
	}))
	noneIsNil(&got)
	require.Equal(t, want, got)
}

// newDigests returns n digests that nothing else has.
func newDigests(n int) (digests [][32]byte) {
	for range n {
		digests = append(digests, newDigest())
	}
	return digests
}

// keyCheckRules are the rules of KeyChecker.
var keyCheckRules = []rule{
	{Rule{"keychecker/stores-what-it-returns", "UpdateKeyChecks calls update with what is stored, at first nothing, and stores what it returns: up to 64 values, every bit of them, in their order."}, needStore | needKeyChecker,
		func(t *testing.T, s *subject) {
			s.hasNoted(t)
			last, full := newDigest(), [32]byte{}
			for i := range full {
				full[i] = 0xff
			}
			for _, values := range [][][32]byte{{last}, {last, newDigest()}, {{}, full, last}, newDigests(maxKeyChecks), {full}, {{}}, nil, {last}} {
				s.notes(t, values...)
				s.hasNoted(t, values...)
				s.hasNoted(t, values...)
			}
		}},

	{Rule{"keychecker/update-copies", "UpdateKeyChecks calls update with a copy, and keeps a copy of what it returns."}, needStore | needKeyChecker,
		func(t *testing.T, s *subject) {
			first, second := newDigest(), newDigest()
			given := [][32]byte{first, second}
			s.notes(t, given...)
			given[0] = newDigest()
			s.hasNoted(t, first, second)
			require.ErrorIs(t, s.updateKeyChecks(t.Context(), func(noted [][32]byte) ([][32]byte, error) {
				given = noted
				noted[0] = newDigest()
				return nil, errRefused
			}), errRefused)
			given[1] = newDigest()
			s.hasNoted(t, first, second)
		}},

	{Rule{"keychecker/update-error-changes-nothing", "An error of the function that UpdateKeyChecks is given leaves everything as it was, and is returned so that errors.Is finds it."}, needStore | needKeyChecker,
		func(t *testing.T, s *subject) {
			first := newDigest()
			for _, noted := range [][][32]byte{nil, {first}} {
				for _, cause := range []error{errRefused, fmt.Errorf("because: %w", errRefused), fmt.Errorf("%w: %w", authmgmt.ErrWrongKey, errRefused)} {
					require.ErrorIs(t, s.updateKeyChecks(t.Context(), func([][32]byte) ([][32]byte, error) { return newDigests(2), cause }), errRefused)
					s.hasNoted(t, noted...)
				}
				s.notes(t, first)
			}
		}},

	{Rule{"keychecker/update-panic", "A panic of the function that UpdateKeyChecks is given goes on to the caller, leaves everything as it was, and the store usable."}, needStore | needKeyChecker,
		func(t *testing.T, s *subject) {
			const value = "of a rule of authmgmttest; nothing is wrong"
			first := newDigest()
			s.notes(t, first)
			require.PanicsWithValue(t, value, func() {
				_ = s.updateKeyChecks(t.Context(), func([][32]byte) ([][32]byte, error) { panic(value) })
			})
			s.hasNoted(t, first)
			s.notes(t, newDigest())
		}},

	{Rule{"keychecker/update-goexit", "A function that ends its goroutine (runtime.Goexit) leaves everything as it was, and the store usable; UpdateKeyChecks does not return nil."}, needStore | needKeyChecker,
		func(t *testing.T, s *subject) {
			first := newDigest()
			s.notes(t, first)
			err := errRefused // what stays if the goroutine of the caller ends
			conformance.Together(1, func(int) {
				err = s.updateKeyChecks(t.Context(), func([][32]byte) ([][32]byte, error) {
					runtime.Goexit()
					return nil, nil
				})
			})
			require.Error(t, err, "the update succeeded")
			s.hasNoted(t, first)
			s.notes(t, newDigest())
		}},

	{Rule{"keychecker/update-concurrent", "UpdateKeyChecks is atomic: of concurrent updates none is lost."}, needStore | needKeyChecker,
		func(t *testing.T, s *subject) {
			values := newDigests(40)
			errs := make([]error, len(values))
			conformance.Together(len(values), func(i int) {
				errs[i] = s.updateKeyChecks(t.Context(), func(noted [][32]byte) ([][32]byte, error) { return append(noted, values[i]), nil })
			})
			conformance.NoErrors(t, errs)
			var noted [][32]byte
			require.NoError(t, s.updateKeyChecks(t.Context(), func(stored [][32]byte) ([][32]byte, error) {
				noted = stored
				return stored, nil
			}))
			require.ElementsMatch(t, values, noted)
		}},
}
