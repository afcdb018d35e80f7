package queuetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

type contextKey struct{}

// consumeRules say how Consume runs handlers and how it ends.
var consumeRules = []rule{
	{Rule{"queue/workers", "Consume hands out as many jobs as are due at a time, but never " +
		"more than Workers."},
		needQueue, func(t *testing.T, s *subject) {
			const workers, n = 3, 9
			for range n {
				s.enqueue(t, newJob())
			}
			g := newGate(t)
			var running, most atomic.Int32
			s.consume(t, workers, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
				now := running.Add(1)
				defer running.Add(-1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				g.pass(d.Job)
				return done
			})
			for range workers {
				g.arrival("as many handlers as there are workers")
			}
			conformance.Nothing(t, g.inside, "more handlers than workers")
			for range n - workers {
				g.let()
				g.arrival("the next job")
			}
			for range workers {
				g.let()
			}
			require.LessOrEqual(t, most.Load(), int32(workers), "handlers at a time")
		}},

	{Rule{"queue/one-worker", "If Workers is zero, one job is handed out at a time."},
		needQueue, func(t *testing.T, s *subject) {
			s.enqueue(t, newJob())
			s.enqueue(t, newJob())
			g := newGate(t)
			s.consume(t, 0, g.handle)
			g.arrival("the first job")
			conformance.Nothing(t, g.inside, "a second handler")
			g.let()
			g.arrival("the second job")
			g.let()
		}},

	{Rule{"queue/max-handle", "A consumer that says how long its handler takes is handed jobs " +
		"like any other."},
		needQueue, func(t *testing.T, s *subject) {
			j := s.enqueue(t, newJob())
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			d := newDiary(nil)
			opts := mortise.ConsumeOptions{Kinds: []string{kindA}, Workers: 1, MaxHandle: time.Minute}
			go func() { ended <- s.Queue.Consume(ctx, opts, d.handle) }()
			d.expect(t, j)
			cancel()
			require.NoError(t, conformance.Await(t, ended, "Consume to return"))
		}},

	{Rule{"queue/consume-waits", "When ctx ends, Consume waits for the running calls of " +
		"handle, applies their verdicts and returns nil."},
		needQueue, func(t *testing.T, s *subject) {
			finished, retried := s.enqueue(t, newJob()), s.enqueue(t, newJob())
			g := newGate(t)
			var ended atomic.Int32
			c := s.consume(t, 2, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
				g.pass(d.Job)
				ended.Add(1)
				if d.Job.String() == retried.String() {
					return retry
				}
				return done
			})
			g.arrival("the first handler")
			g.arrival("the second handler")
			c.cancel()
			conformance.Nothing(t, c.ended, "Consume returned while handlers were running")
			g.let()
			g.let()
			c.stop(t)
			require.EqualValues(t, 2, ended.Load(), "handlers that had returned before Consume did")

			d := newDiary(nil)
			c = s.consume(t, 1, d.handle)
			require.Equal(t, 2, d.expect(t, retried).Deliveries)
			c.stop(t)
			s.isOver(t, finished)
		}},

	{Rule{"queue/consume-takes-no-more", "When ctx has ended, Consume takes no more jobs; they " +
		"wait for the next consumer."},
		needQueue, func(t *testing.T, s *subject) {
			waiting := make(map[string]bool)
			for range 5 {
				waiting[s.enqueue(t, newJob()).String()] = true
			}
			g := newGate(t)
			c := s.consume(t, 1, g.handle)
			delete(waiting, g.arrival("the first job").String())
			c.cancel()
			g.let()
			c.stop(t)
			require.Empty(t, g.inside, "jobs handed out after ctx had ended")

			d := newDiary(nil)
			s.consume(t, 1, d.handle)
			for len(waiting) > 0 {
				j := d.next(t).Job.String()
				require.True(t, waiting[j], "a job that was done came again")
				delete(waiting, j)
			}
		}},
}

// contextRules say what the context of a handler is.
var contextRules = []rule{
	{Rule{"queue/handler-context-values", "The context given to handle carries ctx's values."},
		needQueue, func(t *testing.T, s *subject) {
			s.enqueue(t, newJob())
			values := make(chan any, 10)
			ctx := context.WithValue(t.Context(), contextKey{}, "the host's")
			consumeOn(ctx, t, s.Queue, 1, func(ctx context.Context, _ mortise.Delivery) mortise.Verdict {
				values <- ctx.Value(contextKey{})
				return done
			})
			require.Equal(t, "the host's", conformance.Await(t, values, "the handler"))
		}},

	{Rule{"queue/handler-context-outlives-ctx", "The context given to handle does not end with " +
		"ctx, but with the delivery."},
		needQueue, func(t *testing.T, s *subject) {
			s.enqueue(t, newJob())
			g := newGate(t)
			contexts := make(chan context.Context, 10)
			c := s.consume(t, 1, func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
				contexts <- ctx
				g.pass(d.Job)
				return done
			})
			given := conformance.Await(t, contexts, "the handler")
			c.cancel()
			conformance.Nothing(t, given.Done(), "the handler's context ended with ctx")
			g.let()
			c.stop(t)
		}},

	{Rule{"queue/lost-lease", "When the lease is lost, the handler's context ends with the " +
		"cause ErrLeaseLost, and the verdict is ignored."},
		needTable, func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			table := &lateHeartbeats{Leases: s.Leases, from: make(chan struct{})}
			opts := &leases.Options{TTL: time.Hour, Heartbeat: 5 * time.Millisecond}
			q := leases.New(table, opts)
			contexts := make(chan context.Context, 10)
			handle := func(ctx context.Context, _ mortise.Delivery) mortise.Verdict {
				contexts <- ctx
				select {
				case <-ctx.Done():
				case <-t.Context().Done():
				}
				return done
			}
			c := consumeOn(t.Context(), t, q, 1, handle)
			given := conformance.Await(t, contexts, "the handler")
			thief := s.take(t, j, 2*time.Hour, 24*time.Hour)
			close(table.from)
			conformance.Await(t, given.Done(), "the handler's context to end")
			require.ErrorIs(t, context.Cause(given), mortise.ErrLeaseLost)
			c.stop(t)
			err := s.Leases.Extend(t.Context(), thief, time.Hour)
			require.NoError(t, err, "the old holder's verdict ended the job")
		}},
}

// lateHeartbeats is a table that extends leases from a moment on. Before, nobody can tell a
// lease that is to be lost from one that is extended once more.
type lateHeartbeats struct {
	mortise.Leases
	from chan struct{}
}

func (l *lateHeartbeats) Extend(ctx context.Context, lease mortise.Lease, ttl time.Duration) error {
	select {
	case <-l.from:
		return l.Leases.Extend(ctx, lease, ttl)
	case <-ctx.Done():
		return ctx.Err()
	}
}
