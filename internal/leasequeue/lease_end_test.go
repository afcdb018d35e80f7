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

	"github.com/seed-6363c74e/mortise/internal/leasequeue"
)

// TestLossIsHeardBeforeTheEnd: also if the heartbeat is slow, no two handlers run at a time.
func TestLossIsHeardBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable("a")
		tb.set("Extend", errTable)
		e := leasequeue.New[lease](tb, leasequeue.Options{Lost: errLost, TTL: 15 * time.Second, Heartbeat: 14 * time.Second, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var lostAfter time.Duration
		var running, most int
		var mu sync.Mutex
		done := make(chan error, 1)
		go func() {
			done <- e.Consume(ctx, 2, func(ctx context.Context, l lease) leasequeue.Verdict {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				<-ctx.Done()
				mu.Lock()
				running--
				if lostAfter == 0 {
					lostAfter = time.Since(start)
				}
				mu.Unlock()
				return leasequeue.Verdict{Done: true}
			})
		}()
		time.Sleep(29 * time.Second)
		cancel()
		tb.set("Extend", nil)
		time.Sleep(time.Minute)
		tb.steal("a")
		<-done
		assert.Less(t, lostAfter, 15*time.Second, "when the first attempt hears that its lease is gone")
		assert.Equal(t, 1, most, "attempts at a time")
	})
}

// slowTable takes its time to claim, and extends as it is told.
type slowTable struct {
	*table
	claim  time.Duration
	extend func(context.Context) error
	ends   []time.Time
}

func (s *slowTable) Claim(ctx context.Context, tok uuid.UUID, now, until time.Time, n int, except ...string) ([]lease, error) {
	l, err := s.table.Claim(ctx, tok, now, until, n, except...)
	if len(l) > 0 {
		s.ends = append(s.ends, until)
		time.Sleep(s.claim)
	}
	return l, err
}
func (s *slowTable) Extend(ctx context.Context, l lease, until time.Time) error {
	if s.extend != nil {
		return s.extend(ctx)
	}
	return s.table.Extend(ctx, l, until)
}

// TestLeaseEndsAsClaimed: a lease counts from the claim, not from when the claim was answered.
func TestLeaseEndsAsClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &slowTable{table: newTable("a"), claim: 4 * time.Second, extend: func(context.Context) error { return errTable }}
		e := leasequeue.New[lease](tb, leasequeue.Options{Lost: errLost, Logger: slog.New(slog.DiscardHandler)})
		var late time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- e.Consume(ctx, 1, func(ctx context.Context, l lease) leasequeue.Verdict {
				end := tb.ends[len(tb.ends)-1]
				<-ctx.Done()
				late = time.Since(end)
				cancel()
				return leasequeue.Verdict{}
			})
		}()
		<-done
		assert.LessOrEqual(t, late, time.Duration(0), "heard of the loss this long after the lease's end")
	})
}

// TestExtendDoesNotHoldUpTheVerdict: a handler that is done need not wait for a table that hangs.
func TestExtendDoesNotHoldUpTheVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &slowTable{table: newTable("a"), extend: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		e := leasequeue.New[lease](tb, leasequeue.Options{Lost: errLost, TTL: time.Hour, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		var finished time.Time
		go func() {
			done <- e.Consume(ctx, 1, func(ctx context.Context, l lease) leasequeue.Verdict {
				time.Sleep(20*time.Minute + time.Second) // one second into the first heartbeat
				finished = time.Now()
				cancel()
				return leasequeue.Verdict{Done: true}
			})
		}()
		<-done
		assert.LessOrEqual(t, time.Since(finished), 10*time.Second, "Consume returned this long after the last handler")
	})
}
