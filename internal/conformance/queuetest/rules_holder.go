package queuetest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// powerless requires that a lease holds nothing: no call with it changes anything.
func (s *Subject[J]) powerless(t *testing.T, l Lease[J]) {
	t.Helper()
	ctx := t.Context()
	require.ErrorIs(t, s.Leases.Extend(ctx, l, conformance.Moment(1000*time.Hour)), s.LeaseLost, "Extend")
	require.ErrorIs(t, s.Leases.Release(ctx, l, conformance.Moment(-time.Hour)), s.LeaseLost, "Release")
	require.ErrorIs(t, s.Leases.Remove(ctx, l, true), s.LeaseLost, "Remove as dead")
	require.ErrorIs(t, s.Leases.Remove(ctx, l, false), s.LeaseLost, "Remove")
}

// holderRules are the rules of Extend, Release and Remove.
func holderRules[J Job](add string) []Rule[J] {
	return []Rule[J]{
		{Sentence{"leases/extend", "Extend moves the end of a lease, again and again."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				l := s.ClaimOne(t, 0, time.Minute)
				for i := range 3 {
					end := time.Duration(i+2) * time.Minute
					require.NoError(t, s.Leases.Extend(t.Context(), l, conformance.Moment(end)))
					s.ClaimNone(t, end-time.Microsecond)
				}
				require.Equal(t, j, s.ClaimOne(t, time.Hour, 2*time.Hour).Job)
			}},

		{Sentence{"leases/release", "Release gives the job back, claimable from the given time on."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				require.NoError(t, s.Leases.Release(t.Context(), s.ClaimOne(t, 0, time.Minute), conformance.Moment(time.Hour)))
				s.ClaimNone(t, time.Hour-time.Microsecond)
				l := s.ClaimOne(t, time.Hour, 3*time.Hour)
				require.Equal(t, j, l.Job)
				require.NoError(t, s.Leases.Release(t.Context(), l, conformance.Moment(2*time.Hour)))
				s.ClaimNone(t, 2*time.Hour-time.Microsecond)
				require.Equal(t, j, s.ClaimOne(t, 2*time.Hour, 3*time.Hour).Job)
			}},

		{Sentence{"leases/remove", "Remove ends the job: no Claim returns it, and its ID is free for " + add + "."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				require.NoError(t, s.Leases.Remove(t.Context(), s.ClaimOne(t, 0, time.Minute), false))
				s.ClaimNone(t, time.Hour)
				s.Add(t, j, 2*time.Hour)
				s.ClaimNone(t, time.Hour)
				require.Equal(t, j, s.ClaimOne(t, 2*time.Hour, 3*time.Hour).Job)
			}},

		{Sentence{"leases/ended-lease-is-held", "A lease whose end has passed is still held until somebody else claims it."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				ctx := t.Context()
				for _, end := range []func(l Lease[J]) error{
					func(l Lease[J]) error { return s.Leases.Extend(ctx, l, conformance.Moment(1000*time.Hour)) },
					func(l Lease[J]) error { return s.Leases.Release(ctx, l, conformance.Moment(1000*time.Hour)) },
					func(l Lease[J]) error { return s.Leases.Remove(ctx, l, false) },
					func(l Lease[J]) error { return s.Leases.Remove(ctx, l, true) },
				} {
					s.Add(t, s.newJob(), 0)
					l := s.ClaimOne(t, 0, time.Minute)
					// The backend is shown a time after the lease's end, by a claim that takes another job.
					other := s.Add(t, s.newJob(), -time.Hour)
					later := s.Claim(t, time.Hour, 2*time.Hour, 1)
					require.Equal(t, []J{other}, jobs(later))
					require.NoError(t, s.Leases.Remove(ctx, later[0], false))
					require.NoError(t, end(l))
					s.ClaimNone(t, 2*time.Hour)
				}
			}},

		{Sentence{"leases/old-holder", "If the job was claimed again with another token, Extend, Release and Remove change nothing and return ErrLeaseLost."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				old := s.ClaimOne(t, 0, time.Minute)
				held := s.ClaimOne(t, time.Hour, 2*time.Hour)
				s.powerless(t, old)
				s.ClaimNone(t, 2*time.Hour-time.Microsecond)
				require.NoError(t, s.Leases.Extend(t.Context(), held, conformance.Moment(3*time.Hour)))
				s.powerless(t, old)
				s.ClaimNone(t, 3*time.Hour-time.Microsecond)
				last := s.ClaimOne(t, 4*time.Hour, 5*time.Hour)
				require.Equal(t, j, last.Job)
				require.Equal(t, 3, last.Deliveries)
				s.powerless(t, old)
				s.powerless(t, held)
				require.NoError(t, s.Leases.Remove(t.Context(), last, false))
			}},

		{Sentence{"leases/released-lease", "Extend, Release and Remove act only for the present holder, which one that has released the job is not."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				l := s.ClaimOne(t, 0, time.Minute)
				require.NoError(t, s.Leases.Release(t.Context(), l, conformance.Moment(time.Hour)))
				s.powerless(t, l)
				s.ClaimNone(t, time.Hour-time.Microsecond)
				require.Equal(t, j, s.ClaimOne(t, time.Hour, 2*time.Hour).Job)
			}},

		{Sentence{"leases/gone", "If the job is gone, Extend, Release and Remove change nothing and return ErrLeaseLost."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				s.powerless(t, Lease[J]{Job: s.newJob(), Token: uuid.New(), Deliveries: 1})
				for _, dead := range []bool{false, true} {
					s.Add(t, s.newJob(), 0)
					l := s.ClaimOne(t, 0, time.Minute)
					require.NoError(t, s.Leases.Remove(t.Context(), l, dead))
					s.powerless(t, l)
					s.ClaimNone(t, time.Hour)
				}
			}},

		{Sentence{"leases/never-held", "A token that no Claim gave holds nothing."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				s.powerless(t, Lease[J]{Job: j, Token: uuid.New(), Deliveries: 1})
				l := s.ClaimOne(t, 0, time.Minute)
				require.Equal(t, 1, l.Deliveries)
				forged := l
				forged.Token = uuid.New()
				s.powerless(t, forged)
				next := l
				next.Job = s.Sibling(j)
				s.powerless(t, next)
				s.ClaimNone(t, time.Second)
				require.NoError(t, s.Leases.Remove(t.Context(), l, false))
			}},

		{Sentence{"leases/one-claim-many-jobs", "The leases of one claim share its token and end each by itself."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				for range 4 {
					s.Add(t, s.newJob(), 0)
				}
				leases := s.Claim(t, 0, time.Minute, 4)
				require.Len(t, leases, 4)
				ctx := t.Context()
				require.NoError(t, s.Leases.Remove(ctx, leases[0], false))
				require.NoError(t, s.Leases.Release(ctx, leases[1], conformance.Moment(time.Second)))
				require.NoError(t, s.Leases.Extend(ctx, leases[2], conformance.Moment(time.Hour)))
				require.Equal(t, leases[1].Job, s.ClaimOne(t, 2*time.Second, 2*time.Hour).Job)
				require.Equal(t, leases[3].Job, s.ClaimOne(t, 2*time.Minute, 2*time.Hour).Job)
				require.Equal(t, leases[2].Job, s.ClaimOne(t, time.Hour+time.Microsecond, 2*time.Hour).Job)
			}},
	}
}
