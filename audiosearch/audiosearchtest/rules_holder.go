package audiosearchtest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// powerless requires that a lease holds nothing: no call with it changes anything.
func (s *subject) powerless(t *testing.T, l audiosearch.Lease) {
	t.Helper()
	ctx := t.Context()
	require.ErrorIs(t, s.Leases.Extend(ctx, l, moment(1000*time.Hour)), audiosearch.ErrLeaseLost, "Extend")
	require.ErrorIs(t, s.Leases.Release(ctx, l, moment(-time.Hour)), audiosearch.ErrLeaseLost, "Release")
	require.ErrorIs(t, s.Leases.Remove(ctx, l), audiosearch.ErrLeaseLost, "Remove")
}

// holderRules are the rules of Extend, Release and Remove.
var holderRules = []rule{
	{Rule{"leases/extend", "Extend moves the end of a lease, again and again."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			l := s.claimOne(t, 0, time.Minute)
			for i := range 3 {
				end := time.Duration(i+2) * time.Minute
				require.NoError(t, s.Leases.Extend(t.Context(), l, moment(end)))
				s.claimNone(t, end-time.Microsecond)
			}
			require.Equal(t, j, s.claimOne(t, time.Hour, 2*time.Hour).Job)
		}},

	{Rule{"leases/release", "Release gives the job back, claimable from the given time on."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			require.NoError(t, s.Leases.Release(t.Context(), s.claimOne(t, 0, time.Minute), moment(time.Hour)))
			s.claimNone(t, time.Hour-time.Microsecond)
			l := s.claimOne(t, time.Hour, 3*time.Hour)
			require.Equal(t, j, l.Job)
			require.NoError(t, s.Leases.Release(t.Context(), l, moment(2*time.Hour)))
			s.claimNone(t, 2*time.Hour-time.Microsecond)
			require.Equal(t, j, s.claimOne(t, 2*time.Hour, 3*time.Hour).Job)
		}},

	{Rule{"leases/remove", "Remove ends the job: no Claim returns it, and its ID is free for AddJob."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			require.NoError(t, s.Leases.Remove(t.Context(), s.claimOne(t, 0, time.Minute)))
			s.claimNone(t, time.Hour)
			s.add(t, j, 2*time.Hour)
			s.claimNone(t, time.Hour)
			require.Equal(t, j, s.claimOne(t, 2*time.Hour, 3*time.Hour).Job)
		}},

	{Rule{"leases/ended-lease-is-held", "A lease whose end has passed is still held until somebody else claims it."}, needLeases,
		func(t *testing.T, s *subject) {
			ctx := t.Context()
			for _, end := range []func(l audiosearch.Lease) error{
				func(l audiosearch.Lease) error { return s.Leases.Extend(ctx, l, moment(1000*time.Hour)) },
				func(l audiosearch.Lease) error { return s.Leases.Release(ctx, l, moment(1000*time.Hour)) },
				func(l audiosearch.Lease) error { return s.Leases.Remove(ctx, l) },
			} {
				s.add(t, newJob(), 0)
				l := s.claimOne(t, 0, time.Minute)
				// The backend is shown a time after the lease's end, by a claim that takes another job.
				other := s.add(t, newJob(), -time.Hour)
				later := s.claim(t, time.Hour, 2*time.Hour, 1)
				require.Equal(t, []audiosearch.Job{other}, jobs(later))
				require.NoError(t, s.Leases.Remove(ctx, later[0]))
				require.NoError(t, end(l))
				s.claimNone(t, 2*time.Hour)
			}
		}},

	{Rule{"leases/old-holder", "If the job was claimed again with another token, Extend, Release and Remove change nothing and return ErrLeaseLost."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			old := s.claimOne(t, 0, time.Minute)
			held := s.claimOne(t, time.Hour, 2*time.Hour)
			s.powerless(t, old)
			s.claimNone(t, 2*time.Hour-time.Microsecond)
			require.NoError(t, s.Leases.Extend(t.Context(), held, moment(3*time.Hour)))
			s.powerless(t, old)
			s.claimNone(t, 3*time.Hour-time.Microsecond)
			last := s.claimOne(t, 4*time.Hour, 5*time.Hour)
			require.Equal(t, j, last.Job)
			require.Equal(t, 3, last.Deliveries)
			s.powerless(t, old)
			s.powerless(t, held)
			require.NoError(t, s.Leases.Remove(t.Context(), last))
		}},

	{Rule{"leases/released-lease", "Extend, Release and Remove act only for the present holder, which one that has released the job is not."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			l := s.claimOne(t, 0, time.Minute)
			require.NoError(t, s.Leases.Release(t.Context(), l, moment(time.Hour)))
			s.powerless(t, l)
			s.claimNone(t, time.Hour-time.Microsecond)
			require.Equal(t, j, s.claimOne(t, time.Hour, 2*time.Hour).Job)
		}},

	{Rule{"leases/gone", "If the job is gone, Extend, Release and Remove change nothing and return ErrLeaseLost."}, needLeases,
		func(t *testing.T, s *subject) {
			s.powerless(t, audiosearch.Lease{Job: newJob(), Token: uuid.New(), Deliveries: 1})
			s.add(t, newJob(), 0)
			l := s.claimOne(t, 0, time.Minute)
			require.NoError(t, s.Leases.Remove(t.Context(), l))
			s.powerless(t, l)
			s.claimNone(t, time.Hour)
		}},

	{Rule{"leases/never-held", "A token that no Claim gave holds nothing."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			s.powerless(t, audiosearch.Lease{Job: j, Token: uuid.New(), Deliveries: 1})
			l := s.claimOne(t, 0, time.Minute)
			require.Equal(t, 1, l.Deliveries)
			forged := l
			forged.Token = uuid.New()
			s.powerless(t, forged)
			next := l
			next.Job.RunID = newRunID()
			s.powerless(t, next)
			s.claimNone(t, time.Second)
			require.NoError(t, s.Leases.Remove(t.Context(), l))
		}},

	{Rule{"leases/one-claim-many-jobs", "The leases of one claim share its token and end each by itself."}, needLeases,
		func(t *testing.T, s *subject) {
			for range 4 {
				s.add(t, newJob(), 0)
			}
			leases := s.claim(t, 0, time.Minute, 4)
			require.Len(t, leases, 4)
			ctx := t.Context()
			require.NoError(t, s.Leases.Remove(ctx, leases[0]))
			require.NoError(t, s.Leases.Release(ctx, leases[1], moment(time.Second)))
			require.NoError(t, s.Leases.Extend(ctx, leases[2], moment(time.Hour)))
			require.Equal(t, leases[1].Job, s.claimOne(t, 2*time.Second, 2*time.Hour).Job)
			require.Equal(t, leases[3].Job, s.claimOne(t, 2*time.Minute, 2*time.Hour).Job)
			require.Equal(t, leases[2].Job, s.claimOne(t, time.Hour+time.Microsecond, 2*time.Hour).Job)
		}},
}
