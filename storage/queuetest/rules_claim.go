package queuetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// inOrder claims one job after the other, and returns which ones came.
func (s *subject) inOrder(t *testing.T, now time.Duration, n int) (order []string) {
	t.Helper()
	for range n {
		order = append(order, leased(s.claim(t, now, now+1000*time.Hour, 1))...)
	}
	return order
}

// claimRules are the rules of Claim, but those of whose turn it is.
var claimRules = []rule{
	{Rule{"leases/claim-empty", "Claim of a table with nothing claimable returns no lease, and " +
		"no error."},
		needTable, func(t *testing.T, s *subject) { s.none(t, 0) }},

	{Rule{"leases/claim-kinds", "A claim takes jobs of its kinds only."},
		needTable, func(t *testing.T, s *subject) {
			a, b := s.add(t, jobOf(kindA, orgA), 0), s.add(t, jobOf(kindB, orgA), 0)
			c := s.add(t, jobOf("kind-c", orgB), time.Second)
			of := func(kinds ...string) []string {
				c := mortise.Claim{Kinds: kinds, Limit: 10, TTL: time.Hour}
				return leased(s.claimAs(t, time.Minute, c))
			}
			require.Empty(t, of("kind"))
			require.Equal(t, names(b), of(kindB))
			require.ElementsMatch(t, names(a, c), of("kind-c", kindA, "unknown"))
			require.Empty(t, of(kindA, kindB, "kind-c"))
		}},

	{Rule{"leases/claim-kinds-twice", "A kind that a claim names twice counts once: the claim " +
		"holds each of its jobs once."},
		needTable, func(t *testing.T, s *subject) {
			j := s.add(t, jobOf(kindA, orgA), 0)
			c := mortise.Claim{Kinds: []string{kindA, kindA}, Limit: 10, TTL: time.Hour}
			require.Equal(t, names(j), leased(s.claimAs(t, time.Minute, c)))
		}},

	{Rule{"leases/claim-holds", "A claim holds a job for its TTL; from then on anybody may " +
		"claim it."},
		needTable, func(t *testing.T, s *subject) {
			j, _ := s.addAndTake(t, 0, time.Minute)
			s.none(t, 0)
			s.none(t, time.Minute-time.Microsecond)
			s.take(t, j, time.Minute, time.Hour)
		}},

	{Rule{"leases/claim-limit", "Claim takes at most Limit jobs."},
		needTable, func(t *testing.T, s *subject) {
			for range 5 {
				s.add(t, newJob(), 0)
			}
			require.Len(t, s.claim(t, 0, time.Hour, 2), 2)
			require.Len(t, s.claim(t, 0, time.Hour, 2), 2)
			require.Len(t, s.claim(t, 0, time.Hour, 2), 1)
			require.Empty(t, s.claim(t, 0, time.Hour, 2))
		}},

	{Rule{"leases/claim-order", "Claim takes those jobs first that have been claimable for the " +
		"longest time: added, with an At in the past too, released, or left by a holder."},
		needTable, func(t *testing.T, s *subject) {
			left, _ := s.addAndTake(t, -time.Hour, 3*time.Second)
			released, l := s.addAndTake(t, -time.Hour, time.Minute)
			s.release(t, l, -time.Hour, time.Second)
			fourth := s.add(t, newJob(), 4*time.Second)
			s.at(time.Minute)
			second, first := s.add(t, newJob(), 2*time.Second), s.add(t, newJob(), 0)
			require.Equal(t, names(first, released, second, left, fourth), s.inOrder(t, time.Minute, 5))
			s.none(t, time.Minute)
		}},

	{Rule{"leases/claim-order-of-a-batch", "A claim of several jobs takes those that have been " +
		"claimable for the longest time."},
		needTable, func(t *testing.T, s *subject) {
			var want [6]mortise.Job
			for _, i := range []int{4, 1, 5, 0, 3, 2} {
				want[i] = s.add(t, newJob(), time.Duration(i)*time.Microsecond)
			}
			require.ElementsMatch(t, names(want[:3]...), leased(s.claim(t, time.Hour, 2*time.Hour, 3)))
			require.ElementsMatch(t, names(want[3:]...), leased(s.claim(t, time.Hour, 2*time.Hour, 3)))
		}},

	{Rule{"leases/claim-order-of-equals", "Of an organization's jobs that became claimable at " +
		"one time, Claim takes those first that were added or released first."},
		needTable, func(t *testing.T, s *subject) {
			var want []string
			for range 8 {
				want = append(want, s.add(t, newJob(), 0).String())
			}
			first := s.claim(t, 0, time.Hour, 1)
			require.Equal(t, want[:1], leased(first))
			s.release(t, first[0], 0, 0)
			require.Equal(t, append(want[1:], want[0]), s.inOrder(t, 0, len(want)))
		}},

	{Rule{"leases/claim-keeps-the-order", "Claim does not change the order of equals: a job " +
		"that is claimed, and left, is still as old as it was."},
		needTable, func(t *testing.T, s *subject) {
			left, waiting := s.add(t, newJob(), 0), s.add(t, newJob(), time.Minute)
			require.Equal(t, names(left), leased(s.claim(t, 0, time.Minute, 1)))
			require.Equal(t, names(left, waiting), s.inOrder(t, time.Hour, 2))
		}},

	{Rule{"leases/claim-except", "The jobs of the organizations in Except stay as they are."},
		needTable, func(t *testing.T, s *subject) {
			except := func(orgs ...string) []mortise.Lease {
				return s.claimAs(t, time.Minute, mortise.Claim{Except: orgs, Limit: 10, TTL: time.Hour})
			}
			a, b := s.add(t, jobOf(kindA, orgA), 0), s.add(t, jobOf(kindA, orgB), time.Second)
			require.Empty(t, except(orgA, orgB))
			require.Equal(t, names(b), leased(except("nobody", orgA)))
			require.Empty(t, except(orgA))
			l := except("nobody", "ORG-A", "org-")
			require.Equal(t, names(a), leased(l))
			require.Equal(t, 1, l[0].Deliveries)
		}},

	{Rule{"leases/deliveries", "Lease.Deliveries is how often the job has been claimed, this " +
		"time included."},
		needTable, func(t *testing.T, s *subject) {
			j, l := s.addAndTake(t, 0, time.Minute)
			require.Equal(t, 1, l.Deliveries)
			l = s.take(t, j, time.Hour, 2*time.Hour)
			require.Equal(t, 2, l.Deliveries)
			s.extend(t, l, time.Hour, 3*time.Hour)
			s.release(t, l, time.Hour, time.Hour)
			require.Equal(t, 3, s.take(t, j, 2*time.Hour, 3*time.Hour).Deliveries)
			_, l = s.addAndTake(t, 0, time.Hour)
			require.Equal(t, 1, l.Deliveries)
		}},
}

// turnRules say which organization a claim serves next.
var turnRules = []rule{
	{Rule{"leases/claim-turns", "Claim takes organizations in turn, from one claim to the " +
		"next, however many jobs of one have been waiting for longer."},
		needTable, func(t *testing.T, s *subject) {
			many := func(org string, n int, at time.Duration) {
				for i := range n {
					s.add(t, jobOf(kindA, org), at+time.Duration(i)*time.Microsecond)
				}
			}
			next := func(limit int) []mortise.Lease { return s.claim(t, time.Minute, time.Hour, limit) }
			many(orgA, 30, 0)
			next(2)
			many(orgB, 1, time.Second)
			both := organizations(next(1), next(1))
			require.Equal(t, []string{orgA, orgB}, both, "a claim of one job, and the next")

			many(orgB, 4, time.Second)
			many("org-c", 2, 2*time.Second)
			three := organizations(next(3))
			require.Equal(t, []string{orgA, orgB, "org-c"}, three, "a claim of three jobs")
			require.Equal(t, three, organizations(next(1), next(1), next(1)), "three claims")
			require.Equal(t, []string{orgA, orgA, orgA, orgA, orgB, orgB}, organizations(next(6)))
		}},

	{Rule{"leases/claim-turns-of-many", "An organization with one job waits for at most one " +
		"job of another one, even if that has very many."},
		needTable, func(t *testing.T, s *subject) {
			const adders, each = 20, 25
			s.at(time.Minute)
			conformance.Together(adders, func(i int) {
				for k := range each {
					j := jobOf(kindA, orgA)
					j.At = conformance.Moment(time.Duration(i*each+k) * time.Microsecond)
					if err := s.Leases.Add(t.Context(), j); err != nil {
						t.Error(err)
					}
				}
			})
			s.claim(t, time.Minute, time.Hour, 3)
			one := s.add(t, jobOf(kindA, orgB), time.Second)
			require.Contains(t, leased(s.claim(t, time.Minute, time.Hour, 2)), one.String())
		}},

	{Rule{"leases/claim-turns-of-kinds", "If a claim is of several kinds, organizations take " +
		"turns over all of them together, and each one's oldest job comes first."},
		needTable, func(t *testing.T, s *subject) {
			var want []string
			for i, kind := range []string{kindA, kindB, kindB, kindA} {
				want = append(want, s.add(t, jobOf(kind, orgA), time.Duration(i)*time.Second).String())
			}
			for i, kind := range []string{kindA, kindB} {
				s.add(t, jobOf(kind, orgB), time.Duration(10+i)*time.Second)
			}
			kinds := []string{kindA, kindB}
			var order, ofA []string
			for range 6 {
				c := mortise.Claim{Kinds: slices.Clone(kinds), Limit: 1, TTL: time.Hour}
				slices.Reverse(kinds) // their order says nothing
				leases := s.claimAs(t, time.Minute, c)
				order = append(order, organizations(leases)...)
				if leases[0].Job.Organization == orgA {
					ofA = append(ofA, leased(leases)...)
				}
			}
			require.ElementsMatch(t, []string{orgA, orgB}, order[:2])
			require.ElementsMatch(t, []string{orgA, orgB}, order[2:4])
			require.Equal(t, []string{orgA, orgA}, order[4:])
			require.Equal(t, want, ofA)
		}},

	{Rule{"leases/claim-turns-of-batches", "The turns go on from one claim of several jobs to " +
		"the next, and from one that leaves organizations out."},
		needTable, func(t *testing.T, s *subject) {
			orgs := []string{orgA, orgB, "org-c", "org-d"}
			for _, org := range orgs {
				for range 20 {
					s.add(t, jobOf(kindA, org), 0)
				}
			}
			for _, c := range []mortise.Claim{
				{Limit: 2, TTL: time.Hour},
				{Limit: 1, TTL: time.Hour, Except: []string{"nobody"}},
			} {
				var served []string
				for len(served) < len(orgs) {
					served = append(served, organizations(s.claimAs(t, time.Minute, c))...)
				}
				require.ElementsMatch(t, orgs, served, "claims of %d, except %v", c.Limit, c.Except)
			}
		}},

	{Rule{"leases/claim-turns-apart", "Claims of other kinds, or of more or fewer of them, " +
		"take no organization's turn away."},
		needTable, func(t *testing.T, s *subject) {
			orgs := []string{orgA, orgB, "org-c", "org-d"}
			for i, org := range orgs {
				kind := []string{kindA, kindB}[i%2] // so that every second one is served by claims of one kind
				for range 20 {
					s.add(t, jobOf(kind, org), 0)
				}
			}
			served := make(map[string][]string) // by claims of which kinds
			for range 2 * len(orgs) {
				for _, kinds := range [][]string{{kindA}, {kindA, kindB}, {kindB}} {
					c := mortise.Claim{Kinds: kinds, Limit: 1, TTL: time.Hour}
					of := fmt.Sprint(kinds)
					served[of] = append(served[of], organizations(s.claimAs(t, time.Minute, c))...)
				}
			}
			require.Subset(t, served[fmt.Sprint([]string{kindA, kindB})], orgs)
			require.Subset(t, served[fmt.Sprint([]string{kindA})], []string{orgA, "org-c"})
			require.Subset(t, served[fmt.Sprint([]string{kindB})], []string{orgB, "org-d"})
		}},
}
