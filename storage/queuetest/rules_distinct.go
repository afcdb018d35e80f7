package queuetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

// alikes returns pairs of jobs that are easily taken for one: those at 0 and 1, at 2 and 3,
// and so on. kinds are all of theirs.
func alikes() (jobs []mortise.Job, kinds []string) {
	pair := func(a, b mortise.Job) { jobs = append(jobs, a, b) }
	job := func(kind, org, id string) mortise.Job {
		return mortise.Job{Kind: kind, Organization: org, ID: id}
	}
	long := strings.Repeat("x", 254)
	longKind := long[:63]
	pair(job(kindA, orgA, "1"), job(kindB, orgA, "1"))
	pair(job(kindA, orgB, "2"), job(kindA, "org-c", "2"))
	pair(job(kindA, orgA, "3"), job(kindA, orgA, "4"))
	pair(job(kindA, "a", "bc"), job(kindA, "ab", "c"))
	pair(job("a", "bc", "5"), job("ab", "c", "5"))
	pair(job("a", orgA, "b-c"), job("a-b", orgA, "c"))
	pair(job(kindA, "a", "b_c"), job(kindA, "a_b", "c"))
	pair(job(kindA, orgA, "x-0"), job(kindA, orgA, "x-256"))
	pair(job(kindA, orgA, "id"), job(kindA, orgA, "ID"))
	pair(job(kindA, "org", "6"), job(kindA, "ORG", "6"))
	pair(job(kindA, "org", "7"), job(kindA, "org ", "7"))
	pair(job(kindA, "\u00e9", "8"), job(kindA, "e\u0301", "8"))
	pair(job(longKind+"1", orgA, "10"), job(longKind+"2", orgA, "10"))
	pair(job(kindA, long+"1", "11"), job(kindA, long+"2", "11"))
	pair(job(kindA, orgA, long+"1"), job(kindA, orgA, long+"2"))
	for _, j := range jobs {
		kinds = append(kinds, j.Kind)
	}
	slices.Sort(kinds)
	return jobs, slices.Compact(kinds)
}

// seconds returns the second of each pair.
func seconds(jobs []mortise.Job) (list []mortise.Job) {
	for i := 1; i < len(jobs); i += 2 {
		list = append(list, jobs[i])
	}
	return list
}

// distinctRules say which jobs are the same one.
var distinctRules = []rule{
	{Rule{"leases/distinct-jobs", "Kind, organization and ID together, compared as bytes, say " +
		"which job it is."},
		needTable, func(t *testing.T, s *subject) {
			jobs, kinds := alikes()
			for _, j := range append(jobs, jobs...) {
				s.add(t, j, 0)
			}
			all := mortise.Claim{Kinds: kinds, Limit: 2 * len(jobs), TTL: time.Hour}
			leases := s.claimAs(t, 0, all)
			require.ElementsMatch(t, names(jobs...), leased(leases))
			left := names(seconds(jobs)...)
			for _, l := range leases {
				if !slices.Contains(left, l.Job.String()) {
					s.remove(t, l, false)
				}
			}
			require.ElementsMatch(t, left, leased(s.claimAs(t, 2*time.Hour, all)), "the others are left")
		}},

	{Rule{"leases/cancel-one", "Cancel removes no other job than the one that it is given."},
		needTable, func(t *testing.T, s *subject) {
			jobs, kinds := alikes()
			for _, j := range jobs {
				s.add(t, j, 0)
			}
			for i := 0; i < len(jobs); i += 2 {
				s.cancel(t, jobs[i])
			}
			all := mortise.Claim{Kinds: kinds, Limit: 2 * len(jobs), TTL: time.Hour}
			require.ElementsMatch(t, names(seconds(jobs)...), leased(s.claimAs(t, 0, all)))
		}},

	{Rule{"queue/distinct-jobs", "Kind, organization and ID together, compared as bytes, say " +
		"which job it is."},
		needQueue, func(t *testing.T, s *subject) {
			jobs, kinds := alikes()
			for _, j := range jobs {
				s.enqueue(t, j)
			}
			d := newDiary(nil)
			s.consume(t, 4, d.handle, kinds...)
			var got []string
			for range jobs {
				got = append(got, d.next(t).Job.String())
			}
			require.ElementsMatch(t, names(jobs...), got)
		}},
}
