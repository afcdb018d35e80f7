package audiosearchtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

type contextKey struct{}

// gate holds handlers until they are let through.
type gate struct {
	t       *testing.T
	inside  chan audiosearch.Job // each job that arrives
	through chan struct{}        // one value lets one handler go on
}

func newGate(t *testing.T) *gate {
	return &gate{t: t, inside: make(chan audiosearch.Job, 1000), through: make(chan struct{})}
}

// pass is called by a handler.
func (g *gate) pass(j audiosearch.Job) {
	g.inside <- j
	select {
	case <-g.through:
	case <-g.t.Context().Done(): // the rule has failed
	}
}

// let lets one handler through.
func (g *gate) let() {
	g.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case g.through <- struct{}{}:
	case <-timer.C:
		require.FailNow(g.t, "waited in vain", "for a handler that can be let through")
	}
}

// consumeRules say how Consume runs handlers and how it ends.
var consumeRules = []rule{
	{Rule{"queue/workers", "Consume hands out jobs to at most workers handlers at a time, and to so many if there are jobs."}, needQueue,
		func(t *testing.T, s *subject) {
			const workers, n = 3, 9
			for range n {
				s.enqueue(t, newJob())
			}
			g := newGate(t)
			var running, most atomic.Int32
			s.consume(t, workers, func(_ context.Context, d audiosearch.Delivery) audiosearch.Verdict {
				now := running.Add(1)
				defer running.Add(-1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				g.pass(d.Job)
				return done
			})
			for range workers {
				await(t, g.inside, "as many handlers as there are workers")
			}
			nothing(t, g.inside, "more handlers than workers")
			for range n - workers {
				g.let()
				await(t, g.inside, "the next job")
			}
			for range workers {
				g.let()
			}
			require.LessOrEqual(t, most.Load(), int32(workers), "handlers at a time")
		}},

	{Rule{"queue/consume-waits", "When ctx ends, Consume waits for the running calls of handle, applies their verdicts and returns nil."}, needQueue,
		func(t *testing.T, s *subject) {
			finished, retried := s.enqueue(t, newJob()), s.enqueue(t, newJob())
			g := newGate(t)
			var ended atomic.Int32
			c := s.consume(t, 2, func(_ context.Context, d audiosearch.Delivery) audiosearch.Verdict {
				g.pass(d.Job)
				ended.Add(1)
				if d.Job == retried {
					return retry
				}
				return done
			})
			await(t, g.inside, "the first handler")
			await(t, g.inside, "the second handler")
			c.cancel()
			nothing(t, c.ended, "Consume returned while handlers were running")
			g.let()
			g.let()
			c.stop(t)
			require.EqualValues(t, 2, ended.Load(), "handlers that had returned before Consume did")

			d := newDiary(nil)
			c = s.consume(t, 1, d.handle)
			again := d.next(t)
			require.Equal(t, retried, again.Job)
			require.Equal(t, 2, again.Deliveries)
			c.stop(t)
			s.isOver(t, finished)
		}},

	{Rule{"queue/consume-takes-no-more", "When ctx has ended, Consume takes no more jobs; they wait for the next consumer."}, needQueue,
		func(t *testing.T, s *subject) {
			waiting := make(map[audiosearch.Job]bool)
			for range 5 {
				waiting[s.enqueue(t, newJob())] = true
			}
			g := newGate(t)
			c := s.consume(t, 1, func(_ context.Context, d audiosearch.Delivery) audiosearch.Verdict {
				g.pass(d.Job)
				return done
			})
			delete(waiting, await(t, g.inside, "the first job"))
			c.cancel()
			g.let()
			c.stop(t)
			require.Empty(t, g.inside, "jobs handed out after ctx had ended")

			d := newDiary(nil)
			s.consume(t, 1, d.handle)
			for len(waiting) > 0 {
				j := d.next(t).Job
				require.True(t, waiting[j], "a job that was done came again")
				delete(waiting, j)
			}
		}},

	{Rule{"queue/handler-context-values", "The context given to handle carries ctx's values."}, needQueue,
		func(t *testing.T, s *subject) {
			s.enqueue(t, newJob())
			values := make(chan any, 10)
			consumeOn(context.WithValue(t.Context(), contextKey{}, "the host's"), t, s.Queue, 1, func(ctx context.Context, _ audiosearch.Delivery) audiosearch.Verdict {
				values <- ctx.Value(contextKey{})
				return done
			})
			require.Equal(t, "the host's", await(t, values, "the handler"))
		}},

	{Rule{"queue/handler-context-outlives-ctx", "The context given to handle does not end with ctx, but with the delivery."}, needQueue,
		func(t *testing.T, s *subject) {
			s.enqueue(t, newJob())
			g := newGate(t)
			contexts := make(chan context.Context, 10)
			c := s.consume(t, 1, func(ctx context.Context, d audiosearch.Delivery) audiosearch.Verdict {
				contexts <- ctx
				g.pass(d.Job)
				return done
			})
			given := await(t, contexts, "the handler")
			c.cancel()
			nothing(t, given.Done(), "the handler's context ended with ctx")
			g.let()
			c.stop(t)
		}},

	{Rule{"queue/lost-lease", "When the lease is lost, the handler's context ends with the cause ErrLeaseLost, and the verdict is ignored."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			q := audiosearch.LeaseQueue(s.Leases, &audiosearch.LeaseOptions{Heartbeat: 5 * time.Millisecond, Now: func() time.Time { return moment(0) }})
			contexts := make(chan context.Context, 10)
			c := consumeOn(t.Context(), t, q, 1, func(ctx context.Context, _ audiosearch.Delivery) audiosearch.Verdict {
				contexts <- ctx
				select {
				case <-ctx.Done():
				case <-t.Context().Done():
				}
				return done
			})
			given := await(t, contexts, "the handler")
			thief := s.claimOne(t, time.Hour, 2*time.Hour)
			require.Equal(t, j, thief.Job)
			await(t, given.Done(), "the handler's context to end")
			require.ErrorIs(t, context.Cause(given), audiosearch.ErrLeaseLost)
			c.stop(t)
			require.NoError(t, s.Leases.Extend(t.Context(), thief, moment(3*time.Hour)), "the old holder's verdict ended the job")
		}},
}
