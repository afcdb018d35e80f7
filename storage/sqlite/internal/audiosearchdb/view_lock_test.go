package audiosearchdb

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestViewLock(t *testing.T) {
	var l viewLock
	require.NoError(t, l.lock(t.Context(), false))
	require.NoError(t, l.lock(t.Context(), false), "readers are let in together")

	waiting := func(n int) {
		for {
			l.mu.Lock()
			got := len(l.waiting)
			l.mu.Unlock()
			if got == n {
				return
			}
			runtime.Gosched()
		}
	}
	got := make(chan string)
	wait := func(ctx context.Context, name string, writes bool) {
		go func() {
			if l.lock(ctx, writes) != nil {
				name = "no " + name
			}
			got <- name
		}()
	}
	leaves, leave := context.WithCancel(t.Context())
	wait(leaves, "first writer", true)
	waiting(1)
	wait(t.Context(), "second writer", true)
	waiting(2)
	wait(t.Context(), "reader", false)
	waiting(3)
	l.unlock()
	waiting(3)
	leave()
	require.Equal(t, "no first writer", <-got)
	l.unlock()
	require.Equal(t, "second writer", <-got)
	waiting(1) // a reader who came later is not let in before
	l.unlock()
	require.Equal(t, "reader", <-got)

	wait(t.Context(), "writer", true)
	waiting(1)
	reads, leave := context.WithCancel(t.Context())
	wait(reads, "reader", false)
	waiting(2)
	leave()
	require.Equal(t, "no reader", <-got)
	l.unlock()
	require.Equal(t, "writer", <-got)
	wait(t.Context(), "reader", false)
	waiting(1)
	wait(t.Context(), "writer", true)
	waiting(2)
	l.share()
	require.Equal(t, "reader", <-got)
	l.unlock()
	waiting(1) // for both readers
	l.unlock()
	require.Equal(t, "writer", <-got)
	l.unlock()
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, l.lock(ended, false), context.Canceled)
	require.NoError(t, l.lock(t.Context(), true))
}
