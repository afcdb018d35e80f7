package queuetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// kindRules say which kinds of jobs a consumer of a Queue is handed.
var kindRules = []rule{
	{Rule{"queue/kinds", "A consumer is handed jobs of its kinds only; those of others wait " +
		"for a consumer of theirs."},
		needQueue, func(t *testing.T, s *subject) {
			a, b := s.enqueue(t, jobOf(kindA, orgA)), s.enqueue(t, jobOf(kindB, orgA))
			of := s.passed(t).seen()
			require.Len(t, of, 1)
			require.Equal(t, a.String(), of[0].Job.String())
			d := newDiary(nil)
			s.consume(t, 1, d.handle, kindB)
			require.Equal(t, 1, d.expect(t, b).Deliveries)
		}},

	{Rule{"queue/several-kinds", "A consumer of several kinds is handed the jobs of all of " +
		"them."},
		needQueue, func(t *testing.T, s *subject) {
			var want []string
			for _, kind := range []string{kindA, kindB, "kind-c", kindB} {
				want = append(want, s.enqueue(t, jobOf(kind, orgA)).String())
			}
			d := newDiary(nil)
			s.consume(t, 2, d.handle, "kind-c", kindA, kindB)
			var got []string
			for range want {
				got = append(got, d.next(t).Job.String())
			}
			require.ElementsMatch(t, want, got)
			conformance.Idle(t, d.news, "a delivery from an empty queue")
			for _, kind := range []string{kindB, kindA} {
				d.expect(t, s.enqueue(t, jobOf(kind, orgA)))
			}
		}},

	{Rule{"queue/kinds-side-by-side", "Consumers of different kinds run side by side, and each " +
		"is handed its jobs while it is idle."},
		needQueue, func(t *testing.T, s *subject) {
			ofA, ofB := newDiary(nil), newDiary(nil)
			s.consume(t, 1, ofA.handle, kindA)
			s.consume(t, 1, ofB.handle, kindB)
			for range 2 {
				conformance.Idle(t, ofA.news, "a delivery from an empty queue")
				b := s.enqueue(t, jobOf(kindB, orgA))
				ofB.expect(t, b)
				a := s.enqueue(t, jobOf(kindA, orgA))
				ofA.expect(t, a)
			}
		}},

	{Rule{"queue/no-kinds", "Consume without kinds returns an error."},
		needQueue, func(t *testing.T, s *subject) {
			s.enqueue(t, newJob())
			c := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			handed := make(chan struct{}, 1)
			go func() {
				c <- s.Queue.Consume(ctx, mortise.ConsumeOptions{Workers: 1},
					func(context.Context, mortise.Delivery) mortise.Verdict {
						put(handed)
						return done
					})
			}()
			require.Error(t, conformance.Await(t, c, "Consume to return"))
			require.Empty(t, handed, "a job was handed out")
		}},
}

// cancelQueued cancels a job of the queue. It reports false if the queue cannot do it.
func (s *subject) cancelQueued(t *testing.T, j mortise.Job) bool {
	t.Helper()
	err := s.Queue.Cancel(t.Context(), j)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Logf("the Queue cannot cancel jobs (%v): the rest of the rule is passed over", err)
		return false
	}
	require.NoError(t, err, "Cancel")
	return true
}

// queueCancelRules are the rules of Cancel of a queue.
var queueCancelRules = []rule{
	{Rule{"queue/cancel", "Cancel takes out a job that nobody holds, whatever its At says; it " +
		"can be added anew then."},
		needQueue, func(t *testing.T, s *subject) {
			retried := s.enqueue(t, newJob())
			d := newDiary(func(context.Context, mortise.Delivery) mortise.Verdict { return noTime })
			c := s.consume(t, 1, d.handle)
			d.expect(t, retried)
			c.stop(t)
			later := s.enqueueAt(t, time.Now().Add(noTime.After))
			jobs := []mortise.Job{s.enqueue(t, newJob()), later, retried}
			for _, j := range jobs {
				if !s.cancelQueued(t, j) {
					return
				}
			}
			require.Empty(t, s.passed(t).seen(), "deliveries of jobs that were taken out")
			for _, j := range jobs {
				s.enqueue(t, j)
				_, first := s.passed(t).count(j)
				require.Equal(t, 1, first, "deliveries of a job that was added anew")
			}
		}},

	{Rule{"queue/cancel-held", "A job that is being handled, and one that is not in the queue, " +
		"is left as it is by Cancel: no error."},
		needQueue, func(t *testing.T, s *subject) {
			if !s.cancelQueued(t, newJob()) {
				return
			}
			j := s.enqueue(t, newJob())
			g := newGate(t)
			d := newDiary(func(_ context.Context, d mortise.Delivery) mortise.Verdict {
				if d.Deliveries > 1 {
					return done
				}
				g.pass(d.Job)
				return retry
			})
			s.consume(t, 1, d.handle)
			g.arrival("the job")
			s.cancelQueued(t, j)
			g.let()
			d.expect(t, j)
			require.Equal(t, 2, d.expect(t, j).Deliveries)
			s.cancelQueued(t, j)
		}},

	{Rule{"queue/cancel-one", "Cancel takes out no other job than the one that it is given."},
		needQueue, func(t *testing.T, s *subject) {
			jobs, kinds := alikes()
			for _, j := range jobs {
				s.enqueue(t, j)
			}
			for i := 0; i < len(jobs); i += 2 {
				if !s.cancelQueued(t, jobs[i]) {
					return
				}
			}
			want := names(seconds(jobs)...)
			d := newDiary(nil)
			s.consume(t, 4, d.handle, kinds...)
			var got []string
			for range want {
				got = append(got, d.next(t).Job.String())
			}
			require.ElementsMatch(t, want, got)
		}},
}
