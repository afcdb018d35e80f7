package audiosearchtest_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
)

// afresh is a Reopen that loses everything.
func afresh(t *testing.T, _ audiosearchtest.Backend) audiosearchtest.Backend {
	return newMutant(t).backend()
}

// everyLease applies change to all leases that the mutant's Claim returns.
func (m *mutant) everyLease(change func(*audiosearch.Lease)) {
	m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]audiosearch.Lease, error) {
		leases, err := m.db.Claim(ctx, token, now, until, limit)
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
	m.everyLease(func(l *audiosearch.Lease) {
		mu.Lock()
		defer mu.Unlock()
		tokens[l.Job.ID()] = l.Token
	})
	present := func(l audiosearch.Lease) audiosearch.Lease {
		mu.Lock()
		defer mu.Unlock()
		l.Token = tokens[l.Job.ID()]
		return l
	}
	m.extend = func(ctx context.Context, l audiosearch.Lease, until time.Time) error {
		return m.db.Extend(ctx, present(l), until)
	}
	m.release = func(ctx context.Context, l audiosearch.Lease, at time.Time) error {
		return m.db.Release(ctx, present(l), at)
	}
	m.remove = func(ctx context.Context, l audiosearch.Lease) error {
		return m.db.Remove(ctx, present(l))
	}
}

var jobMutants = []broken{
	{name: "lets an old holder act", breaks: []string{"leases/old-holder", "leases/never-held", "queue/lost-lease"}, mutate: (*mutant).anyHolder},
	{name: "forgets the organization of a job", breaks: []string{"leases/claim-returns-the-job", "queue/delivers"}, mutate: func(m *mutant) {
		m.everyLease(func(l *audiosearch.Lease) { l.Job.Organization = "" })
	}},
	{name: "does not count deliveries", breaks: []string{"leases/deliveries", "queue/retry", "stepqueue/verdicts"}, mutate: func(m *mutant) {
		m.everyLease(func(l *audiosearch.Lease) { l.Deliveries = 1 })
	}},
	{name: "fails to claim nothing", breaks: []string{"leases/claim-empty"}, mutate: func(m *mutant) {
		m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]audiosearch.Lease, error) {
			leases, err := m.db.Claim(ctx, token, now, until, limit)
			if len(leases) == 0 {
				err = audiosearch.ErrRunNotFound
			}
			return leases, err
		}
	}},
	{name: "ignores the time of AddJob", breaks: []string{"leases/add-time", "leases/claim-order", "leases/claim-order-of-a-batch"}, mutate: func(m *mutant) {
		m.addJob = func(ctx context.Context, j audiosearch.Job, _ time.Time) error {
			return m.db.AddJob(ctx, j, time.Time{})
		}
	}},
	{name: "adds a job anew", mutate: func(m *mutant) {
		m.addJob = func(ctx context.Context, j audiosearch.Job, at time.Time) error {
			_ = m.db.AddJob(ctx, j, at)
			return m.db.AddJob(ctx, audiosearch.Job{Organization: j.Organization + " again", RunID: 1 + rand.Int64N(audiosearch.MaxRunID)}, at)
		}
	}, breaks: []string{"leases/add-twice", "leases/add-while-leased", "leases/add-concurrent"}},
	{name: "has one job an organization", breaks: []string{"leases/id-is-of-the-run", "queue/delivers"}, mutate: func(m *mutant) {
		m.addJob = func(ctx context.Context, j audiosearch.Job, at time.Time) error {
			j.RunID = int64(len(j.Organization))
			return m.db.AddJob(ctx, j, at)
		}
	}},
	{name: "holds nothing", breaks: []string{"leases/claim-holds-until", "leases/claim-concurrent-left"}, mutate: func(m *mutant) {
		m.claim = func(ctx context.Context, token uuid.UUID, now, _ time.Time, limit int) ([]audiosearch.Lease, error) {
			return m.db.Claim(ctx, token, now, now, min(limit, 1))
		}
	}},
	{name: "claims what others just claimed", breaks: []string{"leases/claim-concurrent", "queue/two-consumers"}, mutate: func(m *mutant) {
		var turns atomic.Int32
		var mu sync.Mutex
		var last []audiosearch.Lease
		m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]audiosearch.Lease, error) {
			mu.Lock()
			defer mu.Unlock()
			if turns.Add(1)%3 == 0 && len(last) > 0 {
				again := last[:1]
				again[0].Token = token
				last = nil
				return again, nil
			}
			leases, err := m.db.Claim(ctx, token, now, until, limit)
			last = append([]audiosearch.Lease(nil), leases...)
			return leases, err
		}
	}},
	{name: "remembers that there was nothing", breaks: []string{"queue/enqueued-by-others", "leases/add-time"}, mutate: func(m *mutant) {
		var nothing atomic.Bool
		m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]audiosearch.Lease, error) {
			if nothing.Load() {
				return nil, nil
			}
			leases, err := m.db.Claim(ctx, token, now, until, limit)
			nothing.Store(err == nil && len(leases) == 0)
			return leases, err
		}
	}},
	{name: "claims without limit", breaks: []string{"leases/claim-limit"}, mutate: func(m *mutant) {
		m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, _ int) ([]audiosearch.Lease, error) {
			return m.db.Claim(ctx, token, now, until, 100)
		}
	}},
	{name: "extends nothing", breaks: []string{"leases/extend", "leases/one-claim-many-jobs"}, mutate: func(m *mutant) {
		m.extend = func(context.Context, audiosearch.Lease, time.Time) error { return nil }
	}},
	{name: "releases at once", breaks: []string{"leases/release", "leases/released-lease"}, mutate: func(m *mutant) {
		m.release = func(ctx context.Context, l audiosearch.Lease, _ time.Time) error {
			return m.db.Release(ctx, l, time.Time{})
		}
	}},
	{name: "keeps the holder after a release", breaks: []string{"leases/released-lease"}, mutate: func(m *mutant) {
		m.release = func(ctx context.Context, l audiosearch.Lease, at time.Time) error { return m.db.Extend(ctx, l, at) }
	}},
	{name: "lets ended leases go", breaks: []string{"leases/ended-lease-is-held"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		var latest time.Time
		ends := make(map[uuid.UUID]time.Time)
		m.claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]audiosearch.Lease, error) {
			mu.Lock()
			defer mu.Unlock()
			latest, ends[token] = now, until
			return m.db.Claim(ctx, token, now, until, limit)
		}
		m.extend = func(ctx context.Context, l audiosearch.Lease, until time.Time) error {
			mu.Lock()
			defer mu.Unlock()
			if ends[l.Token].Before(latest) {
				return audiosearch.ErrLeaseLost
			}
			return m.db.Extend(ctx, l, until)
		}
	}},
	{name: "does not miss jobs that are gone", breaks: []string{"leases/gone"}, mutate: func(m *mutant) {
		m.remove = func(ctx context.Context, l audiosearch.Lease) error {
			_ = m.db.Remove(ctx, l)
			return nil
		}
	}},
	{name: "keeps removed jobs for ever", breaks: []string{"leases/remove"}, mutate: func(m *mutant) {
		m.remove = func(ctx context.Context, l audiosearch.Lease) error {
			return m.db.Extend(ctx, l, time.Now().Add(1000*time.Hour))
		}
	}},
}
