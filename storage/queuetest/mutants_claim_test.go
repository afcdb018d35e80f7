package queuetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// claimMutants are those of Claim.
var claimMutants = []broken{
	{name: "does not count deliveries", breaks: "leases/deliveries queue/retry stepqueue/verdicts",
		mutate: everyLease(func(l *mortise.Lease) { l.Deliveries = 1 })},
	{name: "fails to claim nothing", breaks: "leases/claim-empty",
		mutate: replace("Claim", func(m *mutant, ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			leases, err := m.inner.Claim(ctx, c)
			if len(leases) == 0 {
				err = errors.New("there is nothing")
			}
			return leases, err
		})},
	{name: "claims jobs of any kind", breaks: "leases/claim-kinds queue/kinds stepqueue/kinds", mutate: func(m *mutant) {
		var mu sync.Mutex
		var known []string
		everyJob(func(j *mortise.Job) {
			mu.Lock()
			defer mu.Unlock()
			known = append(known, j.Kind)
		})(m)
		everyClaim(func(c *mortise.Claim) {
			mu.Lock()
			defer mu.Unlock()
			c.Kinds = append(slices.Clone(c.Kinds), known...)
		})(m)
	}},
	{name: "claims jobs of the first kind", breaks: "leases/claim-kinds queue/several-kinds",
		mutate: everyClaim(func(c *mortise.Claim) { c.Kinds = c.Kinds[:1] })},
	{name: "claims twice what is asked for twice", breaks: "leases/claim-kinds-twice",
		mutate: replace("Claim", func(m *mutant, ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			leases, err := m.inner.Claim(ctx, c)
			if len(c.Kinds) == 2 && c.Kinds[0] == c.Kinds[1] {
				leases = append(leases, leases...)
			}
			return leases, err
		})},
	{name: "claims one kind after the other", breaks: "leases/claim-turns-of-kinds",
		mutate: replace("Claim", func(m *mutant, ctx context.Context, c mortise.Claim) (all []mortise.Lease, err error) {
			for _, kind := range c.Kinds {
				one := c
				one.Kinds, one.Limit = []string{kind}, c.Limit-len(all)
				leases, failed := m.inner.Claim(ctx, one)
				all, err = append(all, leases...), errors.Join(err, failed)
			}
			return all, err
		})},
	{name: "holds nothing", breaks: "leases/claim-holds leases/claim-concurrent-left",
		mutate: everyClaim(func(c *mortise.Claim) { c.TTL, c.Limit = 0, 1 })},
	{name: "claims what others just claimed", breaks: "leases/claim-concurrent queue/two-consumers", mutate: func(m *mutant) {
		var mu sync.Mutex
		var last []mortise.Lease
		m.On.Claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(last) > 0 {
				again := last[:1]
				again[0].Token = c.Token
				last = nil
				return again, nil
			}
			leases, err := m.inner.Claim(ctx, c)
			last = slices.Clone(leases)
			return leases, err
		}
	}},
	{name: "takes nothing beside another claim", breaks: "leases/claim-beside-claims", mutate: func(m *mutant) {
		var claiming atomic.Bool
		m.On.Claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			if !claiming.CompareAndSwap(false, true) {
				return nil, nil
			}
			defer claiming.Store(false)
			time.Sleep(time.Millisecond)
			return m.inner.Claim(ctx, c)
		}
	}},
	{name: "remembers that there was nothing", breaks: "queue/enqueued-by-others leases/add-time", mutate: func(m *mutant) {
		var nothing atomic.Bool
		m.On.Claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			if nothing.Load() {
				return nil, nil
			}
			leases, err := m.inner.Claim(ctx, c)
			nothing.Store(err == nil && len(leases) == 0)
			return leases, err
		}
		restAtNothing(m)
	}},
	{name: "claims without limit", breaks: "leases/claim-limit", mutate: everyClaim(func(c *mortise.Claim) { c.Limit = 100 })},
	{name: "leaves nobody out", breaks: "leases/claim-except queue/beside", mutate: everyClaim(func(c *mortise.Claim) { c.Except = nil })},
	{name: "takes nobody else's jobs", breaks: "leases/claim-except queue/beside",
		mutate: replace("Claim", func(m *mutant, ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			if len(c.Except) > 0 {
				return nil, nil
			}
			return m.inner.Claim(ctx, c)
		})},
}

// orderMutants are those of whose job comes next.
var orderMutants = []broken{
	{name: "serves who has the most jobs", breaks: "leases/claim-turns queue/turns", mutate: ordered(func(all []mortise.Lease) {
		n := make(map[string]int)
		for _, l := range all {
			n[l.Job.Organization]++
		}
		slices.SortStableFunc(all, func(a, b mortise.Lease) int {
			return n[b.Job.Organization] - n[a.Job.Organization]
		})
	})},
	{name: "forgets who was served", breaks: "leases/claim-turns queue/turns", mutate: ordered(func(all []mortise.Lease) {
		slices.SortStableFunc(all, func(a, b mortise.Lease) int {
			return strings.Compare(a.Job.Organization, b.Job.Organization)
		})
	})},
	{name: "begins anew for a claim of several jobs", breaks: "leases/claim-turns-of-batches",
		mutate: beginAnew(func(c mortise.Claim) bool { return c.Limit > 1 })},
	{name: "begins anew for a claim that leaves somebody out", breaks: "leases/claim-turns-of-batches",
		mutate: beginAnew(func(c mortise.Claim) bool { return len(c.Except) > 0 })},
	{name: "takes the turns of all claims for one", breaks: "leases/claim-turns-apart", mutate: func(m *mutant) {
		var mu sync.Mutex
		var orgs []string
		last := ""
		everyJob(func(j *mortise.Job) {
			mu.Lock()
			defer mu.Unlock()
			orgs = slices.Compact(slices.Sorted(slices.Values(append(orgs, j.Organization))))
		})(m)
		m.On.Claim = func(ctx context.Context, c mortise.Claim) (leases []mortise.Lease, err error) {
			mu.Lock()
			defer mu.Unlock()
			next, _ := slices.BinarySearch(orgs, last+"\x00")
			for _, org := range slices.Concat(orgs[next:], orgs[:next]) {
				if c.Limit > 1 || len(c.Except) > 0 {
					break
				}
				one := c
				one.Except = slices.DeleteFunc(slices.Clone(orgs), func(o string) bool { return o == org })
				if leases, err = m.inner.Claim(ctx, one); err != nil || len(leases) > 0 {
					break
				}
			}
			if err == nil && len(leases) == 0 {
				leases, err = m.inner.Claim(ctx, c)
			}
			if len(leases) > 0 {
				last = leases[len(leases)-1].Job.Organization
			}
			return leases, err
		}
	}},
	{name: "looks at the first hundred jobs", breaks: "leases/claim-turns-of-many", mutate: func(m *mutant) {
		var mu sync.Mutex
		var added []string
		everyJob(func(j *mortise.Job) {
			mu.Lock()
			defer mu.Unlock()
			added = append(added, j.Organization)
		})(m)
		everyClaim(func(c *mortise.Claim) {
			mu.Lock()
			defer mu.Unlock()
			seen := min(100, len(added))
			for _, org := range added[seen:] {
				if !slices.Contains(added[:seen], org) {
					c.Except = append(c.Except, org)
				}
			}
		})(m)
	}},
	{name: "gives out the newest first", breaks: "leases/claim-order-of-equals", mutate: func(m *mutant) {
		var n atomic.Int64
		var arrival records[int64]
		everyJob(func(j *mortise.Job) { arrival.set(*j, n.Add(1)) })(m)
		ordered(func(all []mortise.Lease) {
			slices.SortStableFunc(all, func(a, b mortise.Lease) int {
				first, _ := arrival.get(a.Job)
				second, _ := arrival.get(b.Job)
				return int(second - first)
			})
		})(m)
	}},
	{name: "gives out first what was given back", breaks: "leases/claim-order-of-equals",
		mutate: replace("Release", func(m *mutant, ctx context.Context, l mortise.Lease, after time.Duration) error {
			return m.inner.Release(ctx, l, after-time.Microsecond)
		})},
	{name: "gives what it claims a new place", breaks: "leases/claim-keeps-the-order",
		mutate: replace("Claim", func(m *mutant, ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			leases, err := m.inner.Claim(ctx, c)
			for _, l := range leases {
				err = errors.Join(err, m.inner.Release(ctx, l, c.TTL))
			}
			return leases, err
		})},
}
