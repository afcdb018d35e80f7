package queuetest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// jobs returns the jobs of leases, in their order.
func jobs[J Job](leases []Lease[J]) []J {
	var list []J
	for _, l := range leases {
		list = append(list, l.Job)
	}
	return list
}

// leaseRules are the rules of Claim and of the method that adds a job.
func leaseRules[J Job](add string) []Rule[J] {
	return []Rule[J]{
		{Sentence{"leases/claim-returns-the-job", "Claim returns what was added, with the claim's token."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.Sibling(s.NewJob("the \u00c4rzte")), 0)
				l := s.ClaimOne(t, 0, time.Minute)
				require.Equal(t, j, l.Job)
				require.Equal(t, 1, l.Deliveries)
			}},

		{Sentence{"leases/claim-empty", "Claim of a table with nothing claimable returns no lease, and no error."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) { s.ClaimNone(t, 0) }},

		{Sentence{"leases/add-time", "A job is claimable from the time given to " + add + " on, not before."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				s.ClaimNone(t, -time.Microsecond)
				require.Equal(t, j, s.ClaimOne(t, 0, time.Minute).Job)
			}},

		{Sentence{"leases/add-twice", "A job whose ID is there is left as it is by " + add + ": no error."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), time.Minute)
				s.Add(t, j, 0)
				s.Add(t, j, time.Hour)
				s.ClaimNone(t, time.Minute-time.Microsecond)
				require.Equal(t, j, s.ClaimOne(t, time.Minute, time.Hour).Job)
			}},

		{Sentence{"leases/add-while-leased", "A job whose ID is there and held by somebody is left as it is by " + add + "."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				l := s.ClaimOne(t, 0, time.Minute)
				s.Add(t, j, 0)
				s.ClaimNone(t, time.Second)
				require.NoError(t, s.Leases.Remove(t.Context(), l, false))
				s.ClaimNone(t, time.Hour)
			}},

		{Sentence{"leases/add-concurrent", add + " is atomic: of many at once with one job, one adds it."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.newJob()
				var errs [16]error
				conformance.Together(len(errs), func(i int) { errs[i] = s.Leases.Add(t.Context(), j, conformance.Moment(0)) })
				conformance.NoErrors(t, errs[:])
				require.Equal(t, j, s.ClaimOne(t, 0, time.Hour).Job)
			}},

		{Sentence{"leases/claim-holds-until", "A claim holds a job until its end; then anybody may claim it."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				s.ClaimOne(t, 0, time.Minute)
				s.ClaimNone(t, 0)
				s.ClaimNone(t, time.Minute-time.Microsecond)
				require.Equal(t, j, s.ClaimOne(t, time.Minute+time.Microsecond, time.Hour).Job)
			}},

		{Sentence{"leases/claim-limit", "Claim takes at most limit jobs."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				for range 5 {
					s.Add(t, s.newJob(), 0)
				}
				require.Len(t, s.Claim(t, 0, time.Hour, 2), 2)
				require.Len(t, s.Claim(t, 0, time.Hour, 2), 2)
				require.Len(t, s.Claim(t, 0, time.Hour, 2), 1)
				require.Empty(t, s.Claim(t, 0, time.Hour, 2))
			}},

		{Sentence{"leases/claim-order", "Claim takes those jobs first that have been claimable for the longest time: added, released or left by a holder."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				left := s.Add(t, s.newJob(), -time.Hour)
				s.ClaimOne(t, -time.Hour, 3*time.Second)
				released := s.Add(t, s.newJob(), -time.Hour)
				require.NoError(t, s.Leases.Release(t.Context(), s.ClaimOne(t, -time.Hour, time.Minute), conformance.Moment(time.Second)))
				fourth := s.Add(t, s.newJob(), 4*time.Second)
				second := s.Add(t, s.newJob(), 2*time.Second)
				first := s.Add(t, s.newJob(), 0)

				var got []J
				for range 5 {
					got = append(got, jobs(s.Claim(t, time.Minute, time.Hour, 1))...)
				}
				require.Equal(t, []J{first, released, second, left, fourth}, got)
				s.ClaimNone(t, time.Minute)
			}},

		{Sentence{"leases/claim-order-of-a-batch", "A claim of several jobs takes those that have been claimable for the longest time."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				var want [6]J
				for _, i := range []int{4, 1, 5, 0, 3, 2} {
					want[i] = s.Add(t, s.newJob(), time.Duration(i)*time.Microsecond)
				}
				require.ElementsMatch(t, want[:3], jobs(s.Claim(t, time.Hour, 2*time.Hour, 3)))
				require.ElementsMatch(t, want[3:], jobs(s.Claim(t, time.Hour, 2*time.Hour, 3)))
			}},

		{Sentence{"leases/claim-order-of-equals", "Of an organization's jobs that became claimable at one time, Claim takes those first that were added or released first."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				var want []J
				for range 8 {
					want = append(want, s.Add(t, s.newJob(), 0))
				}
				first := s.Claim(t, 0, time.Hour, 1)
				require.Equal(t, want[:1], jobs(first))
				require.NoError(t, s.Leases.Release(t.Context(), first[0], conformance.Moment(0)))
				var got []J
				for range want {
					got = append(got, jobs(s.Claim(t, 0, time.Hour, 1))...)
				}
				require.Equal(t, append(want[1:], want[0]), got)
			}},

		{Sentence{"leases/claim-turns", "Claim takes organizations in turn, from one claim to the next, however many jobs of one have been waiting for longer."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				many := func(org string, n int, at time.Duration) {
					for i := range n {
						s.Add(t, s.NewJob(org), at+time.Duration(i))
					}
				}
				many(orgA, 30, 0)
				s.Claim(t, time.Minute, time.Hour, 2)
				many(orgB, 1, time.Second)
				one, two := s.Claim(t, time.Minute, time.Hour, 1), s.Claim(t, time.Minute, time.Hour, 1)
				require.ElementsMatch(t, []string{orgA, orgB}, s.organizations(one, two), "a claim of one job, and the next")

				many(orgB, 4, time.Second)
				many("org-c", 2, 2*time.Second)
				three := s.organizations(s.Claim(t, time.Minute, time.Hour, 3))
				require.ElementsMatch(t, []string{orgA, orgB, "org-c"}, three, "a claim of three jobs")
				var alone []string
				for range 3 {
					alone = append(alone, s.organizations(s.Claim(t, time.Minute, time.Hour, 1))...)
				}
				require.ElementsMatch(t, three, alone, "three claims of one job each")
				require.Equal(t, []string{orgA, orgA, orgA, orgA, orgB, orgB}, s.organizations(s.Claim(t, time.Minute, time.Hour, 6)))
			}},

		{Sentence{"leases/claim-except", "The jobs of the organizations in except stay as they are."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				except := func(orgs ...string) []Lease[J] {
					leases, err := s.Leases.Claim(t.Context(), uuid.New(), conformance.Moment(time.Minute), conformance.Moment(time.Hour), 10, orgs...)
					require.NoError(t, err)
					return leases
				}
				a, b := s.Add(t, s.NewJob(orgA), 0), s.Add(t, s.NewJob(orgB), time.Second)
				require.Empty(t, except(orgA, orgB))
				require.Equal(t, []J{b}, jobs(except("nobody", orgA)))
				require.Empty(t, except(orgA))
				l := except("nobody")
				require.Equal(t, []J{a}, jobs(l))
				require.Equal(t, 1, l[0].Deliveries)
			}},

		{Sentence{"leases/claim-concurrent", "No job is in two claims at once."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				const n, workers = 120, 16
				want := make([]J, n)
				for i := range want {
					want[i] = s.Add(t, s.newJob(), time.Duration(i%7)*time.Second)
				}
				var got [workers][]J
				var errs [workers]error
				conformance.Together(workers, func(i int) {
					for {
						leases, err := s.Leases.Claim(t.Context(), uuid.New(), conformance.Moment(time.Minute), conformance.Moment(time.Hour), 3)
						if errs[i] = err; err != nil || len(leases) == 0 {
							return
						}
						got[i] = append(got[i], jobs(leases)...)
					}
				})
				conformance.NoErrors(t, errs[:])
				var all []J
				for i := range got {
					all = append(all, got[i]...)
				}
				// A claim may pass over rows that another one is just looking at, so that some are left here.
				for left := s.Claim(t, time.Minute, time.Hour, n); len(left) > 0; left = s.Claim(t, time.Minute, time.Hour, n) {
					all = append(all, jobs(left)...)
				}
				require.ElementsMatch(t, want, all)
			}},

		{Sentence{"leases/claim-concurrent-left", "Of many claims at once for a job that its holder left, one gets it."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				s.Add(t, s.newJob(), 0)
				s.ClaimOne(t, 0, time.Minute)
				var got [16][]Lease[J]
				var errs [16]error
				conformance.Together(len(got), func(i int) {
					got[i], errs[i] = s.Leases.Claim(t.Context(), uuid.New(), conformance.Moment(2*time.Minute), conformance.Moment(time.Hour), 1)
				})
				conformance.NoErrors(t, errs[:])
				total := len(s.Claim(t, 2*time.Minute, time.Hour, 1))
				for i := range got {
					total += len(got[i])
				}
				require.Equal(t, 1, total, "leases of one job")
			}},

		{Sentence{"leases/deliveries", "Lease.Deliveries is how often the job has been claimed, this time included."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				s.Add(t, s.newJob(), 0)
				require.Equal(t, 1, s.ClaimOne(t, 0, time.Minute).Deliveries)
				l := s.ClaimOne(t, time.Hour, 2*time.Hour)
				require.Equal(t, 2, l.Deliveries)
				require.NoError(t, s.Leases.Extend(t.Context(), l, conformance.Moment(3*time.Hour)))
				require.NoError(t, s.Leases.Release(t.Context(), l, conformance.Moment(time.Hour)))
				require.Equal(t, 3, s.ClaimOne(t, 2*time.Hour, 3*time.Hour).Deliveries)
				s.Add(t, s.newJob(), -time.Hour)
				require.Equal(t, 1, s.ClaimOne(t, 0, time.Hour).Deliveries)
			}},
	}
}
