package queuetest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

// holderRules say what Extend, Release and Remove do.
var holderRules = []rule{
	{Rule{"leases/extend", "Extend moves the end of a lease, later or earlier, again and again."},
		needTable, func(t *testing.T, s *subject) {
			j, l := s.addAndTake(t, 0, time.Minute)
			for i := range time.Duration(3) {
				end := (i + 2) * time.Minute
				s.extend(t, l, i*time.Minute, end)
				s.none(t, end-time.Microsecond)
			}
			s.extend(t, l, time.Hour, 3*time.Hour)
			s.extend(t, l, time.Hour, 2*time.Hour)
			s.none(t, 2*time.Hour-time.Microsecond)
			s.take(t, j, 2*time.Hour, 3*time.Hour)
		}},

	{Rule{"leases/release", "Release gives the job back, claimable after a while."},
		needTable, func(t *testing.T, s *subject) {
			j, l := s.addAndTake(t, 0, time.Minute)
			s.release(t, l, 0, time.Hour)
			s.none(t, time.Hour-time.Microsecond)
			l = s.take(t, j, time.Hour, 3*time.Hour)
			s.release(t, l, time.Hour, 2*time.Hour)
			s.none(t, 2*time.Hour-time.Microsecond)
			s.release(t, s.take(t, j, 2*time.Hour, 3*time.Hour), 2*time.Hour, 2*time.Hour)
			s.take(t, j, 2*time.Hour, 3*time.Hour)
		}},

	{Rule{"leases/remove", "Remove ends the job: no Claim returns it, and it can be added anew."},
		needTable, func(t *testing.T, s *subject) {
			j, l := s.addAndTake(t, 0, time.Minute)
			s.remove(t, l, false)
			s.none(t, time.Hour)
			s.add(t, j, 2*time.Hour)
			s.none(t, time.Hour)
			require.Equal(t, 1, s.take(t, j, 2*time.Hour, 3*time.Hour).Deliveries)
		}},

	{Rule{"leases/remove-dead", "If dead is true, the job is kept as a dead letter that no " +
		"Claim returns."},
		needTable, func(t *testing.T, s *subject) {
			_, l := s.addAndTake(t, 0, time.Minute)
			other := s.add(t, newJob(), time.Second)
			s.remove(t, l, true)
			s.take(t, other, time.Hour, 2*time.Hour)
			s.none(t, time.Hour)
		}},

	{Rule{"leases/one-claim-many-jobs", "The leases of one claim share its token and end each " +
		"by itself."},
		needTable, func(t *testing.T, s *subject) {
			for range 4 {
				s.add(t, newJob(), 0)
			}
			leases := s.claim(t, 0, time.Minute, 4)
			require.Len(t, leases, 4)
			s.remove(t, leases[0], false)
			s.release(t, leases[1], 0, time.Second)
			s.extend(t, leases[2], 0, time.Hour)
			s.take(t, leases[1].Job, 2*time.Second, 2*time.Hour)
			s.take(t, leases[3].Job, 2*time.Minute, 2*time.Hour)
			s.take(t, leases[2].Job, time.Hour, 2*time.Hour)
		}},

	{Rule{"leases/ended-lease-is-held", "A lease whose end has passed is still held until " +
		"somebody else claims the job."},
		needTable, func(t *testing.T, s *subject) {
			for _, end := range []func(l mortise.Lease){
				func(l mortise.Lease) { s.extend(t, l, time.Hour, 1000*time.Hour) },
				func(l mortise.Lease) { s.release(t, l, time.Hour, 1000*time.Hour) },
				func(l mortise.Lease) { s.remove(t, l, false) },
				func(l mortise.Lease) { s.remove(t, l, true) },
			} {
				_, l := s.addAndTake(t, 0, time.Minute)
				// The backend is shown a time after the lease's end, by a claim that
				// takes another job.
				other := s.add(t, newJob(), -time.Hour)
				later := s.claim(t, time.Hour, 2*time.Hour, 1)
				require.Equal(t, names(other), leased(later))
				s.remove(t, later[0], false)
				end(l)
				s.none(t, 2*time.Hour)
			}
		}},
}

// lostRules say which leases hold nothing.
var lostRules = []rule{
	{Rule{"leases/old-holder", "If the job was claimed again with another token, Extend, " +
		"Release and Remove change nothing and return ErrLeaseLost."},
		needTable, func(t *testing.T, s *subject) {
			j, old := s.addAndTake(t, 0, time.Minute)
			held := s.take(t, j, time.Hour, 2*time.Hour)
			s.powerless(t, old)
			s.none(t, 2*time.Hour-time.Microsecond)
			s.extend(t, held, 2*time.Hour, 3*time.Hour)
			s.powerless(t, old)
			s.none(t, 3*time.Hour-time.Microsecond)
			last := s.take(t, j, 4*time.Hour, 5*time.Hour)
			require.Equal(t, 3, last.Deliveries)
			s.powerless(t, old)
			s.powerless(t, held)
			s.remove(t, last, false)
		}},

	{Rule{"leases/released-lease", "If the job was released, Extend, Release and Remove change " +
		"nothing and return ErrLeaseLost."},
		needTable, func(t *testing.T, s *subject) {
			j, l := s.addAndTake(t, 0, time.Minute)
			s.release(t, l, 0, time.Hour)
			s.powerless(t, l)
			s.none(t, time.Hour-time.Microsecond)
			s.take(t, j, time.Hour, 2*time.Hour)
		}},

	{Rule{"leases/gone", "If the job is gone, Extend, Release and Remove change nothing and " +
		"return ErrLeaseLost."},
		needTable, func(t *testing.T, s *subject) {
			s.powerless(t, mortise.Lease{Job: newJob(), Token: uuid.New(), Deliveries: 1})
			for _, dead := range []bool{false, true} {
				_, l := s.addAndTake(t, 0, time.Minute)
				s.remove(t, l, dead)
				s.powerless(t, l)
				s.none(t, time.Hour)
			}
			j, l := s.addAndTake(t, 0, time.Minute)
			s.remove(t, l, false)
			s.add(t, j, time.Hour)
			s.powerless(t, l)
			s.take(t, j, time.Hour, 2*time.Hour)
		}},

	{Rule{"leases/never-held", "A token that no Claim gave holds nothing, nor does one of " +
		"another job's lease."},
		needTable, func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			s.powerless(t, mortise.Lease{Job: j, Token: uuid.New(), Deliveries: 1})
			l := s.take(t, j, 0, time.Minute)
			require.Equal(t, 1, l.Deliveries)
			forged := l
			forged.Token = uuid.New()
			s.powerless(t, forged)
			other, of := s.addAndTake(t, 0, time.Minute)
			of.Job, l.Job = l.Job, of.Job
			s.powerless(t, of)
			s.powerless(t, l)
			for _, change := range []func(*mortise.Job){
				func(j *mortise.Job) { j.Kind = kindB },
				func(j *mortise.Job) { j.Organization = orgB },
			} {
				stranger := mortise.Lease{Job: other, Token: of.Token, Deliveries: 1}
				change(&stranger.Job)
				s.powerless(t, stranger)
			}
			s.none(t, time.Second)
			s.remove(t, mortise.Lease{Job: j, Token: l.Token, Deliveries: 1}, false)
		}},

	{Rule{"leases/nil-token", "A lease with the token uuid.Nil never holds: not a job that was " +
		"added, released, or is dead."},
		needTable, func(t *testing.T, s *subject) {
			nobody := func(j mortise.Job) { s.powerless(t, mortise.Lease{Job: j, Deliveries: 1}) }
			j := s.add(t, newJob(), 0)
			nobody(j)
			l := s.take(t, j, 0, time.Minute)
			nobody(j)
			s.release(t, l, 0, time.Minute)
			nobody(j)
			s.none(t, time.Minute-time.Microsecond)
			s.remove(t, s.take(t, j, time.Minute, time.Hour), true)
			nobody(j)
			s.add(t, j, time.Minute)
			s.none(t, time.Hour)
		}},
}
