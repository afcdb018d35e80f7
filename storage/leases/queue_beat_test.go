package leases_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

func TestHeartbeatKeepsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, "a")
		var calls list[int]
		q := leases.New(tb, quiet())
		c := consume(t, q, 2, func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
			calls.add(d.Deliveries)
			time.Sleep(time.Hour)
			assert.NoError(t, ctx.Err())
			return done
		})
		pass(30 * time.Minute)
		tb.set("Extend", errTable)
		pass(9 * time.Second) // one heartbeat may fail
		tb.set("Extend", nil)
		pass(time.Hour)
		assert.Equal(t, []int{1}, calls.get())
		assert.Zero(t, tb.jobs())
		assert.InDelta(t, 720, tb.count("Extend"), 2, "every five seconds")
		c.stop()
	})
}

func TestLostLease(t *testing.T) {
	for name, lose := range map[string]func(*table){
		"taken by another":   func(tb *table) { tb.steal("a") },
		"cannot be extended": func(tb *table) { tb.set("Extend", errTable) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := newTable(t, "a")
				start := time.Now()
				var ended list[time.Duration]
				q := leases.New(tb, quiet())
				c := consume(t, q, 1, func(ctx context.Context, _ mortise.Delivery) mortise.Verdict {
					lose(tb)
					<-ctx.Done()
					assert.Equal(t, mortise.ErrLeaseLost, context.Cause(ctx))
					ended.add(time.Since(start))
					return done
				})
				pass(16 * time.Second)
				if assert.Len(t, ended.get(), 1) {
					assert.LessOrEqual(t, ended.get()[0], 15*time.Second, "not after the lease")
				}
				assert.Zero(t, tb.count("Remove"), "the verdict is ignored")
				c.stop()
			})
		})
	}
}

// TestLossIsHeardBeforeTheEnd: also if the heartbeat is slow, no two handlers run at a time.
func TestLossIsHeardBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(t, "a")
		tb.set("Extend", errTable)
		opts := quiet()
		opts.TTL, opts.Heartbeat = 15*time.Second, 14*time.Second
		start := time.Now()
		var lost list[time.Duration]
		var running most
		q := leases.New(tb, opts)
		c := consume(t, q, 2, func(ctx context.Context, _ mortise.Delivery) mortise.Verdict {
			defer running.enter()()
			<-ctx.Done()
			lost.add(time.Since(start))
			return done
		})
		pass(29 * time.Second)
		assert.Less(t, lost.get()[0], 15*time.Second, "when the first attempt hears of it")
		assert.Equal(t, 1, running.get(), "attempts at a time")
		c.stop()
	})
}

// slowTable takes its time to claim, and extends as it is told.
type slowTable struct {
	*table
	claim  time.Duration
	extend func(context.Context) error
	ends   list[time.Time]
}

func (s *slowTable) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	end := time.Now().Add(c.TTL)
	leases, err := s.table.Claim(ctx, c)
	if len(leases) > 0 {
		s.ends.add(end)
		time.Sleep(s.claim)
	}
	return leases, err
}

func (s *slowTable) Extend(ctx context.Context, _ mortise.Lease, _ time.Duration) error {
	return s.extend(ctx)
}

// TestLeaseEndsAsClaimed: a lease counts from the claim, not from when the claim was
// answered.
func TestLeaseEndsAsClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &slowTable{table: newTable(t, "a"), claim: 4 * time.Second}
		tb.extend = func(context.Context) error { return errTable }
		heard := make(chan time.Time, 10)
		q := leases.New(tb, quiet())
		c := consume(t, q, 1, func(ctx context.Context, _ mortise.Delivery) mortise.Verdict {
			<-ctx.Done()
			heard <- time.Now()
			return mortise.Verdict{}
		})
		late := (<-heard).Sub(tb.ends.get()[0])
		assert.LessOrEqual(t, late, time.Duration(0), "after the lease's end")
		c.stop()
	})
}

// TestExtendDoesNotHoldUpTheVerdict: a handler that is done need not wait for a table that
// hangs.
func TestExtendDoesNotHoldUpTheVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &slowTable{table: newTable(t, "a")}
		tb.extend = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		opts := quiet()
		opts.TTL = time.Hour
		finished := make(chan time.Time, 1)
		q := leases.New(tb, opts)
		c := consume(t, q, 1, func(context.Context, mortise.Delivery) mortise.Verdict {
			time.Sleep(20*time.Minute + time.Second) // one second into the first heartbeat
			finished <- time.Now()
			return done
		})
		at := <-finished
		c.stop()
		assert.LessOrEqual(t, time.Since(at), 10*time.Second, "until Consume returned")
		assert.Zero(t, tb.jobs())
	})
}

// TestLossIsHeardWhileTheTableHangs: a table that does not answer does not keep the handler
// from hearing of the loss before the lease ends.
func TestLossIsHeardWhileTheTableHangs(t *testing.T) {
	for _, heartbeat := range []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 7 * time.Second, 13 * time.Second} {
		t.Run(heartbeat.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := &slowTable{table: newTable(t, "a")}
				tb.extend = func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				}
				opts := quiet()
				opts.TTL, opts.Heartbeat = 15*time.Second, heartbeat
				heard := make(chan time.Time, 10)
				q := leases.New(tb, opts)
				c := consume(t, q, 1, func(ctx context.Context, _ mortise.Delivery) mortise.Verdict {
					<-ctx.Done()
					heard <- time.Now()
					return mortise.Verdict{}
				})
				assert.Less(t, (<-heard).Sub(tb.ends.get()[0]), time.Duration(0), "after the lease's end")
				c.stop()
			})
		})
	}
}

// TestHeartbeatsEndWithTheHandler: however it ends, also at the moment of a heartbeat, and
// while the table does not answer one.
func TestHeartbeatsEndWithTheHandler(t *testing.T) {
	for name, end := range map[string]func(){"returns": func() {}, "ends the goroutine": runtime.Goexit} {
		for _, after := range []time.Duration{0, 5*time.Second - 1, 5 * time.Second, 6 * time.Second, 10 * time.Second} {
			for _, hangs := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", after, " ", hangs), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						tb := &slowTable{table: newTable(t, "a")}
						var late atomic.Int32
						start := time.Now()
						tb.extend = func(ctx context.Context) error {
							if time.Since(start) > after {
								late.Add(1)
							}
							if hangs {
								<-ctx.Done()
							}
							return ctx.Err()
						}
						q := leases.New(tb, quiet())
						c := consume(t, q, 1, func(context.Context, mortise.Delivery) mortise.Verdict {
							time.Sleep(after)
							end()
							return done
						})
						pass(14 * time.Second) // a handler that ended its goroutine has the lease for longer
						assert.Zero(t, late.Load(), "heartbeats after the end")
						c.stop()
					})
				})
			}
		}
	}
}
