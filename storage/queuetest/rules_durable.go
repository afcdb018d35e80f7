package queuetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// durableRules say what outlives a process.
var durableRules = []rule{
	{Rule{"leases/durable", "Jobs outlive the process: waiting ones as they were, held ones " +
		"until their lease ends, and none that is done, dead or cancelled."},
		needTable | needReopen, func(t *testing.T, s *subject) {
			_, over := s.addAndTake(t, -4*time.Hour, time.Hour)
			s.remove(t, over, false)
			deadJob, l := s.addAndTake(t, -3*time.Hour, time.Hour)
			s.remove(t, l, true)
			released, l := s.addAndTake(t, -2*time.Hour, 0)
			s.release(t, l, -2*time.Hour, 2*time.Hour)
			left, _ := s.addAndTake(t, -time.Hour, time.Hour)
			held, l := s.addAndTake(t, 0, 3*time.Hour)
			waiting := s.add(t, traced(), 4*time.Hour)
			s.cancel(t, s.add(t, newJob(), 4*time.Hour))

			s.reopen(t)
			s.at(0)
			s.add(t, deadJob, 0)
			s.none(t, time.Hour-time.Microsecond)
			require.Equal(t, 2, s.take(t, left, time.Hour, 10*time.Hour).Deliveries)
			s.none(t, 2*time.Hour-time.Microsecond)
			s.take(t, released, 2*time.Hour, 10*time.Hour)
			s.extend(t, l, 2*time.Hour, 3*time.Hour) // its holder is still there
			s.none(t, 3*time.Hour-time.Microsecond)
			s.take(t, held, 3*time.Hour, 10*time.Hour)
			s.powerless(t, l)
			sameJob(t, waiting, s.take(t, waiting, 4*time.Hour, 10*time.Hour).Job)
			s.none(t, 9*time.Hour)
		}},

	{Rule{"leases/durable-order", "The order of jobs that are claimable from the same time on outlives the process: jobs " +
		"added before come before jobs added after, and none is lost."},
		needTable | needReopen, func(t *testing.T, s *subject) {
			var jobs []mortise.Job
			for round := range 3 {
				if round > 0 {
					s.reopen(t)
				}
				s.at(0)
				for range 3 {
					jobs = append(jobs, s.add(t, newJob(), 0))
				}
			}
			require.Equal(t, names(jobs...), leased(s.claim(t, time.Hour, 10*time.Hour, 100)), "jobs in their order")
			s.none(t, 2*time.Hour)
		}},

	{Rule{"queue/durable", "Jobs outlive the process until a verdict ends them: those that " +
		"never came, and those that are to be retried."},
		needQueue | needReopen, func(t *testing.T, s *subject) {
			finished, buried := s.enqueue(t, newJob()), s.enqueue(t, newJob())
			retried := s.enqueue(t, newJob())
			d := newDiary(func(_ context.Context, d mortise.Delivery) mortise.Verdict {
				switch d.Job.String() {
				case finished.String():
					return done
				case buried.String():
					return dead
				}
				return retry
			})
			c := s.consume(t, 1, d.handle)
			conformance.Until(t, "each job to come", func() bool {
				for _, j := range []mortise.Job{finished, buried, retried} {
					if came, _ := d.count(j); came == 0 {
						return false
					}
				}
				return true
			})
			c.stop(t)
			fresh := s.enqueue(t, newJob())

			s.reopen(t)
			d = newDiary(nil)
			c = s.consume(t, 1, d.handle)
			conformance.Until(t, "the jobs that are left", func() bool {
				again, first := d.count(retried)
				came, _ := d.count(fresh)
				return again > 0 && first == 0 && came > 0
			})
			c.stop(t)
			for _, j := range []mortise.Job{finished, buried} {
				came, _ := d.count(j)
				require.Zero(t, came, "deliveries of a job that was over before")
			}
		}},
}
