package audiosearchtest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// newRunID returns an ID that no run has.
func newRunID() int64 { return 1 + rand.Int64N(audiosearch.MaxRunID) }

// newJob returns the job of a run that nobody knows.
func newJob() audiosearch.Job { return audiosearch.Job{Organization: orgA, RunID: newRunID()} }

// add adds a job, claimable from the moment on.
func (s *subject) add(t *testing.T, j audiosearch.Job, at time.Duration) audiosearch.Job {
	t.Helper()
	require.NoError(t, s.Leases.AddJob(t.Context(), j, moment(at)))
	return j
}

// claim claims under a new token.
func (s *subject) claim(t *testing.T, now, until time.Duration, limit int) []audiosearch.Lease {
	t.Helper()
	token := uuid.New()
	leases, err := s.Leases.Claim(t.Context(), token, moment(now), moment(until), limit)
	require.NoError(t, err)
	require.LessOrEqual(t, len(leases), limit, "leases of one claim")
	for _, l := range leases {
		require.Equal(t, token, l.Token)
	}
	return leases
}

// claimOne claims the only job that is claimable.
func (s *subject) claimOne(t *testing.T, now, until time.Duration) audiosearch.Lease {
	t.Helper()
	leases := s.claim(t, now, until, 10)
	require.Len(t, leases, 1, "claimable jobs")
	return leases[0]
}

// claimNone requires that no job is claimable.
func (s *subject) claimNone(t *testing.T, now time.Duration) {
	t.Helper()
	require.Empty(t, s.claim(t, now, now+time.Hour, 10), "claimable jobs")
}

// jobs returns the jobs of leases, in their order.
func jobs(leases []audiosearch.Lease) []audiosearch.Job {
	var list []audiosearch.Job
	for _, l := range leases {
		list = append(list, l.Job)
	}
	return list
}

// leaseRules are the rules of AddJob and Claim.
var leaseRules = []rule{
	{Rule{"leases/claim-returns-the-job", "Claim returns what was added, with the claim's token."}, needLeases,
		func(t *testing.T, s *subject) {
			j := audiosearch.Job{Organization: "the \u00c4rzte", RunID: audiosearch.MaxRunID}
			s.add(t, j, 0)
			l := s.claimOne(t, 0, time.Minute)
			require.Equal(t, j, l.Job)
			require.Equal(t, 1, l.Deliveries)
		}},

	{Rule{"leases/claim-empty", "Claim of a table with nothing claimable returns no lease, and no error."}, needLeases,
		func(t *testing.T, s *subject) { s.claimNone(t, 0) }},

	{Rule{"leases/add-time", "A job is claimable from the time given to AddJob on, not before."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			s.claimNone(t, -time.Microsecond)
			require.Equal(t, j, s.claimOne(t, 0, time.Minute).Job)
		}},

	{Rule{"leases/add-twice", "A job whose ID is there is left as it is by AddJob: no error."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), time.Minute)
			s.add(t, j, 0)
			s.add(t, j, time.Hour)
			s.claimNone(t, time.Minute-time.Microsecond)
			require.Equal(t, j, s.claimOne(t, time.Minute, time.Hour).Job)
		}},

	{Rule{"leases/add-while-leased", "A job whose ID is there and held by somebody is left as it is by AddJob."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			l := s.claimOne(t, 0, time.Minute)
			s.add(t, j, 0)
			s.claimNone(t, time.Second)
			require.NoError(t, s.Leases.Remove(t.Context(), l))
			s.claimNone(t, time.Hour)
		}},

	{Rule{"leases/add-concurrent", "AddJob is atomic: of many at once with one job, one adds it."}, needLeases,
		func(t *testing.T, s *subject) {
			j := newJob()
			var errs [16]error
			together(len(errs), func(i int) { errs[i] = s.Leases.AddJob(t.Context(), j, moment(0)) })
			noErrors(t, errs[:])
			require.Equal(t, j, s.claimOne(t, 0, time.Hour).Job)
		}},

	{Rule{"leases/id-is-of-the-run", "A job's ID is that of its run: each run has a job of its own, and one only, whatever the organization."}, needLeases,
		func(t *testing.T, s *subject) {
			first := s.add(t, audiosearch.Job{Organization: orgA, RunID: 1}, 0)
			second := s.add(t, audiosearch.Job{Organization: orgA, RunID: audiosearch.MaxRunID}, time.Second)
			s.add(t, audiosearch.Job{Organization: orgB, RunID: 1}, 0)
			require.Equal(t, []audiosearch.Job{first}, jobs(s.claim(t, 0, time.Hour, 10)))
			l := s.claimOne(t, time.Second, time.Hour)
			require.Equal(t, second, l.Job)
			require.NoError(t, s.Leases.Remove(t.Context(), l))
			require.Equal(t, first, s.claimOne(t, time.Hour+time.Microsecond, 2*time.Hour).Job)
		}},

	{Rule{"leases/claim-holds-until", "A claim holds a job until its end; then anybody may claim it."}, needLeases,
		func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), 0)
			s.claimOne(t, 0, time.Minute)
			s.claimNone(t, 0)
			s.claimNone(t, time.Minute-time.Microsecond)
			require.Equal(t, j, s.claimOne(t, time.Minute+time.Microsecond, time.Hour).Job)
		}},

	{Rule{"leases/claim-limit", "Claim takes at most limit jobs."}, needLeases,
		func(t *testing.T, s *subject) {
			for range 5 {
				s.add(t, newJob(), 0)
			}
			require.Len(t, s.claim(t, 0, time.Hour, 2), 2)
			require.Len(t, s.claim(t, 0, time.Hour, 2), 2)
			require.Len(t, s.claim(t, 0, time.Hour, 2), 1)
			require.Empty(t, s.claim(t, 0, time.Hour, 2))
		}},

	{Rule{"leases/claim-order", "Claim takes those jobs first that have been claimable for the longest time: added, released or left by a holder."}, needLeases,
		func(t *testing.T, s *subject) {
			left := s.add(t, newJob(), -time.Hour)
			s.claimOne(t, -time.Hour, 3*time.Second)
			released := s.add(t, newJob(), -time.Hour)
			require.NoError(t, s.Leases.Release(t.Context(), s.claimOne(t, -time.Hour, time.Minute), moment(time.Second)))
			fourth := s.add(t, newJob(), 4*time.Second)
			second := s.add(t, newJob(), 2*time.Second)
			first := s.add(t, newJob(), 0)

			var got []audiosearch.Job
			for range 5 {
				got = append(got, jobs(s.claim(t, time.Minute, time.Hour, 1))...)
			}
			require.Equal(t, []audiosearch.Job{first, released, second, left, fourth}, got)
			s.claimNone(t, time.Minute)
		}},

	{Rule{"leases/claim-order-of-a-batch", "A claim of several jobs takes those that have been claimable for the longest time."}, needLeases,
		func(t *testing.T, s *subject) {
			var want [6]audiosearch.Job
			for _, i := range []int{4, 1, 5, 0, 3, 2} {
				want[i] = s.add(t, newJob(), time.Duration(i)*time.Microsecond)
			}
			require.ElementsMatch(t, want[:3], jobs(s.claim(t, time.Hour, 2*time.Hour, 3)))
			require.ElementsMatch(t, want[3:], jobs(s.claim(t, time.Hour, 2*time.Hour, 3)))
		}},

	{Rule{"leases/claim-concurrent", "No job is in two claims at once."}, needLeases,
		func(t *testing.T, s *subject) {
			const n, workers = 120, 16
			want := make([]audiosearch.Job, n)
			for i := range want {
				want[i] = s.add(t, newJob(), time.Duration(i%7)*time.Second)
			}
			var got [workers][]audiosearch.Job
			var errs [workers]error
			together(workers, func(i int) {
				for {
					leases, err := s.Leases.Claim(t.Context(), uuid.New(), moment(time.Minute), moment(time.Hour), 3)
					if errs[i] = err; err != nil || len(leases) == 0 {
						return
					}
					got[i] = append(got[i], jobs(leases)...)
				}
			})
			noErrors(t, errs[:])
			var all []audiosearch.Job
			for i := range got {
				all = append(all, got[i]...)
			}
			// A claim may pass over rows that another one is just looking at, so that some are left here.
			for left := s.claim(t, time.Minute, time.Hour, n); len(left) > 0; left = s.claim(t, time.Minute, time.Hour, n) {
				all = append(all, jobs(left)...)
			}
			require.ElementsMatch(t, want, all)
		}},

	{Rule{"leases/claim-concurrent-left", "Of many claims at once for a job that its holder left, one gets it."}, needLeases,
		func(t *testing.T, s *subject) {
			s.add(t, newJob(), 0)
			s.claimOne(t, 0, time.Minute)
			var got [16][]audiosearch.Lease
			var errs [16]error
			together(len(got), func(i int) {
				got[i], errs[i] = s.Leases.Claim(t.Context(), uuid.New(), moment(2*time.Minute), moment(time.Hour), 1)
			})
			noErrors(t, errs[:])
			total := len(s.claim(t, 2*time.Minute, time.Hour, 1))
			for i := range got {
				total += len(got[i])
			}
			require.Equal(t, 1, total, "leases of one job")
		}},

	{Rule{"leases/deliveries", "Lease.Deliveries is how often the job has been claimed, this time included."}, needLeases,
		func(t *testing.T, s *subject) {
			s.add(t, newJob(), 0)
			require.Equal(t, 1, s.claimOne(t, 0, time.Minute).Deliveries)
			l := s.claimOne(t, time.Hour, 2*time.Hour)
			require.Equal(t, 2, l.Deliveries)
			require.NoError(t, s.Leases.Extend(t.Context(), l, moment(3*time.Hour)))
			require.NoError(t, s.Leases.Release(t.Context(), l, moment(time.Hour)))
			require.Equal(t, 3, s.claimOne(t, 2*time.Hour, 3*time.Hour).Deliveries)
			s.add(t, newJob(), -time.Hour)
			require.Equal(t, 1, s.claimOne(t, 0, time.Hour).Deliveries)
		}},
}
