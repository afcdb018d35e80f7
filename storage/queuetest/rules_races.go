package queuetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// claimRaceRules say what many calls at once do.
var claimRaceRules = []rule{
	{Rule{"leases/claim-concurrent", "No job is in two claims at once."},
		needTable, func(t *testing.T, s *subject) {
			const n, workers = 120, 16
			var want []string
			for i := range n {
				want = append(want, s.add(t, newJob(), time.Duration(i%7)*time.Second).String())
			}
			s.at(time.Minute)
			var got [workers][]string
			var errs [workers]error
			conformance.Together(workers, func(i int) {
				for {
					leases, err := s.Leases.Claim(t.Context(),
						mortise.Claim{Token: uuid.New(), Kinds: []string{kindA}, Limit: 3, TTL: time.Hour})
					if errs[i] = err; err != nil || len(leases) == 0 {
						return
					}
					got[i] = append(got[i], leased(leases)...)
				}
			})
			conformance.NoErrors(t, errs[:])
			var all []string
			for i := range got {
				all = append(all, got[i]...)
			}
			// A claim may pass over rows that another one is just looking at, so that
			// some are left here.
			for range n {
				all = append(all, leased(s.claim(t, time.Minute, time.Hour, n))...)
				if len(all) >= n {
					break
				}
			}
			require.ElementsMatch(t, want, all)
		}},

	{Rule{"leases/claim-beside-claims", "While there are enough claimable jobs, each of many claims at " +
		"once takes some."},
		needTable, func(t *testing.T, s *subject) {
			const claims, each = 16, 3
			for range claims * each {
				s.add(t, newJob(), 0)
			}
			var got [claims][]mortise.Lease
			var errs [claims]error
			conformance.Together(claims, func(i int) {
				got[i], errs[i] = s.Leases.Claim(t.Context(),
					mortise.Claim{Token: uuid.New(), Kinds: []string{kindA}, Limit: each, TTL: time.Hour})
			})
			conformance.NoErrors(t, errs[:])
			for i := range got {
				require.NotEmpty(t, got[i], "claim %d of %d", i, claims)
			}
		}},

	{Rule{"leases/claim-concurrent-left", "Of many claims at once for a job that its holder " +
		"left, one gets it."},
		needTable, func(t *testing.T, s *subject) {
			s.addAndTake(t, 0, time.Minute)
			s.at(2 * time.Minute)
			var got [16][]mortise.Lease
			var errs [16]error
			conformance.Together(len(got), func(i int) {
				got[i], errs[i] = s.Leases.Claim(t.Context(),
					mortise.Claim{Token: uuid.New(), Kinds: []string{kindA}, Limit: 1, TTL: time.Hour})
			})
			conformance.NoErrors(t, errs[:])
			total := len(s.claim(t, 2*time.Minute, time.Hour, 1))
			for i := range got {
				total += len(got[i])
			}
			require.Equal(t, 1, total, "leases of one job")
		}},

	{Rule{"leases/cancel-concurrent", "Cancel is atomic: of a Claim and a Cancel of one job at " +
		"once, either the claim holds it, or it is gone."},
		needTable, func(t *testing.T, s *subject) {
			const n = 12
			var jobs [n]mortise.Job
			for i := range jobs {
				jobs[i] = s.add(t, newJob(), 0)
			}
			var held [n][]mortise.Lease
			var errs [2 * n]error
			conformance.Together(2*n, func(i int) {
				if i%2 == 0 {
					errs[i] = s.Leases.Cancel(t.Context(), jobs[i/2])
					return
				}
				held[i/2], errs[i] = s.Leases.Claim(t.Context(),
					mortise.Claim{Token: uuid.New(), Kinds: []string{kindA}, Limit: 1, TTL: time.Hour})
			})
			conformance.NoErrors(t, errs[:])
			var left []string
			for _, l := range slices.Concat(held[:]...) {
				s.extend(t, l, 0, time.Minute)
				left = append(left, l.Job.String())
			}
			s.none(t, time.Minute-time.Microsecond)
			require.ElementsMatch(t, left, leased(s.claim(t, time.Minute, time.Hour, n)))
		}},

	{Rule{"leases/failures-alone", "Of many calls at once, one that fails fails alone."},
		needTable, func(t *testing.T, s *subject) {
			const each = 12
			hold := func() []mortise.Lease {
				for range each {
					s.add(t, newJob(), 0)
				}
				leases := s.claim(t, 0, time.Minute, each)
				require.Len(t, leases, each)
				return leases
			}
			lost, extended, released, removed := hold(), hold(), hold(), hold()
			for i := range lost {
				lost[i].Token = uuid.New()
			}
			var added [each]mortise.Job
			for i := range added {
				added[i] = newJob()
			}
			s.at(0)
			ctx := t.Context()
			const calls = 6
			var errs [calls * each]error
			conformance.Together(len(errs), func(i int) {
				call, i := i%calls, i/calls
				errs[call*each+i] = []func() error{
					func() error { return s.Leases.Extend(ctx, lost[i], time.Hour) },
					func() error { return s.Leases.Remove(ctx, lost[i], i%2 == 0) },
					func() error { return s.Leases.Extend(ctx, extended[i], time.Hour) },
					func() error { return s.Leases.Release(ctx, released[i], time.Hour) },
					func() error { return s.Leases.Remove(ctx, removed[i], i%2 == 0) },
					func() error { return s.Leases.Add(ctx, added[i]) },
				}[call]()
			})
			for _, err := range errs[:2*each] {
				require.ErrorIs(t, err, mortise.ErrLeaseLost, "a call with a lost lease")
			}
			conformance.NoErrors(t, errs[2*each:])
			require.ElementsMatch(t, names(added[:]...), leased(s.claim(t, 0, 24*time.Hour, 100)))
			require.ElementsMatch(t, leased(lost), leased(s.claim(t, time.Minute, 24*time.Hour, 100)))
			require.ElementsMatch(t, append(leased(extended), leased(released)...),
				leased(s.claim(t, time.Hour, 24*time.Hour, 100)))
		}},

	{Rule{"leases/context-ends-in-a-call", "A call whose context ends while it waits does all " +
		"or nothing, and its error is not ErrLeaseLost."},
		needTable, contextEndsInCalls},
}

// contextEndsInCalls makes many calls at once, so that they wait for each other, and ends
// their context amid them.
func contextEndsInCalls(t *testing.T, s *subject) {
	const each = 8
	hold := func() []mortise.Lease {
		for range each {
			s.add(t, newJob(), 0)
		}
		leases := s.claim(t, 0, time.Minute, each)
		require.Len(t, leases, each)
		return leases
	}
	extended, released, removed := hold(), hold(), hold()
	var added, claimable []mortise.Job
	for range each {
		added = append(added, newJob())
		claimable = append(claimable, s.add(t, jobOf(kindB, orgA), 0))
	}
	s.at(0)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	const calls = 5
	var errs [calls * each]error
	conformance.Together(len(errs), func(i int) {
		call, i := i%calls, i/calls
		errs[call*each+i] = []func() error{
			func() error { return s.Leases.Extend(ctx, extended[i], time.Hour) },
			func() error { return s.Leases.Release(ctx, released[i], time.Hour) },
			func() error { return s.Leases.Remove(ctx, removed[i], false) },
			func() error { return s.Leases.Add(ctx, added[i]) },
			func() error { return s.claimOne(ctx, kindB) },
		}[call]()
	})
	for _, err := range errs {
		if err != nil {
			isFailure(t, "a call whose context ended", err)
		}
	}
	for i, err := range errs[:each] {
		again := s.Leases.Extend(t.Context(), extended[i], time.Hour)
		require.NoError(t, again, "Extend had returned %v", err)
	}

	must := append(leased(extended), names(claimable...)...)
	may := append(leased(removed), names(added...)...)
	for i, err := range errs[each : 2*each] {
		if err == nil {
			s.powerless(t, released[i])
		}
	}
	must = append(must, leased(released)...)
	gone := make(map[string]bool)
	for i, err := range errs[2*each : 4*each] {
		switch {
		case err == nil && i < each:
			gone[may[i]] = true
		case err == nil:
			must = append(must, may[i])
		}
	}
	all := leased(s.claimAs(t, 24*time.Hour,
		mortise.Claim{Kinds: []string{kindA, kindB}, Limit: 10 * each, TTL: time.Hour}))
	require.Subset(t, all, must, "jobs that are left")
	require.Subset(t, append(must, may...), all, "jobs that may be left")
	seen := make(map[string]bool)
	for _, name := range all {
		require.False(t, seen[name] || gone[name], "%s was removed, or is there twice", name)
		seen[name] = true
	}
}
