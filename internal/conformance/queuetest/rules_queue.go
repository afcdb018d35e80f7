package queuetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// queueRules say which jobs a Queue delivers, and how often.
func queueRules[J Job]() []Rule[J] {
	return []Rule[J]{
		{Sentence{"queue/delivers", "Consume hands out the jobs that were enqueued, as they were."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				want := make(map[J]bool)
				for range 10 {
					j := s.NewJob("the \u00c4rzte")
					want[s.Enqueue(t, j)], want[s.Enqueue(t, s.Sibling(j))] = true, true
				}
				d := NewDiary[J](nil)
				s.Consume(t, 4, d.Handle)
				for len(want) > 0 {
					got := d.Next(t)
					require.True(t, want[got.Job], "a job that was not enqueued, or came twice: %+v", got)
					require.Equal(t, 1, got.Deliveries)
					delete(want, got.Job)
				}
			}},

		{Sentence{"queue/delivers-while-idle", "A job enqueued while the consumer is idle is delivered."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				d := NewDiary[J](nil)
				s.Consume(t, 2, d.Handle)
				for range 3 {
					conformance.Idle(t, d.News, "a delivery from an empty queue")
					j := s.Enqueue(t, s.newJob())
					require.Equal(t, j, d.Next(t).Job)
				}
			}},

		{Sentence{"queue/enqueue-twice", "Enqueue is idempotent: a job whose ID is in the queue is not added a second time."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				j := s.newJob()
				var errs [8]error
				conformance.Together(len(errs), func(i int) { errs[i] = s.Queue.Enqueue(t.Context(), j) })
				conformance.NoErrors(t, errs[:])
				s.Enqueue(t, j)
				_, first := s.Passed(t).Count(j)
				require.Equal(t, 1, first, "how often the job came as a new one")
				s.isOver(t, j)
			}},

		{Sentence{"queue/enqueue-while-running", "A job that is being handled is in the queue: enqueued again, it is not added a second time."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				j := s.Enqueue(t, s.newJob())
				var failed atomic.Value
				d := NewDiary(func(ctx context.Context, d Delivery[J]) Verdict {
					if err := s.Queue.Enqueue(ctx, d.Job); err != nil {
						failed.Store(err)
					}
					return done
				})
				c := s.Consume(t, 1, d.Handle)
				require.Equal(t, j, d.Next(t).Job)
				c.Stop(t)
				require.Nil(t, failed.Load(), "Enqueue of the running job")
				s.isOver(t, j)
			}},

		{Sentence{"queue/retry", "A job is delivered until a verdict ends it; Deliveries is how often it has been handed out, this time included."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				j := s.Enqueue(t, s.newJob())
				d := NewDiary(func(_ context.Context, d Delivery[J]) Verdict {
					if d.Deliveries < 3 {
						return retry
					}
					return done
				})
				c := s.Consume(t, 1, d.Handle)
				for i := range 3 {
					require.Equal(t, Delivery[J]{Job: j, Deliveries: i + 1}, d.Next(t))
				}
				c.Stop(t)
				s.isOver(t, j)
			}},

		{Sentence{"queue/retry-after", "A job that is not done is delivered again, but not before After has passed."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				after := 3 * conformance.Glimpse()
				j := s.Enqueue(t, s.newJob())
				times := make(chan time.Time, 2)
				d := NewDiary(func(_ context.Context, d Delivery[J]) Verdict {
					times <- time.Now()
					if d.Deliveries == 1 {
						return Verdict{After: after}
					}
					return done
				})
				c := s.Consume(t, 1, d.Handle)
				require.Equal(t, j, d.Next(t).Job)
				require.Equal(t, j, d.Next(t).Job)
				c.Stop(t)
				// A tenth less, for clocks of two machines and times cut to microseconds or milliseconds.
				waited := -(<-times).Sub(<-times)
				require.GreaterOrEqual(t, waited, after*9/10, "time between the deliveries")
			}},

		{Sentence{"queue/zero-verdict", "The zero Verdict gives the job back, due at once, so that nothing is lost by omission."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				j := s.Enqueue(t, s.newJob())
				d := NewDiary(func(_ context.Context, d Delivery[J]) Verdict {
					if d.Deliveries == 1 {
						return Verdict{}
					}
					return done
				})
				s.Consume(t, 1, d.Handle)
				require.Equal(t, j, d.Next(t).Job)
				require.Equal(t, j, d.Next(t).Job)
			}},

		{Sentence{"queue/done", "A job whose verdict is done is never delivered again."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) { endsBy(t, s, done) }},

		{Sentence{"queue/retried-job-holds-up-nobody", "A job that is retried at once, again and again, never holds up others."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) { holdsUpNobody(t, s, retry) }},

		{Sentence{"queue/waiting-job-holds-up-nobody", "A job that waits for its retry never holds up others."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) { holdsUpNobody(t, s, noTime) }},

		{Sentence{"queue/two-consumers", "Consume is safe for concurrent use: two consumers share the jobs, and each is handed out once."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) {
				const n = 60
				d := NewDiary[J](nil)
				for range 2 {
					s.Consume(t, 3, d.Handle)
				}
				want := make([]J, n)
				for i := range want {
					want[i] = s.Enqueue(t, s.newJob())
				}
				for range n {
					d.Next(t)
				}
				for _, j := range want {
					deliveries, _ := d.Count(j)
					require.Equal(t, 1, deliveries, "deliveries of one job")
				}
			}},

		{Sentence{"queue/enqueued-by-others", "Jobs that another queue over the same table adds are found by an idle consumer at its next poll."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				opts := &LeaseOptions{Poll: 10 * time.Millisecond}
				leases := s.Leases.WithoutNotifier() // so that only polling helps
				here, there := leases.LeaseQueue(opts), leases.LeaseQueue(opts)
				d := NewDiary[J](nil)
				consumeOn(t.Context(), t, here, 1, d.Handle)
				for range 3 {
					conformance.Idle(t, d.News, "a delivery from an empty table")
					j := s.newJob()
					require.NoError(t, there.Enqueue(t.Context(), j))
					require.Equal(t, j, d.Next(t).Job)
				}
			}},
	}
}

// endsBy gives jobs the verdict and requires that none comes again, from this consumer or from a later one.
func endsBy[J Job](t *testing.T, s *Subject[J], v Verdict) {
	t.Helper()
	want := []J{s.Enqueue(t, s.newJob()), s.Enqueue(t, s.newJob())}
	d := NewDiary(func(_ context.Context, d Delivery[J]) Verdict {
		if d.Job == want[0] || d.Job == want[1] {
			return v
		}
		return done
	})
	c := s.Consume(t, 2, d.Handle)
	require.ElementsMatch(t, want, []J{d.Next(t).Job, d.Next(t).Job})
	mark := s.Enqueue(t, s.newJob())
	require.Equal(t, mark, d.Next(t).Job)
	c.Stop(t)
	for _, j := range want {
		s.isOver(t, j)
	}
}

// holdsUpNobody answers one job with the verdict, always, and requires that the others come nevertheless.
func holdsUpNobody[J Job](t *testing.T, s *Subject[J], v Verdict) {
	t.Helper()
	poison := s.Enqueue(t, s.newJob())
	came := make(chan struct{}, 1)
	others := make(chan J, 100)
	s.Consume(t, 1, func(_ context.Context, d Delivery[J]) Verdict {
		if d.Job != poison {
			others <- d.Job
			return done
		}
		select {
		case came <- struct{}{}:
		default:
		}
		return v
	})
	conformance.Await(t, came, "the job that is retried")
	left := make(map[J]bool)
	for range 10 {
		left[s.Enqueue(t, s.newJob())] = true
	}
	for len(left) > 0 {
		delete(left, conformance.Await(t, others, "the jobs beside the retried one"))
	}
}
