package audiosearchtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// queueRules say which jobs a Queue delivers, and how often.
var queueRules = []rule{
	{Rule{"queue/delivers", "Consume hands out the jobs that were enqueued, as they were."}, needQueue,
		func(t *testing.T, s *subject) {
			want := make(map[audiosearch.Job]bool)
			for range 20 {
				want[s.enqueue(t, audiosearch.Job{Organization: "the \u00c4rzte", RunID: newRunID()})] = true
			}
			d := newDiary(nil)
			s.consume(t, 4, d.handle)
			for len(want) > 0 {
				got := d.next(t)
				require.True(t, want[got.Job], "a job that was not enqueued, or came twice: %+v", got)
				require.Equal(t, 1, got.Deliveries)
				delete(want, got.Job)
			}
		}},

	{Rule{"queue/delivers-while-idle", "A job enqueued while the consumer is idle is delivered."}, needQueue,
		func(t *testing.T, s *subject) {
			d := newDiary(nil)
			s.consume(t, 2, d.handle)
			for range 3 {
				nothing(t, d.news, "a delivery from an empty queue")
				j := s.enqueue(t, newJob())
				require.Equal(t, j, d.next(t).Job)
			}
		}},

	{Rule{"queue/enqueue-twice", "Enqueue is idempotent: a job whose ID is in the queue is not added a second time."}, needQueue,
		func(t *testing.T, s *subject) {
			j := newJob()
			var errs [8]error
			together(len(errs), func(i int) { errs[i] = s.Queue.Enqueue(t.Context(), j) })
			noErrors(t, errs[:])
			s.enqueue(t, j)
			_, first := s.passed(t).count(j)
			require.Equal(t, 1, first, "how often the job came as a new one")
			s.isOver(t, j)
		}},

	{Rule{"queue/enqueue-while-running", "A job that is being handled is in the queue: enqueued again, it is not added a second time."}, needQueue,
		func(t *testing.T, s *subject) {
			j := s.enqueue(t, newJob())
			var failed atomic.Value
			d := newDiary(func(ctx context.Context, d audiosearch.Delivery) audiosearch.Verdict {
				if err := s.Queue.Enqueue(ctx, d.Job); err != nil {
					failed.Store(err)
				}
				return done
			})
			c := s.consume(t, 1, d.handle)
			require.Equal(t, j, d.next(t).Job)
			c.stop(t)
			require.Nil(t, failed.Load(), "Enqueue of the running job")
			s.isOver(t, j)
		}},

	{Rule{"queue/retry", "A job is delivered until a verdict ends it; Deliveries is how often it has been handed out, this time included."}, needQueue,
		func(t *testing.T, s *subject) {
			j := s.enqueue(t, newJob())
			d := newDiary(func(_ context.Context, d audiosearch.Delivery) audiosearch.Verdict {
				if d.Deliveries < 3 {
					return retry
				}
				return done
			})
			c := s.consume(t, 1, d.handle)
			for i := range 3 {
				require.Equal(t, audiosearch.Delivery{Job: j, Deliveries: i + 1}, d.next(t))
			}
			c.stop(t)
			s.isOver(t, j)
		}},

	{Rule{"queue/retry-after", "A job that is not done is delivered again, but not before After has passed."}, needQueue,
		func(t *testing.T, s *subject) {
			const after = 300 * time.Millisecond
			j := s.enqueue(t, newJob())
			times := make(chan time.Time, 2)
			d := newDiary(func(_ context.Context, d audiosearch.Delivery) audiosearch.Verdict {
				times <- time.Now()
				if d.Deliveries == 1 {
					return audiosearch.Verdict{After: after}
				}
				return done
			})
			c := s.consume(t, 1, d.handle)
			require.Equal(t, j, d.next(t).Job)
			require.Equal(t, j, d.next(t).Job)
			c.stop(t)
			// A tenth less, for clocks of two machines and times cut to microseconds or milliseconds.
			waited := -(<-times).Sub(<-times)
			require.GreaterOrEqual(t, waited, after*9/10, "time between the deliveries")
		}},

	{Rule{"queue/zero-verdict", "The zero Verdict gives the job back, due at once, so that nothing is lost by omission."}, needQueue,
		func(t *testing.T, s *subject) {
			j := s.enqueue(t, newJob())
			d := newDiary(func(_ context.Context, d audiosearch.Delivery) audiosearch.Verdict {
				if d.Deliveries == 1 {
					return audiosearch.Verdict{}
				}
				return done
			})
			s.consume(t, 1, d.handle)
			require.Equal(t, j, d.next(t).Job)
			require.Equal(t, j, d.next(t).Job)
		}},

	{Rule{"queue/done", "A job whose verdict is done is never delivered again."}, needQueue,
		func(t *testing.T, s *subject) {
			want := []audiosearch.Job{s.enqueue(t, newJob()), s.enqueue(t, newJob())}
			d := newDiary(nil)
			c := s.consume(t, 2, d.handle)
			require.ElementsMatch(t, want, []audiosearch.Job{d.next(t).Job, d.next(t).Job})
			mark := s.enqueue(t, newJob())
			require.Equal(t, mark, d.next(t).Job)
			c.stop(t)
			for _, j := range want {
				s.isOver(t, j)
			}
		}},

	{Rule{"queue/retried-job-holds-up-nobody", "A job that is retried at once, again and again, never holds up others."}, needQueue,
		func(t *testing.T, s *subject) { holdsUpNobody(t, s, retry) }},

	{Rule{"queue/waiting-job-holds-up-nobody", "A job that waits for its retry never holds up others."}, needQueue,
		func(t *testing.T, s *subject) { holdsUpNobody(t, s, noTime) }},

	{Rule{"queue/two-consumers", "Consume is safe for concurrent use: two consumers share the jobs, and each is handed out once."}, needQueue,
		func(t *testing.T, s *subject) {
			const n = 60
			d := newDiary(nil)
			for range 2 {
				s.consume(t, 3, d.handle)
			}
			want := make([]audiosearch.Job, n)
			for i := range want {
				want[i] = s.enqueue(t, newJob())
			}
			for range n {
				d.next(t)
			}
			for _, j := range want {
				deliveries, _ := d.count(j)
				require.Equal(t, 1, deliveries, "deliveries of one job")
			}
		}},

	{Rule{"queue/enqueued-by-others", "Jobs that another queue over the same table adds are found by an idle consumer at its next poll."}, needLeases,
		func(t *testing.T, s *subject) {
			opts := &audiosearch.LeaseOptions{Poll: 10 * time.Millisecond}
			leases := struct{ audiosearch.Leases }{s.Leases} // no JobNotifier, so that only polling helps
			here, there := audiosearch.LeaseQueue(leases, opts), audiosearch.LeaseQueue(leases, opts)
			d := newDiary(nil)
			consumeOn(t.Context(), t, here, 1, d.handle)
			for range 3 {
				nothing(t, d.news, "a delivery from an empty table")
				j := newJob()
				require.NoError(t, there.Enqueue(t.Context(), j))
				require.Equal(t, j, d.next(t).Job)
			}
		}},
}

// holdsUpNobody answers one job with the verdict, always, and requires that the others come nevertheless.
func holdsUpNobody(t *testing.T, s *subject, v audiosearch.Verdict) {
	t.Helper()
	poison := s.enqueue(t, newJob())
	came := make(chan struct{}, 1)
	others := make(chan audiosearch.Job, 100)
	s.consume(t, 1, func(_ context.Context, d audiosearch.Delivery) audiosearch.Verdict {
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
	await(t, came, "the job that is retried")
	left := make(map[audiosearch.Job]bool)
	for range 10 {
		left[s.enqueue(t, newJob())] = true
	}
	for len(left) > 0 {
		delete(left, await(t, others, "the jobs beside the retried one"))
	}
}
