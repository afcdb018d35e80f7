package authmgmttest

import (
	"errors"

	"github.com/seed-6363c74e/mortise/internal/fault"
)

// ErrInjected is the error of a fault that was asked for.
var ErrInjected = errors.New("authmgmttest: injected failure")

// Outage returns a hook for [Faults] that fails every call with ErrInjected, until heal
// is called.
func Outage() (hook func(op string) error, heal func()) { return fault.Outage(ErrInjected) }

// Nth returns a hook for [Faults] that fails the nth call that it sees (1 is the first)
// with ErrInjected, and no other.
func Nth(n int) func(op string) error { return fault.Nth(ErrInjected, n) }

// Sometimes returns a hook for [Faults] that fails a call with ErrInjected with
// probability p. The same seed and the same order of calls fail the same ones.
func Sometimes(p float64, seed uint64) func(op string) error {
	return fault.Sometimes(ErrInjected, p, seed)
}

// On bounds a hook to some ops. Each is the name of one, as "Clients.UpdateClient", or of
// an interface, as "Clients", for all of its ops. Other calls do not reach the hook, so
// [Nth] does not count them.
func On(hook func(op string) error, ops ...string) func(op string) error {
	return fault.On(hook, ops...)
}
