package authmgmttest_test

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// storesKeyChecks makes the mutant store what change makes of what an update returns.
func storesKeyChecks(change func(noted, returned [][32]byte) [][32]byte) func(*mutant) {
	return replace("UpdateKeyChecks", func(m *mutant, ctx context.Context, update keyChecksUpdate) error {
		return m.AuthMgmt.UpdateKeyChecks(ctx, func(noted [][32]byte) ([][32]byte, error) {
			returned, err := update(slices.Clone(noted))
			return change(noted, returned), err
		})
	})
}

// keyCheckMutants are wrong about what is noted of the keys.
var keyCheckMutants = []broken{
	{name: "keeps the first key", breaks: "keychecker/stores-what-it-returns keychecker/update-concurrent",
		mutate: storesKeyChecks(func(noted, returned [][32]byte) [][32]byte {
			if len(noted) > 0 {
				return noted
			}
			return returned
		})},
	{name: "forgets no key", breaks: "keychecker/stores-what-it-returns", mutate: storesKeyChecks(func(noted, returned [][32]byte) [][32]byte {
		for _, check := range noted {
			if !slices.Contains(returned, check) {
				returned = append(returned, check)
			}
		}
		return returned
	})},
	{name: "sorts the keys", breaks: "keychecker/stores-what-it-returns", mutate: storesKeyChecks(func(_, returned [][32]byte) [][32]byte {
		returned = slices.Clone(returned)
		slices.SortFunc(returned, func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
		return returned
	})},
	{name: "has room for 63 keys", breaks: "keychecker/stores-what-it-returns",
		mutate: storesKeyChecks(func(_, returned [][32]byte) [][32]byte { return returned[:min(63, len(returned))] })},
	{name: "takes the key of zeros for none", breaks: "keychecker/stores-what-it-returns",
		mutate: storesKeyChecks(func(_, returned [][32]byte) [][32]byte {
			return slices.DeleteFunc(slices.Clone(returned), func(check [32]byte) bool { return check == [32]byte{} })
		})},
	{name: "gives updates the keys themselves", breaks: "keychecker/update-copies", mutate: func(m *mutant) {
		var mu sync.Mutex
		var kept [][32]byte
		m.On.UpdateKeyChecks = func(_ context.Context, update keyChecksUpdate) error {
			mu.Lock()
			defer mu.Unlock()
			returned, err := update(kept)
			if err == nil {
				kept = slices.Clone(returned)
			}
			return err
		}
	}},
	{name: "keeps the caller's list of keys", breaks: "keychecker/update-copies", mutate: func(m *mutant) {
		var mu sync.Mutex
		var kept [][32]byte
		m.On.UpdateKeyChecks = func(_ context.Context, update keyChecksUpdate) error {
			mu.Lock()
			defer mu.Unlock()
			returned, err := update(slices.Clone(kept))
			if err == nil {
				kept = returned
			}
			return err
		}
	}},
	{name: "stores the keys of what was refused", breaks: "keychecker/update-error-changes-nothing",
		mutate: replace("UpdateKeyChecks", func(m *mutant, ctx context.Context, update keyChecksUpdate) (refused error) {
			err := m.AuthMgmt.UpdateKeyChecks(ctx, func(noted [][32]byte) (returned [][32]byte, err error) {
				returned, refused = update(noted)
				return returned, nil
			})
			if err != nil {
				return err
			}
			return refused
		})},
	{name: "forgets the keys when an update panics", breaks: "keychecker/update-panic keychecker/update-goexit",
		mutate: replace("UpdateKeyChecks", func(m *mutant, ctx context.Context, update keyChecksUpdate) error {
			done := false
			defer func() {
				if !done {
					_ = m.AuthMgmt.UpdateKeyChecks(ctx, func([][32]byte) ([][32]byte, error) { return nil, nil })
				}
			}()
			err := m.AuthMgmt.UpdateKeyChecks(ctx, update)
			done = true
			return err
		})},
	{name: "takes an update of the keys that ended its goroutine for done", breaks: "keychecker/update-goexit",
		mutate: replace("UpdateKeyChecks", func(m *mutant, ctx context.Context, update keyChecksUpdate) error {
			return m.AuthMgmt.UpdateKeyChecks(ctx, func(noted [][32]byte) (returned [][32]byte, err error) {
				returned = noted
				var wg sync.WaitGroup
				wg.Go(func() { returned, err = update(noted) })
				wg.Wait()
				return returned, err
			})
		})},
	{name: "reads the keys, and writes them later", breaks: "keychecker/update-concurrent",
		mutate: replace("UpdateKeyChecks", func(m *mutant, ctx context.Context, update keyChecksUpdate) error {
			var returned [][32]byte
			err := m.AuthMgmt.UpdateKeyChecks(ctx, func(noted [][32]byte) (_ [][32]byte, err error) {
				returned, err = update(slices.Clone(noted))
				return noted, err
			})
			if err != nil {
				return err
			}
			conformance.Seam()
			return m.AuthMgmt.UpdateKeyChecks(ctx, func([][32]byte) ([][32]byte, error) { return returned, nil })
		})},
}
