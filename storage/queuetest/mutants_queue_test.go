package queuetest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

var (
	done  = mortise.Verdict{Kind: mortise.VerdictDone}
	retry = mortise.Verdict{}
)

// afresh is a Reopen that loses everything.
func afresh(t *testing.T, _ queuetest.Backend) queuetest.Backend { return newMutant(t).backend() }

// queueMutants are those of which jobs a queue delivers, and how often.
var queueMutants = []broken{
	{name: "enqueues twice", breaks: "queue/enqueue-twice queue/enqueue-while-running", mutate: func(m *mutant) {
		var enqueued records[mortise.Job] // by those that stand for them in the queue, each time new
		m.On.Enqueue = func(ctx context.Context, j mortise.Job) error {
			proxy := j
			proxy.ID = uuid.NewString()
			enqueued.set(proxy, j)
			return m.queue.Enqueue(ctx, proxy)
		}
		everyDelivery(func(d *delivery) mortise.Verdict {
			d.Job, _ = enqueued.get(d.Job)
			return d.handle(d.ctx, d.Delivery)
		})(m)
	}},
	{name: "drops every other job", breaks: "queue/delivers stepqueue/one-job", mutate: func(m *mutant) {
		var n atomic.Int64
		m.On.Enqueue = func(ctx context.Context, j mortise.Job) error {
			if n.Add(1)%2 == 0 {
				return nil
			}
			return m.queue.Enqueue(ctx, j)
		}
	}},
	{name: "takes jobs that are not valid", breaks: "queue/invalid-job", mutate: func(m *mutant) { m.On.Enqueue = m.Add }},
	{name: "retries no job",
		breaks: "queue/retry queue/zero-verdict queue/retry-after queue/durable queue/consume-waits stepqueue/verdicts",
		mutate: everyDelivery(func(d *delivery) mortise.Verdict {
			d.handle(d.ctx, d.Delivery)
			return done
		})},
	{name: "retries at once", breaks: "queue/retry-after stepqueue/nothing-due", mutate: everyDelivery(func(d *delivery) mortise.Verdict {
		v := d.handle(d.ctx, d.Delivery)
		v.After = 0
		return v
	})},
	{name: "retries what is done", breaks: "queue/done queue/dead stepqueue/verdicts",
		mutate: everyDelivery(func(d *delivery) mortise.Verdict {
			d.handle(d.ctx, d.Delivery)
			return retry
		})},
	{name: "waits for the retry in the worker", breaks: "queue/waiting-job-holds-up-nobody queue/retried-job-holds-up-nobody",
		mutate: everyDelivery(func(d *delivery) mortise.Verdict {
			for {
				v := d.handle(d.ctx, d.Delivery)
				if v.Kind != mortise.VerdictRetry || d.consuming.Err() != nil {
					return v
				}
				select {
				case <-d.consuming.Done():
				case <-time.After(v.After):
				}
			}
		})},
	{name: "shares with everybody", breaks: "sharer/strangers", mutate: replace("Shares", func(*mutant, any) bool { return true })},
	{name: "always tells of a loss", breaks: "lossreporter/steady",
		mutate: replace("LostJobs", func(*mutant, context.Context) (time.Time, error) { return time.Now(), nil })},
	{name: "tells of a loss to come", breaks: "lossreporter/steady", mutate: func(m *mutant) {
		soon := time.Now().Add(time.Hour)
		m.On.LostJobs = func(context.Context) (time.Time, error) { return soon, nil }
	}},
	{name: "loses its data", breaks: "leases/durable leases/durable-order dead/durable queue/durable", reopen: afresh, mutate: func(*mutant) {}},
	{name: "says that leases are lost when it fails", breaks: "leases/failure dead/failure queue/failure",
		mutate: func(m *mutant) { m.failure = errors.Join(errBroken, mortise.ErrLeaseLost) }},
}

// consumeMutants are those of how handlers are run.
var consumeMutants = []broken{
	{name: "ignores the number of workers", breaks: "queue/workers", mutate: everyConsume(func(o *mortise.ConsumeOptions) { o.Workers++ })},
	{name: "has one worker", breaks: "queue/workers queue/beside", mutate: everyConsume(func(o *mortise.ConsumeOptions) { o.Workers = 1 })},
	{name: "takes no number of workers for two", breaks: "queue/one-worker", mutate: everyConsume(func(o *mortise.ConsumeOptions) {
		if o.Workers == 0 {
			o.Workers = 2
		}
	})},
	{name: "knows no MaxHandle", breaks: "queue/max-handle",
		mutate: replace("Consume", func(m *mutant, ctx context.Context, o mortise.ConsumeOptions, handle mortise.Handler) error {
			if o.MaxHandle > 0 {
				return errors.New("not supported")
			}
			return m.queue.Consume(ctx, o, handle)
		})},
	{name: "waits for jobs of no kind", breaks: "queue/no-kinds stepqueue/kinds", mutate: func(m *mutant) {
		everyConsume(func(o *mortise.ConsumeOptions) {
			if len(o.Kinds) == 0 {
				o.Kinds = []string{"none"}
			}
		})(m)
		m.On.ConsumeOne = func(ctx context.Context, kinds []string, handle mortise.Handler) (bool, error) {
			return m.queue.ConsumeOne(ctx, append(kinds, "none"), handle)
		}
	}},
	{name: "has one consumer at a time", breaks: "queue/kinds-side-by-side", mutate: func(m *mutant) {
		turn := make(chan struct{}, 1)
		restAtNothing(m)
		m.On.Consume = func(ctx context.Context, o mortise.ConsumeOptions, handle mortise.Handler) error {
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
				return m.queue.Consume(ctx, o, handle)
			case <-ctx.Done():
				return nil
			}
		}
	}},
	{name: "does not wait for handlers", breaks: "queue/consume-waits",
		mutate: replace("Consume", func(m *mutant, ctx context.Context, o mortise.ConsumeOptions, handle mortise.Handler) error {
			go func() { _ = m.queue.Consume(ctx, o, handle) }()
			<-ctx.Done()
			return nil
		})},
	{name: "returns the context's error", breaks: "queue/consume-waits queue/ended-context",
		mutate: replace("Consume", func(m *mutant, ctx context.Context, o mortise.ConsumeOptions, handle mortise.Handler) error {
			_ = m.queue.Consume(ctx, o, handle)
			return ctx.Err()
		})},
	{name: "empties the queue before it ends", breaks: "queue/consume-takes-no-more",
		mutate: replace("Consume", func(m *mutant, ctx context.Context, o mortise.ConsumeOptions, handle mortise.Handler) error {
			err := m.queue.Consume(ctx, o, handle)
			for more := true; more; {
				more, _ = m.queue.ConsumeOne(context.WithoutCancel(ctx), o.Kinds,
					func(_ context.Context, d mortise.Delivery) mortise.Verdict {
						go handle(ctx, d)
						return done
					})
			}
			return err
		})},
	{name: "has a context of its own for handlers", breaks: "queue/handler-context-values stepqueue/callers-goroutine",
		mutate: everyDelivery(func(d *delivery) mortise.Verdict {
			return d.handle(context.Background(), d.Delivery)
		})},
	{name: "ends handlers with the consumer", breaks: "queue/handler-context-outlives-ctx",
		mutate: everyDelivery(func(d *delivery) mortise.Verdict {
			return d.handle(d.consuming, d.Delivery)
		})},
	{name: "handles elsewhere", breaks: "stepqueue/callers-goroutine", mutate: everyDelivery(func(d *delivery) (v mortise.Verdict) {
		var aside sync.WaitGroup
		aside.Go(func() { v = d.handle(d.ctx, d.Delivery) })
		aside.Wait()
		return v
	})},
	{name: "looks once", breaks: "queue/delivers-while-idle queue/several-kinds", mutate: func(m *mutant) {
		restAtNothing(m)
		m.On.Consume = func(ctx context.Context, o mortise.ConsumeOptions, handle mortise.Handler) error {
			for more := true; more && ctx.Err() == nil; {
				more, _ = m.queue.ConsumeOne(ctx, o.Kinds, handle)
			}
			<-ctx.Done()
			return nil
		}
	}},
	{name: "gives up when the table fails", breaks: "queue/failure",
		mutate: replace("Consume", func(m *mutant, ctx context.Context, o mortise.ConsumeOptions, handle mortise.Handler) error {
			if m.broken.Load() {
				return m.failure
			}
			return m.queue.Consume(ctx, o, handle)
		})},
}

// everyConsume applies change to the options of each Consume.
func everyConsume(change func(*mortise.ConsumeOptions)) func(*mutant) {
	return replace("Consume", func(m *mutant, ctx context.Context, o mortise.ConsumeOptions, handle mortise.Handler) error {
		change(&o)
		return m.queue.Consume(ctx, o, handle)
	})
}
