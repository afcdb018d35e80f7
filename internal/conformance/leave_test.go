package conformance

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLeave: the call leaves while the other one holds it up, on a backend with one lock
// for all, and is over before on one where calls do not wait.
func TestLeave(t *testing.T) {
	mutantProcess(t)
	for range 50 {
		var holding atomic.Bool
		hold := func(f func()) error {
			holding.Store(true)
			defer holding.Store(false)
			f()
			return nil
		}
		err := Leave(t, hold, func(ctx context.Context) error {
			Rest()
			_ = ctx.Err()
			<-ctx.Done()
			if !holding.Load() {
				return errors.New("the other call was over")
			}
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.Canceled)

		require.NoError(t, Leave(t, hold, func(ctx context.Context) error {
			if !holding.Load() {
				return errors.New("the other call was over")
			}
			return ctx.Err()
		}))
	}
}

// TestLeaveLate: a call that cannot leave has its turn when the other one is over.
func TestLeaveLate(t *testing.T) {
	t.Run("a backend", leaveLate)
	t.Run("a mutant", func(t *testing.T) {
		mutantProcess(t)
		leaveLate(t)
	})
}

func leaveLate(t *testing.T) {
	lock := make(chan struct{}, 1)
	hold := func(f func()) error {
		lock <- struct{}{}
		defer func() { <-lock }()
		f()
		return nil
	}
	err := Leave(t, hold, func(ctx context.Context) error {
		_ = ctx.Err()
		if err := hold(func() {}); err != nil {
			return err
		}
		return ctx.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
}
