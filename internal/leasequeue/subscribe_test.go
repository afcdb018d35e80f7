package leasequeue_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/leasequeue"
)

// notices are the subscriptions of a table.
type notices struct {
	mu    sync.Mutex
	wakes map[int]func()
	next  int
}

func (n *notices) subscribe(wake func()) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wakes == nil {
		n.wakes = make(map[int]func())
	}
	n.next++
	mine := n.next
	n.wakes[mine] = wake
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.wakes, mine)
	}
}

func (n *notices) notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, wake := range n.wakes {
		wake()
	}
}

func (n *notices) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.wakes)
}

func TestTableWakesEveryEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb, n := newTable(), new(notices)
		ctx, cancel := context.WithCancel(t.Context())
		handled := make(chan int, 10)
		ended := make(chan error, 3)
		for i := range 2 {
			e := leasequeue.New[lease](tb, leasequeue.Options{
				Lost: errLost, Poll: time.Hour, Logger: slog.New(slog.DiscardHandler), Subscribe: n.subscribe,
			})
			go func() {
				ended <- e.Consume(ctx, 1, func(context.Context, lease) leasequeue.Verdict {
					handled <- i
					time.Sleep(time.Minute)
					return done
				})
			}()
		}
		synctest.Wait()
		assert.Equal(t, 2, n.count())
		start := time.Now()
		tb.add("a")
		tb.add("b")
		n.notify()
		first, second := <-handled, <-handled
		assert.NotEqual(t, first, second, "both engines were woken")
		assert.Zero(t, time.Since(start))
		pass(2 * time.Minute)
		cancel()
		for range 2 {
			require.NoError(t, <-ended)
		}
		assert.Zero(t, n.count(), "subscriptions when every Consume has returned")
	})
}

// TestSubscriptionComesFirst: a job that is added while the first claim runs is not left to the next poll.
func TestSubscriptionComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb, n := newTable(), new(notices)
		added := sync.OnceFunc(func() {
			tb.add("a")
			n.notify()
		})
		handled := make(chan struct{}, 1)
		e := leasequeue.New[lease](afterClaim{tb, added}, leasequeue.Options{Lost: errLost, Poll: time.Hour, Subscribe: n.subscribe})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- e.Consume(ctx, 1, func(context.Context, lease) leasequeue.Verdict {
				handled <- struct{}{}
				return done
			})
		}()
		start := time.Now()
		<-handled
		assert.Zero(t, time.Since(start))
		cancel()
		require.NoError(t, <-ended)
	})
}

// afterClaim is a table to which something happens after each claim.
type afterClaim struct {
	*table
	happens func()
}

func (a afterClaim) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]lease, error) {
	leases, err := a.table.Claim(ctx, token, now, until, limit, except...)
	a.happens()
	return leases, err
}
