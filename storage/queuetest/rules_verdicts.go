package queuetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// verdictRules say what becomes of a job that was delivered.
var verdictRules = []rule{
	{Rule{"queue/retry", "A job is delivered until a verdict ends it; Deliveries is how often " +
		"it has been handed out, this time included."},
		needQueue, func(t *testing.T, s *subject) {
			j := s.enqueue(t, newJob())
			d := newDiary(func(_ context.Context, d mortise.Delivery) mortise.Verdict {
				if d.Deliveries < 3 {
					return retry
				}
				return done
			})
			c := s.consume(t, 1, d.handle)
			for i := range 3 {
				require.Equal(t, i+1, d.expect(t, j).Deliveries)
			}
			c.stop(t)
			s.isOver(t, j)
		}},

	{Rule{"queue/retry-after", "A job that is to be retried is delivered again, but not before " +
		"After has passed."},
		needQueue, func(t *testing.T, s *subject) {
			after := 3 * conformance.Glimpse()
			j := s.enqueue(t, newJob())
			times := make(chan time.Time, 2)
			d := newDiary(func(_ context.Context, d mortise.Delivery) mortise.Verdict {
				times <- time.Now()
				if d.Deliveries == 1 {
					return mortise.Verdict{After: after}
				}
				return done
			})
			c := s.consume(t, 1, d.handle)
			d.expect(t, j)
			d.expect(t, j)
			c.stop(t)
			// A tenth less, as in queue/at.
			waited := -(<-times).Sub(<-times)
			require.GreaterOrEqual(t, waited, after*9/10, "time between the deliveries")
		}},

	{Rule{"queue/zero-verdict", "The zero Verdict means retry at once, so that nothing is lost " +
		"by omission."},
		needQueue, func(t *testing.T, s *subject) {
			j := s.enqueue(t, newJob())
			d := newDiary(func(_ context.Context, d mortise.Delivery) mortise.Verdict {
				if d.Deliveries == 1 {
					return mortise.Verdict{}
				}
				return done
			})
			s.consume(t, 1, d.handle)
			d.expect(t, j)
			d.expect(t, j)
		}},

	{Rule{"queue/done", "A job whose verdict is VerdictDone is never delivered again, and can " +
		"be enqueued anew."},
		needQueue, func(t *testing.T, s *subject) {
			for _, j := range endsBy(t, s, done) {
				s.enqueue(t, j)
				deliveries, first := s.passed(t).count(j)
				require.Equal(t, 1, deliveries, "deliveries of a job enqueued anew")
				require.Equal(t, 1, first, "deliveries of it as a new one")
			}
		}},

	{Rule{"queue/dead", "A job whose verdict is VerdictDead is never delivered again."},
		needQueue, func(t *testing.T, s *subject) { endsBy(t, s, dead) }},

	{Rule{"queue/retried-job-holds-up-nobody", "A job that is retried at once, again and " +
		"again, never holds up others."},
		needQueue, func(t *testing.T, s *subject) { holdsUpNobody(t, s, retry) }},

	{Rule{"queue/waiting-job-holds-up-nobody", "A job that waits for its retry never holds up " +
		"others."},
		needQueue, func(t *testing.T, s *subject) { holdsUpNobody(t, s, noTime) }},

	{Rule{"queue/two-consumers", "Consume is safe for concurrent use: two consumers share the " +
		"jobs, and each is handed out once."},
		needQueue, func(t *testing.T, s *subject) {
			const n = 60
			d := newDiary(nil)
			for range 2 {
				s.consume(t, 3, d.handle)
			}
			want := make([]mortise.Job, n)
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
}

// endsBy gives jobs the verdict and requires that none comes again, from this consumer or
// from a later one.
func endsBy(t *testing.T, s *subject, v mortise.Verdict) []mortise.Job {
	t.Helper()
	jobs := []mortise.Job{s.enqueue(t, newJob()), s.enqueue(t, newJob())}
	want := names(jobs...)
	d := newDiary(func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		if name := d.Job.String(); name == want[0] || name == want[1] {
			return v
		}
		return done
	})
	c := s.consume(t, 2, d.handle)
	require.ElementsMatch(t, want, names(d.next(t).Job, d.next(t).Job))
	d.expect(t, s.enqueue(t, newJob()))
	c.stop(t)
	for _, j := range jobs {
		s.isOver(t, j)
	}
	return jobs
}

// holdsUpNobody answers one job with the verdict, always, and requires that the others come
// nevertheless.
func holdsUpNobody(t *testing.T, s *subject, v mortise.Verdict) {
	t.Helper()
	poison := s.enqueue(t, newJob()).String()
	came := make(chan struct{}, 1)
	others := make(chan string, 100)
	s.consume(t, 1, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		if d.Job.String() != poison {
			others <- d.Job.String()
			return done
		}
		put(came)
		return v
	})
	conformance.Await(t, came, "the job that is retried")
	left := make(map[string]bool)
	for range 10 {
		left[s.enqueue(t, newJob()).String()] = true
	}
	for len(left) > 0 {
		delete(left, conformance.Await(t, others, "the jobs beside the retried one"))
	}
}
