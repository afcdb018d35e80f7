package queuetest

import (
	"context"
	"sync"
	"time"
)

// queueMistakes are those of which jobs a queue delivers, and how often.
func queueMistakes[J Job](d *Domain[J]) []Mistake[J] {
	return []Mistake[J]{
		{"enqueues twice", []string{"queue/enqueue-twice", "queue/enqueue-while-running"}, func(m *Mutant[J]) {
			var mu sync.Mutex
			enqueued := make(map[J]J) // by the jobs that stand for them in the queue, which are new each time
			m.Enqueue = func(ctx context.Context, j J) error {
				proxy := d.NewJob("proxy")
				mu.Lock()
				enqueued[proxy] = j
				mu.Unlock()
				return m.queue.Enqueue(ctx, proxy)
			}
			m.everyDelivery(func(ctx, _ context.Context, d Delivery[J], handle Handler[J]) Verdict {
				mu.Lock()
				d.Job = enqueued[d.Job]
				mu.Unlock()
				return handle(ctx, d)
			})
		}},
		{"drops every other job", []string{"queue/delivers", "stepqueue/one-job"}, func(m *Mutant[J]) {
			n := 0
			m.Enqueue = func(ctx context.Context, j J) error {
				if n++; n%2 == 0 {
					return nil
				}
				return m.queue.Enqueue(ctx, j)
			}
		}},
		{"retries no job", []string{
			"queue/retry", "queue/zero-verdict", "queue/retry-after", "queue/durable", "queue/consume-waits", "stepqueue/verdicts",
		}, func(m *Mutant[J]) {
			m.everyDelivery(func(ctx, _ context.Context, d Delivery[J], handle Handler[J]) Verdict {
				handle(ctx, d)
				return done
			})
		}},
		{"retries at once", []string{"queue/retry-after", "stepqueue/nothing-due"}, func(m *Mutant[J]) {
			m.everyDelivery(func(ctx, _ context.Context, d Delivery[J], handle Handler[J]) Verdict {
				v := handle(ctx, d)
				v.After = 0
				return v
			})
		}},
		{"retries what is done", []string{"queue/done", "queue/dead", "stepqueue/verdicts"}, func(m *Mutant[J]) {
			m.everyDelivery(func(ctx, _ context.Context, d Delivery[J], handle Handler[J]) Verdict {
				handle(ctx, d)
				return retry
			})
		}},
		{"waits for the retry in the worker", []string{"queue/waiting-job-holds-up-nobody", "queue/retried-job-holds-up-nobody"}, func(m *Mutant[J]) {
			m.everyDelivery(func(ctx, consuming context.Context, d Delivery[J], handle Handler[J]) Verdict {
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
	}
}

// consumeMistakes are those of how handlers are run.
func consumeMistakes[J Job]() []Mistake[J] {
	return []Mistake[J]{
		{"ignores the number of workers", []string{"queue/workers"}, func(m *Mutant[J]) {
			m.Consume = func(ctx context.Context, workers int, handle Handler[J]) error {
				return m.queue.Consume(ctx, workers+1, handle)
			}
		}},
		{"has one worker", []string{"queue/workers"}, func(m *Mutant[J]) {
			m.Consume = func(ctx context.Context, _ int, handle Handler[J]) error { return m.queue.Consume(ctx, 1, handle) }
		}},
		{"does not wait for handlers", []string{"queue/consume-waits"}, func(m *Mutant[J]) {
			m.Consume = func(ctx context.Context, workers int, handle Handler[J]) error {
				go func() { _ = m.queue.Consume(ctx, workers, handle) }()
				<-ctx.Done()
				return nil
			}
		}},
		{"returns the context's error", []string{"queue/consume-waits", "queue/ended-context"}, func(m *Mutant[J]) {
			m.Consume = func(ctx context.Context, workers int, handle Handler[J]) error {
				_ = m.queue.Consume(ctx, workers, handle)
				return ctx.Err()
			}
		}},
		{"empties the queue before it ends", []string{"queue/consume-takes-no-more"}, func(m *Mutant[J]) {
			m.Consume = func(ctx context.Context, workers int, handle Handler[J]) error {
				err := m.queue.Consume(ctx, workers, handle)
				for more := true; more; {
					more, _ = m.queue.ConsumeOne(context.WithoutCancel(ctx), func(_ context.Context, d Delivery[J]) Verdict {
						go handle(ctx, d)
						return done
					})
				}
				return err
			}
		}},
		{"has a context of its own for handlers", []string{"queue/handler-context-values", "stepqueue/callers-goroutine"}, func(m *Mutant[J]) {
			m.everyDelivery(func(_, _ context.Context, d Delivery[J], handle Handler[J]) Verdict {
				return handle(context.Background(), d)
			})
		}},
		{"ends handlers with the consumer", []string{"queue/handler-context-outlives-ctx"}, func(m *Mutant[J]) {
			m.everyDelivery(func(_, consuming context.Context, d Delivery[J], handle Handler[J]) Verdict {
				return handle(consuming, d)
			})
		}},
		{"handles elsewhere", []string{"stepqueue/callers-goroutine"}, func(m *Mutant[J]) {
			m.everyDelivery(func(ctx, _ context.Context, d Delivery[J], handle Handler[J]) (v Verdict) {
				var aside sync.WaitGroup
				aside.Go(func() { v = handle(ctx, d) })
				aside.Wait()
				return v
			})
		}},
		{"looks once", []string{"queue/delivers-while-idle"}, func(m *Mutant[J]) {
			m.restAtNothing()
			m.Consume = func(ctx context.Context, _ int, handle Handler[J]) error {
				for more := true; more && ctx.Err() == nil; {
					more, _ = m.queue.ConsumeOne(ctx, handle)
				}
				<-ctx.Done()
				return nil
			}
		}},
		{"gives up when the table fails", []string{"queue/failure"}, func(m *Mutant[J]) {
			m.Consume = func(ctx context.Context, workers int, handle Handler[J]) error {
				if err := m.fail(); err != nil {
					return err
				}
				return m.queue.Consume(ctx, workers, handle)
			}
		}},
	}
}
