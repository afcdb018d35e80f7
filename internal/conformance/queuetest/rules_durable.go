package queuetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// durableRules say what outlives a process.
func durableRules[J Job]() []Rule[J] {
	return []Rule[J]{
		{Sentence{"leases/durable", "Jobs outlive the process: waiting ones with their time, held ones until their lease ends, and none that is done."}, NeedLeases | NeedReopen,
			func(t *testing.T, s *Subject[J]) {
				s.Add(t, s.newJob(), -4*time.Hour)
				require.NoError(t, s.Leases.Remove(t.Context(), s.ClaimOne(t, -4*time.Hour, time.Hour), false))
				deadJob := s.Add(t, s.newJob(), -3*time.Hour)
				require.NoError(t, s.Leases.Remove(t.Context(), s.ClaimOne(t, -3*time.Hour, time.Hour), true))
				released := s.Add(t, s.newJob(), -2*time.Hour)
				require.NoError(t, s.Leases.Release(t.Context(), s.ClaimOne(t, -2*time.Hour, 0), conformance.Moment(2*time.Hour)))
				left := s.Add(t, s.newJob(), -time.Hour)
				s.ClaimOne(t, -time.Hour, time.Hour)
				held := s.Add(t, s.newJob(), 0)
				l := s.ClaimOne(t, 0, 3*time.Hour)
				waiting := s.Add(t, s.newJob(), 4*time.Hour)

				s = s.Reopen(t)
				if s.DeadLetters {
					s.Add(t, deadJob, 0)
				}
				s.ClaimNone(t, time.Hour-time.Microsecond)
				got := s.ClaimOne(t, time.Hour+time.Microsecond, 10*time.Hour)
				require.Equal(t, left, got.Job)
				require.Equal(t, 2, got.Deliveries)
				s.ClaimNone(t, 2*time.Hour-time.Microsecond)
				require.Equal(t, released, s.ClaimOne(t, 2*time.Hour, 10*time.Hour).Job)
				require.NoError(t, s.Leases.Extend(t.Context(), l, conformance.Moment(3*time.Hour)), "the holder is still there")
				s.ClaimNone(t, 3*time.Hour-time.Microsecond)
				require.Equal(t, held, s.ClaimOne(t, 3*time.Hour+time.Microsecond, 10*time.Hour).Job)
				s.powerless(t, l)
				require.Equal(t, waiting, s.ClaimOne(t, 4*time.Hour, 10*time.Hour).Job)
				s.ClaimNone(t, 9*time.Hour)
			}},

		{Sentence{"queue/durable", "Jobs outlive the process until a verdict ends them: those that never came, and those that are to be retried."}, NeedQueue | NeedReopen,
			func(t *testing.T, s *Subject[J]) {
				verdicts := map[J]Verdict{s.Enqueue(t, s.newJob()): done, s.Enqueue(t, s.newJob()): dead, s.Enqueue(t, s.newJob()): retry}
				d := NewDiary(func(_ context.Context, d Delivery[J]) Verdict { return verdicts[d.Job] })
				c := s.Consume(t, 1, d.Handle)
				conformance.Until(t, "each job to come", func() bool {
					for j := range verdicts {
						if came, _ := d.Count(j); came == 0 {
							return false
						}
					}
					return true
				})
				c.Stop(t)
				fresh := s.Enqueue(t, s.newJob())

				s = s.Reopen(t)
				d = NewDiary[J](nil)
				c = s.Consume(t, 1, d.Handle)
				conformance.Until(t, "the jobs that are left", func() bool {
					for j, v := range verdicts {
						if retried, first := d.Count(j); !v.Done && (retried == 0 || first > 0) {
							return false
						}
					}
					came, _ := d.Count(fresh)
					return came > 0
				})
				c.Stop(t)
				for j, v := range verdicts {
					came, _ := d.Count(j)
					require.False(t, v.Done && came > 0, "a job that was over before was delivered")
				}
			}},
	}
}
