package audiosearchtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// delegate hands a delivery on.
func delegate(ctx, _ context.Context, d audiosearch.Delivery, handle handler) audiosearch.Verdict {
	return handle(ctx, d)
}

var queueMutants = []broken{
	{name: "enqueues twice", breaks: []string{"queue/enqueue-twice", "queue/enqueue-while-running"}, mutate: func(m *mutant) {
		m.enqueue = func(ctx context.Context, j audiosearch.Job) error {
			// The organization of a job is no part of its ID, but in this broken queue the ID has a part that is new each time.
			return m.queue.Enqueue(ctx, audiosearch.Job{Organization: fmt.Sprint(j.Organization, "/", j.RunID), RunID: 1 + rand.Int64N(audiosearch.MaxRunID)})
		}
		m.everyDelivery(func(ctx, _ context.Context, d audiosearch.Delivery, handle handler) audiosearch.Verdict {
			cut := strings.LastIndexByte(d.Job.Organization, '/')
			d.Job.RunID, _ = strconv.ParseInt(d.Job.Organization[cut+1:], 10, 64)
			d.Job.Organization = d.Job.Organization[:cut]
			return handle(ctx, d)
		})
	}},
	{name: "drops every other job", breaks: []string{"queue/delivers", "stepqueue/one-job"}, mutate: func(m *mutant) {
		n := 0
		m.enqueue = func(ctx context.Context, j audiosearch.Job) error {
			if n++; n%2 == 0 {
				return nil
			}
			return m.queue.Enqueue(ctx, j)
		}
	}},
	{name: "retries no job", breaks: []string{"queue/retry", "queue/zero-verdict", "queue/retry-after", "queue/durable", "queue/consume-waits", "stepqueue/verdicts"}, mutate: func(m *mutant) {
		m.everyDelivery(func(ctx, _ context.Context, d audiosearch.Delivery, handle handler) audiosearch.Verdict {
			handle(ctx, d)
			return audiosearch.Verdict{Done: true}
		})
	}},
	{name: "retries at once", breaks: []string{"queue/retry-after", "stepqueue/nothing-due"}, mutate: func(m *mutant) {
		m.everyDelivery(func(ctx, _ context.Context, d audiosearch.Delivery, handle handler) audiosearch.Verdict {
			v := handle(ctx, d)
			v.After = 0
			return v
		})
	}},
	{name: "retries what is done", breaks: []string{"queue/done", "stepqueue/verdicts"}, mutate: func(m *mutant) {
		m.everyDelivery(func(ctx, _ context.Context, d audiosearch.Delivery, handle handler) audiosearch.Verdict {
			handle(ctx, d)
			return audiosearch.Verdict{}
		})
	}},
	{name: "waits for the retry in the worker", breaks: []string{"queue/waiting-job-holds-up-nobody", "queue/retried-job-holds-up-nobody"}, mutate: func(m *mutant) {
		m.everyDelivery(func(ctx, consuming context.Context, d audiosearch.Delivery, handle handler) audiosearch.Verdict {
			for {
				v := handle(ctx, d)
				if v.Done || consuming.Err() != nil {
					return v
				}
				select {
				case <-consuming.Done():
				case <-time.After(v.After):
				}
			}
		})
	}},
	{name: "ignores the number of workers", breaks: []string{"queue/workers"}, mutate: func(m *mutant) {
		m.consume = func(ctx context.Context, workers int, handle handler) error {
			return m.queue.Consume(ctx, workers+1, handle)
		}
	}},
	{name: "has one worker", breaks: []string{"queue/workers"}, mutate: func(m *mutant) {
		m.consume = func(ctx context.Context, _ int, handle handler) error { return m.queue.Consume(ctx, 1, handle) }
	}},
	{name: "does not wait for handlers", breaks: []string{"queue/consume-waits"}, mutate: func(m *mutant) {
		m.consume = func(ctx context.Context, workers int, handle handler) error {
			go func() { _ = m.queue.Consume(ctx, workers, handle) }()
			<-ctx.Done()
			return nil
		}
	}},
	{name: "returns the context's error", breaks: []string{"queue/consume-waits", "queue/ended-context"}, mutate: func(m *mutant) {
		m.consume = func(ctx context.Context, workers int, handle handler) error {
			_ = m.queue.Consume(ctx, workers, handle)
			return ctx.Err()
		}
	}},
	{name: "empties the queue before it ends", breaks: []string{"queue/consume-takes-no-more"}, mutate: func(m *mutant) {
		m.consume = func(ctx context.Context, workers int, handle handler) error {
			err := m.queue.Consume(ctx, workers, handle)
			for more := true; more; {
				more, _ = m.queue.ConsumeOne(context.WithoutCancel(ctx), func(_ context.Context, d audiosearch.Delivery) audiosearch.Verdict {
					go handle(ctx, d)
					return audiosearch.Verdict{Done: true}
				})
			}
			return err
		}
	}},
	{name: "has a context of its own for handlers", breaks: []string{"queue/handler-context-values", "stepqueue/callers-goroutine"}, mutate: func(m *mutant) {
		m.everyDelivery(func(_, _ context.Context, d audiosearch.Delivery, handle handler) audiosearch.Verdict {
			return handle(context.Background(), d)
		})
	}},
	{name: "ends handlers with the consumer", breaks: []string{"queue/handler-context-outlives-ctx"}, mutate: func(m *mutant) {
		m.everyDelivery(func(_, consuming context.Context, d audiosearch.Delivery, handle handler) audiosearch.Verdict {
			return handle(consuming, d)
		})
	}},
	{name: "handles elsewhere", breaks: []string{"stepqueue/callers-goroutine"}, mutate: func(m *mutant) {
		m.everyDelivery(func(ctx, consuming context.Context, d audiosearch.Delivery, handle handler) (v audiosearch.Verdict) {
			var aside sync.WaitGroup
			aside.Go(func() { v = delegate(ctx, consuming, d, handle) })
			aside.Wait()
			return v
		})
	}},
	{name: "looks once", breaks: []string{"queue/delivers-while-idle"}, mutate: func(m *mutant) {
		m.consume = func(ctx context.Context, _ int, handle handler) error {
			for more := true; more && ctx.Err() == nil; {
				more, _ = m.queue.ConsumeOne(ctx, handle)
			}
			<-ctx.Done()
			return nil
		}
	}},
	{name: "gives up when the table fails", breaks: []string{"queue/failure"}, mutate: func(m *mutant) {
		m.consume = func(ctx context.Context, workers int, handle handler) error {
			if err := m.fail(); err != nil {
				return err
			}
			return m.queue.Consume(ctx, workers, handle)
		}
	}},
}
