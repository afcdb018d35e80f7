package queuetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

type contextKey struct{}

// gate holds handlers until they are let through.
type gate[J Job] struct {
	t       *testing.T
	inside  chan J        // each job that arrives
	through chan struct{} // one value lets one handler go on
}

func newGate[J Job](t *testing.T) *gate[J] {
	return &gate[J]{t: t, inside: make(chan J, 1000), through: make(chan struct{})}
}

// pass is called by a handler.
func (g *gate[J]) pass(j J) {
	g.inside <- j
	select {
	case <-g.through:
	case <-g.t.Context().Done(): // the rule has failed
	}
}

// let lets one handler through.
func (g *gate[J]) let() {
	g.t.Helper()
	conformance.Send(g.t, g.through, struct{}{}, "a handler that can be let through")
}

// consumeRules say how Consume runs handlers and how it ends.
func consumeRules[J Job]() []Rule[J] {
	return []Rule[J]{
		{Sentence{"queue/workers", "Consume hands out jobs to at most workers handlers at a time, and to so many if there are jobs."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				const workers, n = 3, 9
				for range n {
					s.Enqueue(t, s.newJob())
				}
				g := newGate[J](t)
				var running, most atomic.Int32
				s.Consume(t, workers, func(_ context.Context, d Delivery[J]) Verdict {
					now := running.Add(1)
					defer running.Add(-1)
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					g.pass(d.Job)
					return done
				})
				for range workers {
					conformance.Await(t, g.inside, "as many handlers as there are workers")
				}
				conformance.Nothing(t, g.inside, "more handlers than workers")
				for range n - workers {
					g.let()
					conformance.Await(t, g.inside, "the next job")
				}
				for range workers {
					g.let()
				}
				require.LessOrEqual(t, most.Load(), int32(workers), "handlers at a time")
			}},

		{Sentence{"queue/consume-waits", "When ctx ends, Consume waits for the running calls of handle, applies their verdicts and returns nil."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				finished, retried := s.Enqueue(t, s.newJob()), s.Enqueue(t, s.newJob())
				g := newGate[J](t)
				var ended atomic.Int32
				c := s.Consume(t, 2, func(_ context.Context, d Delivery[J]) Verdict {
					g.pass(d.Job)
					ended.Add(1)
					if d.Job == retried {
						return retry
					}
					return done
				})
				conformance.Await(t, g.inside, "the first handler")
				conformance.Await(t, g.inside, "the second handler")
				c.cancel()
				conformance.Nothing(t, c.ended, "Consume returned while handlers were running")
				g.let()
				g.let()
				c.Stop(t)
				require.EqualValues(t, 2, ended.Load(), "handlers that had returned before Consume did")

				d := NewDiary[J](nil)
				c = s.Consume(t, 1, d.Handle)
				again := d.Next(t)
				require.Equal(t, retried, again.Job)
				require.Equal(t, 2, again.Deliveries)
				c.Stop(t)
				s.isOver(t, finished)
			}},

		{Sentence{"queue/consume-takes-no-more", "When ctx has ended, Consume takes no more jobs; they wait for the next consumer."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				waiting := make(map[J]bool)
				for range 5 {
					waiting[s.Enqueue(t, s.newJob())] = true
				}
				g := newGate[J](t)
				c := s.Consume(t, 1, func(_ context.Context, d Delivery[J]) Verdict {
					g.pass(d.Job)
					return done
				})
				delete(waiting, conformance.Await(t, g.inside, "the first job"))
				c.cancel()
				g.let()
				c.Stop(t)
				require.Empty(t, g.inside, "jobs handed out after ctx had ended")

				d := NewDiary[J](nil)
				s.Consume(t, 1, d.Handle)
				for len(waiting) > 0 {
					j := d.Next(t).Job
					require.True(t, waiting[j], "a job that was done came again")
					delete(waiting, j)
				}
			}},

		{Sentence{"queue/handler-context-values", "The context given to handle carries ctx's values."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				s.Enqueue(t, s.newJob())
				values := make(chan any, 10)
				consumeOn(context.WithValue(t.Context(), contextKey{}, "the host's"), t, s.Queue, 1, func(ctx context.Context, _ Delivery[J]) Verdict {
					values <- ctx.Value(contextKey{})
					return done
				})
				require.Equal(t, "the host's", conformance.Await(t, values, "the handler"))
			}},

		{Sentence{"queue/handler-context-outlives-ctx", "The context given to handle does not end with ctx, but with the delivery."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				s.Enqueue(t, s.newJob())
				g := newGate[J](t)
				contexts := make(chan context.Context, 10)
				c := s.Consume(t, 1, func(ctx context.Context, d Delivery[J]) Verdict {
					contexts <- ctx
					g.pass(d.Job)
					return done
				})
				given := conformance.Await(t, contexts, "the handler")
				c.cancel()
				conformance.Nothing(t, given.Done(), "the handler's context ended with ctx")
				g.let()
				c.Stop(t)
			}},

		{Sentence{"queue/lost-lease", "When the lease is lost, the handler's context ends with the cause ErrLeaseLost, and the verdict is ignored."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				q := s.Leases.LeaseQueue(&LeaseOptions{Heartbeat: 5 * time.Millisecond, Now: func() time.Time { return conformance.Moment(0) }})
				contexts := make(chan context.Context, 10)
				c := consumeOn(t.Context(), t, q, 1, func(ctx context.Context, _ Delivery[J]) Verdict {
					contexts <- ctx
					select {
					case <-ctx.Done():
					case <-t.Context().Done():
					}
					return done
				})
				given := conformance.Await(t, contexts, "the handler")
				thief := s.ClaimOne(t, time.Hour, 2*time.Hour)
				require.Equal(t, j, thief.Job)
				conformance.Await(t, given.Done(), "the handler's context to end")
				require.ErrorIs(t, context.Cause(given), s.LeaseLost)
				c.Stop(t)
				require.NoError(t, s.Leases.Extend(t.Context(), thief, conformance.Moment(3*time.Hour)), "the old holder's verdict ended the job")
			}},
	}
}
