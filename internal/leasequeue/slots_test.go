package leasequeue_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/leasequeue"
)

// TestHandlerThatExits: a handler that ends its goroutine (FailNow of a test does) gives its slot back, and the job comes again.
func TestHandlerThatExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable("a", "b")
		var mu sync.Mutex
		var handled []string
		_, stop := consume(t, tb, 1, func(_ context.Context, l lease) leasequeue.Verdict {
			mu.Lock()
			handled = append(handled, l.job)
			first := len(handled) == 1
			mu.Unlock()
			if first {
				runtime.Goexit()
			}
			return done
		})
		pass(time.Minute)
		stop()
		assert.Equal(t, []string{"a", "b", "a"}, handled)
		assert.Zero(t, tb.left())
	})
}

// slowVerdicts needs a second for each Remove.
type slowVerdicts struct{ *table }

func (s slowVerdicts) Remove(ctx context.Context, l lease, dead bool) error {
	time.Sleep(time.Second)
	return s.table.Remove(ctx, l, dead)
}

// TestVerdictsHoldUpNoJob: while the verdict on a job is written, the next one runs; but only one verdict more than there are workers can be
// under way for each.
func TestVerdictsHoldUpNoJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := leasequeue.New[lease](slowVerdicts{newTable("a", "b", "c", "d")}, leasequeue.Options{Lost: errLost})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		var mu sync.Mutex
		var begun []time.Duration
		start := time.Now()
		go func() {
			ended <- e.Consume(ctx, 1, func(context.Context, lease) leasequeue.Verdict {
				mu.Lock()
				defer mu.Unlock()
				begun = append(begun, time.Since(start))
				return done
			})
		}()
		pass(time.Minute)
		cancel()
		require.NoError(t, <-ended)
		assert.Equal(t, []time.Duration{0, 0, time.Second, 2 * time.Second}, begun)
	})
}
