package triggertest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// afresh is a Reopen that loses everything.
func afresh(t *testing.T, _ triggertest.Backend) triggertest.Backend { return newMutant(t).backend() }

// everyLease applies change to all leases that the mutant's Claim returns.
func (m *mutant) everyLease(change func(*trigger.Lease)) {
	m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]trigger.Lease, error) {
		leases, err := m.Trigger.Claim(ctx, token, now, until, limit)
		for i := range leases {
			change(&leases[i])
		}
		return leases, err
	}
}

// anyHolder makes Extend, Release and Remove work with every token, as if the caller held the job.
func (m *mutant) anyHolder() {
	var mu sync.Mutex
	tokens := make(map[string]uuid.UUID)
	m.everyLease(func(l *trigger.Lease) {
		mu.Lock()
		defer mu.Unlock()
		tokens[l.Job.ID()] = l.Token
	})
	present := func(l trigger.Lease) trigger.Lease {
		mu.Lock()
		defer mu.Unlock()
		l.Token = tokens[l.Job.ID()]
		return l
	}
	m.extend = func(ctx context.Context, l trigger.Lease, until time.Time) error {
		return m.Trigger.Extend(ctx, present(l), until)
	}
	m.release = func(ctx context.Context, l trigger.Lease, at time.Time) error {
		return m.Trigger.Release(ctx, present(l), at)
	}
	m.remove = func(ctx context.Context, l trigger.Lease, dead bool) error {
		return m.Trigger.Remove(ctx, present(l), dead)
	}
}

var jobMutants = []broken{
	{name: "lets an old holder act", breaks: []string{"leases/old-holder", "leases/never-held", "queue/lost-lease"}, mutate: (*mutant).anyHolder},
	{name: "forgets the organization of a job", breaks: []string{"leases/claim-returns-the-job", "queue/delivers"}, mutate: func(m *mutant) {
		m.everyLease(func(l *trigger.Lease) { l.Job.Organization = "" })
	}},
	{name: "does not count deliveries", breaks: []string{"leases/deliveries", "queue/retry", "stepqueue/verdicts"}, mutate: func(m *mutant) {
		m.everyLease(func(l *trigger.Lease) { l.Deliveries = 1 })
	}},
	{name: "fails to claim nothing", breaks: []string{"leases/claim-empty"}, mutate: func(m *mutant) {
		m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]trigger.Lease, error) {
			leases, err := m.Trigger.Claim(ctx, token, now, until, limit)
			if len(leases) == 0 {
				err = trigger.ErrNotFound
			}
			return leases, err
		}
	}},
	{name: "ignores the time of Add", breaks: []string{"leases/add-time", "leases/claim-order", "leases/claim-order-of-a-batch"}, mutate: func(m *mutant) {
		m.add = func(ctx context.Context, j trigger.Job, _ time.Time) error { return m.Trigger.Add(ctx, j, time.Time{}) }
	}},
	{name: "adds a job anew", mutate: func(m *mutant) {
		m.add = func(ctx context.Context, j trigger.Job, at time.Time) error {
			_ = m.Trigger.Add(ctx, j, at)
			j.Organization += " again"
			return m.Trigger.Add(ctx, trigger.Job{Organization: j.Organization, EventID: uuid.New()}, at)
		}
	}, breaks: []string{"leases/add-twice", "leases/add-while-leased", "leases/add-dead", "leases/add-concurrent"}},
	{name: "has one job an event", breaks: []string{"leases/generations-are-jobs", "queue/generations-are-jobs"}, mutate: func(m *mutant) {
		m.add = func(ctx context.Context, j trigger.Job, at time.Time) error {
			j.Generation = 0
			return m.Trigger.Add(ctx, j, at)
		}
	}},
	{name: "holds nothing", breaks: []string{"leases/claim-holds-until", "leases/claim-concurrent-left"}, mutate: func(m *mutant) {
		m.claim = func(ctx context.Context, token uuid.UUID, now, _ time.Time, limit int) ([]trigger.Lease, error) {
			return m.Trigger.Claim(ctx, token, now, now, min(limit, 1))
		}
	}},
	{name: "claims what others just claimed", breaks: []string{"leases/claim-concurrent", "queue/two-consumers"}, mutate: func(m *mutant) {
		var turns atomic.Int32
		var mu sync.Mutex
		var last []trigger.Lease
		m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]trigger.Lease, error) {
			mu.Lock()
			defer mu.Unlock()
			if turns.Add(1)%3 == 0 && len(last) > 0 {
				again := last[:1]
				again[0].Token = token
				last = nil
				return again, nil
			}
			leases, err := m.Trigger.Claim(ctx, token, now, until, limit)
			last = append([]trigger.Lease(nil), leases...)
			return leases, err
		}
	}},
	{name: "remembers that there was nothing", breaks: []string{"queue/enqueued-by-others", "leases/add-time"}, mutate: func(m *mutant) {
		var nothing atomic.Bool
		m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]trigger.Lease, error) {
			if nothing.Load() {
				return nil, nil
			}
			leases, err := m.Trigger.Claim(ctx, token, now, until, limit)
			nothing.Store(err == nil && len(leases) == 0)
			return leases, err
		}
	}},
	{name: "claims without limit", breaks: []string{"leases/claim-limit"}, mutate: func(m *mutant) {
		m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, _ int) ([]trigger.Lease, error) {
			return m.Trigger.Claim(ctx, token, now, until, 100)
		}
	}},
	{name: "extends nothing", breaks: []string{"leases/extend", "leases/one-claim-many-jobs"}, mutate: func(m *mutant) {
		m.extend = func(context.Context, trigger.Lease, time.Time) error { return nil }
	}},
	{name: "releases at once", breaks: []string{"leases/release", "leases/released-lease"}, mutate: func(m *mutant) {
		m.release = func(ctx context.Context, l trigger.Lease, _ time.Time) error {
			return m.Trigger.Release(ctx, l, time.Time{})
		}
	}},
	{name: "keeps the holder after a release", breaks: []string{"leases/released-lease"}, mutate: func(m *mutant) {
		m.release = func(ctx context.Context, l trigger.Lease, at time.Time) error { return m.Trigger.Extend(ctx, l, at) }
	}},
	{name: "makes every removed job dead", breaks: []string{"leases/remove"}, mutate: func(m *mutant) {
		m.remove = func(ctx context.Context, l trigger.Lease, _ bool) error { return m.Trigger.Remove(ctx, l, true) }
	}},
	{name: "removes dead jobs", breaks: []string{"leases/add-dead"}, mutate: func(m *mutant) {
		m.remove = func(ctx context.Context, l trigger.Lease, _ bool) error { return m.Trigger.Remove(ctx, l, false) }
	}},
	{name: "brings dead jobs back", breaks: []string{"leases/remove-dead", "queue/dead"}, mutate: func(m *mutant) {
		m.remove = func(ctx context.Context, l trigger.Lease, dead bool) error {
			if dead {
				return m.Trigger.Release(ctx, l, time.Unix(0, 0))
			}
			return m.Trigger.Remove(ctx, l, dead)
		}
	}},
	{name: "lets ended leases go", breaks: []string{"leases/ended-lease-is-held"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		var latest time.Time
		ends := make(map[uuid.UUID]time.Time)
		m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]trigger.Lease, error) {
			mu.Lock()
			defer mu.Unlock()
			latest, ends[token] = now, until
			return m.Trigger.Claim(ctx, token, now, until, limit)
		}
		m.extend = func(ctx context.Context, l trigger.Lease, until time.Time) error {
			mu.Lock()
			defer mu.Unlock()
			if ends[l.Token].Before(latest) {
				return trigger.ErrLeaseLost
			}
			return m.Trigger.Extend(ctx, l, until)
		}
	}},
	{name: "does not miss jobs that are gone", breaks: []string{"leases/gone"}, mutate: func(m *mutant) {
		m.remove = func(ctx context.Context, l trigger.Lease, dead bool) error {
			_ = m.Trigger.Remove(ctx, l, dead)
			return nil
		}
	}},

	{name: "shares with everybody", breaks: []string{"txleases/shares", "txqueue/shares"}, mutate: func(m *mutant) {
		m.shares = func(trigger.Store) bool { return true }
	}},
	{name: "shares with nobody", breaks: []string{"txleases/shares", "txqueue/shares"}, mutate: func(m *mutant) {
		m.shares = func(trigger.Store) bool { return false }
	}},
	{name: "adds a job in any case", mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job) (trigger.Event, bool, error) {
			stored, created, err := m.Trigger.Create(ctx, e, since)
			_ = m.Trigger.Add(ctx, j, e.SubmittedAt)
			return stored, created, err
		}
	}, breaks: []string{
		"txleases/same-key-adds-nothing", "txleases/same-id-adds-nothing", "txleases/concurrent-one-key",
		"txqueue/same-key-enqueues-nothing", "txqueue/same-id-enqueues-nothing", "txqueue/concurrent-one-key",
	}},
	{name: "creates without a job", mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, _ trigger.Job) (trigger.Event, bool, error) {
			return m.Trigger.Create(ctx, e, since)
		}
	}, breaks: []string{"txleases/create-and-add", "txleases/key-before-window", "txqueue/key-before-window", "txleases/durable"}},
	{name: "adds a job twice with an event", breaks: []string{"txleases/job-is-there", "txqueue/job-is-there"}, mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job) (trigger.Event, bool, error) {
			j.Generation++
			return m.Trigger.CreateAndAdd(ctx, e, since, j, e.SubmittedAt)
		}
	}},
	{name: "loses its data", reopen: afresh, mutate: func(*mutant) {}, breaks: []string{
		"store/durable", "organizations/durable", "keys/durable", "leases/durable", "txleases/durable",
	}},
	{name: "ignores the context", mutate: func(m *mutant) {
		m.create = func(_ context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			return m.Trigger.Create(context.Background(), e, since)
		}
		m.organization = func(_ context.Context, org string) (trigger.Organization, error) {
			return m.Trigger.Organization(context.Background(), org)
		}
		m.listKeys = func(_ context.Context, org string) ([]trigger.APIKey, error) {
			return m.Trigger.ListKeys(context.Background(), org)
		}
		m.add = func(_ context.Context, j trigger.Job, at time.Time) error {
			return m.Trigger.Add(context.Background(), j, at)
		}
	}, breaks: []string{"store/ended-context", "organizations/ended-context", "keys/ended-context", "leases/ended-context", "queue/ended-context"}},
	{name: "says not found when it fails", mutate: func(m *mutant) { m.failure = errors.Join(errBroken, trigger.ErrNotFound) }, breaks: []string{
		"store/failure", "organizations/failure", "keys/failure", "leases/failure", "queue/failure",
	}},
	{name: "brings pruned events back", breaks: []string{"pruner/durable"}, mutate: func(m *mutant) {
		m.prune = func(context.Context, time.Time, int) (int, error) { return 1, nil }
	}},
	{name: "stores and adds in two steps", breaks: []string{"txleases/both-or-neither", "txqueue/both-or-neither"}, mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job) (trigger.Event, bool, error) {
			stored, created, err := m.Trigger.Create(ctx, e, since)
			if err == nil {
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
				err = m.Trigger.Add(ctx, j, e.SubmittedAt)
			}
			return stored, created, err
		}
	}},
}
