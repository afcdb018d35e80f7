// Package fault makes hooks that fail calls, for the suites and fakes of the domains. A
// hook is asked before each call, by the name of its op, as "Store.Update", and returns
// an error to fail it.
package fault

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
)

// Hook decides about one call.
type Hook = func(op string) error

// Outage fails every call with err, until heal is called.
func Outage(err error) (hook Hook, heal func()) {
	var healed atomic.Bool
	hook = func(string) error {
		if healed.Load() {
			return nil
		}
		return err
	}
	return hook, func() { healed.Store(true) }
}

// Nth fails the nth call that it sees (1 is the first) with err, and no other.
func Nth(err error, n int) Hook {
	var calls atomic.Int64
	return func(string) error {
		if calls.Add(1) == int64(n) {
			return err
		}
		return nil
	}
}

// Sometimes fails a call with err with probability p. The same seed and the same order of
// calls fail the same ones.
func Sometimes(err error, p float64, seed uint64) Hook {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() < p {
			return err
		}
		return nil
	}
}

// On bounds a hook to some ops: the name of one, or of an interface for all of its ops.
// Other calls do not reach the hook.
func On(hook Hook, ops ...string) Hook {
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
