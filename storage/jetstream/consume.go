package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-6363c74e/mortise"
)

// Consume implements [mortise.Queue]. A failure is waited out for as long as the host's
// connection is not closed. Streams and consumers that are gone are created anew.
func (q *Queue) Consume(ctx context.Context, opts mortise.ConsumeOptions, handle mortise.Handler) error {
	if len(opts.Kinds) == 0 {
		return errors.New("jetstream: a consumer needs the kinds of jobs that it takes")
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(opts.Kinds)))
	for _, kind := range kinds {
		if err := (mortise.Job{Kind: kind, Organization: "any", ID: "any"}).Check(); err != nil {
			return err
		}
	}
	c := &consumer{queue: q, kinds: kinds, handle: handle, free: make(chan struct{}, max(opts.Workers, 1))}
	for range cap(c.free) {
		c.free <- struct{}{}
	}
	defer c.running.Wait()
	return c.run(ctx)
}

// consumer is a call of Consume.
type consumer struct {
	queue  *Queue
	kinds  []string
	handle mortise.Handler

	free    chan struct{} // holds a token for each worker that has no job
	ackWait time.Duration // the shortest of the server's consumers; 0: they may not be there
	turn    int           // the kind that is asked first
	running sync.WaitGroup
}

// How long a failure is waited out before the next try.
const (
	leastPause = 50 * time.Millisecond
	mostPause  = 2 * time.Second
)

// run takes and hands out jobs until ctx ends.
func (c *consumer) run(ctx context.Context) error {
	var pause time.Duration
	for {
		slots := c.takeSlots(ctx)
		if slots == 0 {
			return nil
		}
		began := time.Now()
		messages, err := c.next(ctx, slots)
		for i, m := range messages {
			if i >= slots || ctx.Err() != nil {
				c.queue.giveBack(ctx, m)
				continue
			}
			ackWait := c.ackWait
			c.running.Go(func() {
				defer func() { c.free <- struct{}{} }() // whatever the handler does, runtime.Goexit included
				c.deliver(ctx, m, ackWait)
			})
		}
		if ctx.Err() != nil {
			return nil
		}
		for range slots - len(messages) {
			c.free <- struct{}{}
		}
		switch {
		case err != nil:
			if c.queue.conn.IsClosed() {
				return fmt.Errorf("jetstream: cannot go on: %w", nats.ErrConnectionClosed)
			}
			if pause == 0 {
				c.queue.opts.Logger.WarnContext(ctx, "cannot take jobs; trying on", "kinds", c.kinds, "error", err)
			}
			c.ackWait = 0 // whatever is gone is made anew
			pause = min(max(2*pause, leastPause), mostPause)
			sleep(ctx, pause)
		case len(messages) == 0 && time.Since(began) < leastPause: // others wait, too, and come first
			sleep(ctx, leastPause)
			fallthrough
		default:
			pause = 0
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// takeSlots waits for a free worker and takes all that are free. It returns 0 when ctx has
// ended.
func (c *consumer) takeSlots(ctx context.Context) int {
	if ctx.Err() != nil {
		return 0
	}
	select {
	case <-ctx.Done():
		return 0
	case <-c.free:
	}
	n := 1
	for {
		select {
		case <-c.free:
			n++
		default:
			return n
		}
	}
}

// next waits for jobs. Where there are several kinds, they may be more than the slots, by
// one of each kind.
func (c *consumer) next(ctx context.Context, slots int) ([]*nats.Msg, error) {
	if c.ackWait == 0 {
		if err := c.ensure(ctx); err != nil {
			return nil, err
		}
	}
	if len(c.kinds) == 1 {
		return c.queue.pull(ctx, c.kinds, slots, true)
	}
	for range c.kinds {
		kind := c.kinds[c.turn%len(c.kinds)]
		c.turn++
		if messages, err := c.queue.pull(ctx, []string{kind}, slots, false); err != nil || len(messages) > 0 {
			return messages, err
		}
	}
	return c.queue.pull(ctx, c.kinds, 1, true)
}

// ensure creates what is not there.
func (c *consumer) ensure(ctx context.Context) error {
	if err := c.queue.ensure(ctx); err != nil {
		return err
	}
	shortest := time.Duration(math.MaxInt64)
	for _, kind := range c.kinds {
		ackWait, err := c.queue.ensureConsumer(ctx, kind)
		if err != nil {
			return err
		}
		shortest = min(shortest, ackWait)
	}
	c.ackWait = shortest
	return nil
}
