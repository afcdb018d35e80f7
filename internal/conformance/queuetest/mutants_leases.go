package queuetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// leaseMistakes are those of Claim and of the method that adds a job.
func leaseMistakes[J Job](d *Domain[J]) []Mistake[J] {
	return []Mistake[J]{
		{"does not count deliveries", []string{"leases/deliveries", "queue/retry", "stepqueue/verdicts"}, func(m *Mutant[J]) {
			m.EveryLease(func(l *Lease[J]) { l.Deliveries = 1 })
		}},
		{"fails to claim nothing", []string{"leases/claim-empty"}, func(m *Mutant[J]) {
			m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error) {
				leases, err := m.leases.Claim(ctx, token, now, until, limit, except...)
				if len(leases) == 0 {
					err = errors.New("there is nothing")
				}
				return leases, err
			}
		}},
		{"adds jobs whose context has ended", []string{"leases/ended-context", "queue/ended-context"}, func(m *Mutant[J]) {
			m.Add = func(ctx context.Context, j J, at time.Time) error {
				return m.leases.Add(context.WithoutCancel(ctx), j, at)
			}
		}},
		{"ignores the time of " + d.AddName, []string{"leases/add-time", "leases/claim-order", "leases/claim-order-of-a-batch"}, func(m *Mutant[J]) {
			m.Add = func(ctx context.Context, j J, _ time.Time) error { return m.leases.Add(ctx, j, time.Time{}) }
		}},
		{"adds a job anew", []string{"leases/add-twice", "leases/add-while-leased", "leases/add-dead", "leases/add-concurrent"}, func(m *Mutant[J]) {
			m.Add = func(ctx context.Context, j J, at time.Time) error {
				_ = m.leases.Add(ctx, j, at)
				return m.leases.Add(ctx, d.NewJob("again"), at)
			}
		}},
		{"holds nothing", []string{"leases/claim-holds-until", "leases/claim-concurrent-left"}, func(m *Mutant[J]) {
			m.Claim = func(ctx context.Context, token uuid.UUID, now, _ time.Time, limit int, except ...string) ([]Lease[J], error) {
				return m.leases.Claim(ctx, token, now, now, min(limit, 1), except...)
			}
		}},
		{"claims what others just claimed", []string{"leases/claim-concurrent", "queue/two-consumers"}, func(m *Mutant[J]) {
			var mu sync.Mutex
			var last []Lease[J]
			m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error) {
				mu.Lock()
				defer mu.Unlock()
				if len(last) > 0 {
					again := last[:1]
					again[0].Token = token
					last = nil
					return again, nil
				}
				leases, err := m.leases.Claim(ctx, token, now, until, limit, except...)
				last = slices.Clone(leases)
				return leases, err
			}
		}},
		{"remembers that there was nothing", []string{"queue/enqueued-by-others", "leases/add-time"}, func(m *Mutant[J]) {
			defer m.restAtNothing()
			var nothing atomic.Bool
			m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error) {
				if nothing.Load() {
					return nil, nil
				}
				leases, err := m.leases.Claim(ctx, token, now, until, limit, except...)
				nothing.Store(err == nil && len(leases) == 0)
				return leases, err
			}
		}},
		{"serves who has the most jobs", []string{"leases/claim-turns"}, func(m *Mutant[J]) {
			m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error) {
				all, err := m.leases.Claim(ctx, token, now, until, 100, except...)
				n := make(map[string]int)
				for _, l := range all {
					n[d.Organization(l.Job)]++
				}
				slices.SortStableFunc(all, func(a, b Lease[J]) int { return n[d.Organization(b.Job)] - n[d.Organization(a.Job)] })
				for _, l := range all[min(limit, len(all)):] {
					err = errors.Join(err, m.leases.Release(ctx, l, now))
				}
				return all[:min(limit, len(all))], err
			}
		}},
		{"forgets who was served", []string{"leases/claim-turns"}, func(m *Mutant[J]) {
			m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error) {
				all, err := m.leases.Claim(ctx, token, now, until, 100, except...)
				slices.SortStableFunc(all, func(a, b Lease[J]) int { return strings.Compare(d.Organization(a.Job), d.Organization(b.Job)) })
				for _, l := range all[min(limit, len(all)):] {
					err = errors.Join(err, m.leases.Release(ctx, l, now))
				}
				return all[:min(limit, len(all))], err
			}
		}},
		{"leaves nobody out", []string{"leases/claim-except"}, func(m *Mutant[J]) {
			m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, _ ...string) ([]Lease[J], error) {
				return m.leases.Claim(ctx, token, now, until, limit)
			}
		}},
		{"claims without limit", []string{"leases/claim-limit"}, func(m *Mutant[J]) {
			m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, _ int, except ...string) ([]Lease[J], error) {
				return m.leases.Claim(ctx, token, now, until, 100, except...)
			}
		}},
	}
}

// holderMistakes are those of Extend, Release and Remove.
func holderMistakes[J Job](lost error) []Mistake[J] {
	return []Mistake[J]{
		{"lets an old holder act", []string{"leases/old-holder", "leases/never-held", "queue/lost-lease"}, func(m *Mutant[J]) {
			var mu sync.Mutex
			tokens := make(map[string]uuid.UUID)
			m.EveryLease(func(l *Lease[J]) {
				mu.Lock()
				defer mu.Unlock()
				tokens[l.Job.ID()] = l.Token
			})
			present := func(l Lease[J]) Lease[J] {
				mu.Lock()
				defer mu.Unlock()
				l.Token = tokens[l.Job.ID()]
				return l
			}
			m.Extend = func(ctx context.Context, l Lease[J], until time.Time) error {
				return m.leases.Extend(ctx, present(l), until)
			}
			m.Release = func(ctx context.Context, l Lease[J], at time.Time) error {
				return m.leases.Release(ctx, present(l), at)
			}
			m.Remove = func(ctx context.Context, l Lease[J], dead bool) error { return m.leases.Remove(ctx, present(l), dead) }
		}},
		{"extends nothing", []string{"leases/extend", "leases/one-claim-many-jobs"}, func(m *Mutant[J]) {
			m.Extend = func(context.Context, Lease[J], time.Time) error { return nil }
		}},
		{"releases at once", []string{"leases/release", "leases/released-lease"}, func(m *Mutant[J]) {
			m.Release = func(ctx context.Context, l Lease[J], _ time.Time) error { return m.leases.Release(ctx, l, time.Time{}) }
		}},
		{"gives out first what was given back", []string{"leases/claim-order-of-equals"}, func(m *Mutant[J]) {
			m.Release = func(ctx context.Context, l Lease[J], at time.Time) error {
				return m.leases.Release(ctx, l, at.Add(-time.Microsecond))
			}
		}},
		{"keeps the holder after a release", []string{"leases/released-lease"}, func(m *Mutant[J]) { m.Release = m.leases.Extend }},
		{"keeps removed jobs for ever", []string{"leases/remove"}, func(m *Mutant[J]) {
			m.Remove = func(ctx context.Context, l Lease[J], _ bool) error {
				return m.leases.Extend(ctx, l, time.Now().Add(1000*time.Hour))
			}
		}},
		{"lets ended leases go", []string{"leases/ended-lease-is-held"}, func(m *Mutant[J]) {
			var mu sync.Mutex
			var latest time.Time
			ends := make(map[uuid.UUID]time.Time)
			m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error) {
				mu.Lock()
				defer mu.Unlock()
				latest, ends[token] = now, until
				return m.leases.Claim(ctx, token, now, until, limit, except...)
			}
			m.Extend = func(ctx context.Context, l Lease[J], until time.Time) error {
				mu.Lock()
				defer mu.Unlock()
				if ends[l.Token].Before(latest) {
					return lost
				}
				return m.leases.Extend(ctx, l, until)
			}
		}},
		{"does not miss jobs that are gone", []string{"leases/gone"}, func(m *Mutant[J]) {
			m.Remove = func(ctx context.Context, l Lease[J], dead bool) error {
				_ = m.leases.Remove(ctx, l, dead)
				return nil
			}
		}},
	}
}

// deadLetterMistakes are those of queues that keep dead letters.
func deadLetterMistakes[J Job]() []Mistake[J] {
	return []Mistake[J]{
		{"makes every removed job dead", []string{"leases/remove"}, func(m *Mutant[J]) {
			m.Remove = func(ctx context.Context, l Lease[J], _ bool) error { return m.leases.Remove(ctx, l, true) }
		}},
		{"removes dead jobs", []string{"leases/add-dead", "leases/durable"}, func(m *Mutant[J]) {
			m.Remove = func(ctx context.Context, l Lease[J], _ bool) error { return m.leases.Remove(ctx, l, false) }
		}},
		{"brings dead jobs back", []string{"leases/remove-dead", "queue/dead"}, func(m *Mutant[J]) {
			m.Remove = func(ctx context.Context, l Lease[J], dead bool) error {
				if dead {
					return m.leases.Release(ctx, l, time.Unix(0, 0))
				}
				return m.leases.Remove(ctx, l, dead)
			}
		}},
	}
}
