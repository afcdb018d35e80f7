package leases

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/slot"
)

// consumer is a call of Consume.
type consumer struct {
	queue   *Queue
	kinds   []string
	handler mortise.Handler
	held    *holders

	woken chan struct{} // holds a token if a job may be due
	more  chan struct{} // the same, for consumeOthers

	mu   sync.Mutex
	dues []time.Time // when jobs are known to become due, soonest first
}

func (c *consumer) takes(kind string) bool { return slices.Contains(c.kinds, kind) }

// added is told of each job that the table adds.
func (c *consumer) added(kind string) {
	if c.takes(kind) {
		c.wake()
	}
}

// wake makes the consumer look for jobs now if it is idle.
func (c *consumer) wake() {
	signal(c.woken)
	signal(c.more)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// maxDues bounds what a consumer notes. Jobs that are due later than so many others are
// found at a poll.
const maxDues = 1000

// due notes when a job is claimable, and wakes the consumer if it waits for longer than
// that.
func (c *consumer) due(at time.Time) {
	c.mu.Lock()
	i, known := slices.BinarySearchFunc(c.dues, at, time.Time.Compare)
	if !known {
		c.dues = slices.Insert(c.dues, i, at)
		c.dues = c.dues[:min(len(c.dues), maxDues)]
	}
	c.mu.Unlock()
	if i == 0 && !known {
		c.wake()
	}
}

// consume claims and handles jobs until ctx ends, then waits for the running handlers.
func (c *consumer) consume(ctx context.Context) error {
	workers := c.held.workers
	free := make(chan struct{}, workers)
	for range workers {
		free <- struct{}{}
	}
	settling := make(chan struct{}, workers)
	var running sync.WaitGroup
	defer running.Wait()
	if workers > 1 {
		running.Go(func() { c.consumeOthers(ctx) })
	}
	failing := false
	for {
		slots := takeSlots(ctx, free)
		if slots == 0 {
			return nil
		}
		most, except := c.held.room(slots)
		leases, until, err := c.claim(ctx, most, except...)
		if err != nil && ctx.Err() == nil && !failing {
			c.queue.opts.Logger.WarnContext(ctx, "cannot claim jobs; trying on", "error", err)
		}
		failing = err != nil
		if ctx.Err() != nil {
			c.giveBack(ctx, leases)
			return nil
		}
		for range slots - len(leases) {
			free <- struct{}{}
		}
		for _, l := range leases {
			c.held.add(l.Job.Organization, 1)
			running.Go(func() {
				given := false
				give := func() {
					if !given {
						given = true
						if c.held.add(l.Job.Organization, -1) {
							c.wake()
						}
						free <- struct{}{}
					}
				}
				// The next job need not wait until the end of this one is written, by the
				// handler or by settle; but ends must not pile up either.
				ending := false
				defer func() { // whatever the handler does, runtime.Goexit included
					if give(); ending {
						<-settling
					}
				}()
				v, held := c.handle(slot.With(ctx, func() {
					select {
					case settling <- struct{}{}:
						ending = true
						give()
					default: // the handler writes its end in its place
					}
				}), l, until, true)
				if !ending {
					settling <- struct{}{}
					ending = true
					give()
				}
				if held {
					_ = c.queue.settle(context.WithoutCancel(ctx), l, v) // logged
				}
			})
		}
		switch {
		case len(leases) == slots: // there may be more, for an idle consumer beside this one
			c.queue.wake(c, c.kinds...)
		case len(leases) == 0:
			if !c.idle(ctx) {
				return nil
			}
		}
	}
}

// giveBack releases what was claimed when ctx had ended already.
func (c *consumer) giveBack(ctx context.Context, leases []mortise.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	for _, l := range leases {
		_ = c.queue.settle(ctx, l, mortise.Verdict{}) // logged
	}
}

// takeSlots waits for a free slot and takes all that are free. It returns 0 when ctx has ended.
func takeSlots(ctx context.Context, free chan struct{}) int {
	if ctx.Err() != nil {
		return 0
	}
	select {
	case <-ctx.Done():
		return 0
	case <-free:
	}
	n := 1
	for {
		select {
		case <-free:
			n++
		default:
			return n
		}
	}
}

// poll is how long to wait for the next look for jobs.
func (c *consumer) poll() time.Duration {
	wait := c.queue.opts.Poll
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.dues) > 0 {
		wait = max(min(wait, time.Until(c.dues[0])), time.Millisecond)
	}
	return wait
}

// idle waits until a job may be due. It returns false when ctx has ended.
func (c *consumer) idle(ctx context.Context) bool {
	timer := time.NewTimer(c.poll())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-c.woken:
	case <-timer.C:
	}
	return true
}

// claim returns leases and their end.
func (c *consumer) claim(ctx context.Context, limit int, except ...string) ([]mortise.Lease, time.Time, error) {
	now := time.Now()
	c.mu.Lock()
	c.dues = slices.DeleteFunc(c.dues, func(at time.Time) bool { return !at.After(now) })
	c.mu.Unlock()
	// A claim that was cut off halfway would hold its jobs until the lease ends, so it
	// does not end with ctx.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	ttl := c.queue.opts.TTL
	leases, err := c.queue.leases.Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: c.kinds, Except: except, Limit: limit, TTL: ttl})
	return leases, now.Add(ttl), err
}

// handle calls the handler with one lease, which ends at until. held is false if the lease
// was lost meanwhile: then the verdict does not count.
func (c *consumer) handle(ctx context.Context, l mortise.Lease, until time.Time, heartbeat bool) (v mortise.Verdict, held bool) {
	holding, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	if heartbeat {
		// Most handlers end before the first heartbeat: they need no goroutine for it.
		var beating sync.WaitGroup
		beating.Add(1)
		first := time.AfterFunc(time.Until(c.queue.nextBeat(time.Now(), until)), func() {
			defer beating.Done()
			c.queue.beat(holding, l, until, lose)
		})
		defer func() {
			if lose(nil); !first.Stop() {
				beating.Wait()
			}
		}()
	}
	v = c.handler(holding, mortise.Delivery(l))
	return v, holding.Err() == nil
}

// holders counts how many workers each organization has.
type holders struct {
	workers int
	perOrg  int           // the most that one organization may have; 0: all
	full    chan struct{} // holds a token if one organization has got all workers

	mu    sync.Mutex
	busy  int
	byOrg map[string]int
}

func newHolders(workers, perOrg int) *holders {
	return &holders{workers: workers, perOrg: perOrg, full: make(chan struct{}, 1), byOrg: make(map[string]int)}
}

// add counts n more workers of an organization. It reports whether the organization had as
// many as it may have.
func (h *holders) add(org string, n int) (hadAll bool) {
	h.mu.Lock()
	h.busy += n
	hadAll = h.perOrg > 0 && h.byOrg[org] >= h.perOrg
	if h.byOrg[org] += n; h.byOrg[org] == 0 {
		delete(h.byOrg, org)
	}
	full := h.all()
	h.mu.Unlock()
	if full {
		signal(h.full)
	}
	return hadAll
}

// room returns how many jobs a claim for so many slots may take, so that no organization gets
// more workers than it may have, and which organizations have as many.
func (h *holders) room(slots int) (most int, except []string) {
	if h.perOrg <= 0 {
		return slots, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	most = min(slots, h.perOrg)
	for org, n := range h.byOrg {
		if n >= h.perOrg {
			except = append(except, org)
		} else {
			most = min(most, h.perOrg-n)
		}
	}
	return most, except
}

// all reports whether one organization has all workers. The caller holds the lock.
func (h *holders) all() bool { return h.busy == h.workers && len(h.byOrg) == 1 }

// only returns the organization that has all workers, if one has.
func (h *holders) only() (org string, all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all() {
		for org := range h.byOrg {
			return org, true
		}
	}
	return "", false
}

// consumeOthers handles jobs of other organizations, one at a time, whenever one
// organization has all workers. It returns when ctx has ended.
func (c *consumer) consumeOthers(ctx context.Context) {
	for ctx.Err() == nil {
		org, all := c.held.only()
		if !all {
			select {
			case <-ctx.Done():
			case <-c.held.full:
			}
			continue
		}
		_, except := c.held.room(1)
		leases, until, err := c.claim(ctx, 1, append(except, org)...)
		if ctx.Err() != nil {
			c.giveBack(ctx, leases)
			return
		}
		if err == nil && len(leases) > 0 {
			c.handleOther(ctx, leases[0], until)
			continue
		}
		poll := time.NewTimer(c.poll())
		select {
		case <-ctx.Done():
		case <-c.held.full: // of another organization, perhaps
		case <-c.more:
		case <-poll.C:
		}
		poll.Stop()
	}
}

// handleOther handles a job on a goroutine of its own, which the handler may end
// (runtime.Goexit).
func (c *consumer) handleOther(ctx context.Context, l mortise.Lease, until time.Time) {
	var ended sync.WaitGroup
	ended.Go(func() {
		if v, held := c.handle(ctx, l, until, true); held {
			_ = c.queue.settle(context.WithoutCancel(ctx), l, v) // logged
		}
	})
	ended.Wait()
}
