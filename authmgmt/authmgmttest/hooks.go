package authmgmttest

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
)

// ErrInjected is the error of a fault that was asked for.
var ErrInjected = errors.New("authmgmttest: injected failure")

// Outage returns a hook for [Faults] that fails every call with ErrInjected, until heal is called.
func Outage() (hook func(op string) error, heal func()) {
	var healed atomic.Bool
	hook = func(string) error {
		if healed.Load() {
			return nil
		}
		return ErrInjected
	}
	return hook, func() { healed.Store(true) }
}

// Nth returns a hook for [Faults] that fails the nth call that it sees (1 is the first) with ErrInjected, and no other.
func Nth(n int) func(op string) error {
	var calls atomic.Int64
	return func(string) error {
		if calls.Add(1) == int64(n) {
			return ErrInjected
		}
		return nil
	}
}

// Sometimes returns a hook for [Faults] that fails a call with ErrInjected with probability p. The same seed and the same order of
// calls fail the same ones.
func Sometimes(p float64, seed uint64) func(op string) error {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() < p {
			return ErrInjected
		}
		return nil
	}
}

// On bounds a hook to some ops. Each is the name of one, as "Clients.UpdateClient", or of an interface, as "Clients", for all of its ops.
// Other calls do not reach the hook, so [Nth] does not count them.
func On(hook func(op string) error, ops ...string) func(op string) error {
	return func(op string) error {
		part, _, _ := strings.Cut(op, ".")
		for _, want := range ops {
			if want == op || want == part {
				return hook(op)
			}
		}
		return nil
	}
}
