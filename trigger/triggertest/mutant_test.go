package triggertest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest/internal/delegate"
)

// mutant is the memory backend, whose methods can be replaced: each calls the one in on.
type mutant struct {
	Trigger *memory.Trigger // which stays faithful
	delegate.Backend
	broken  atomic.Bool // makes every method fail
	failure error       // what broken methods return

	jobs   *memory.Jobs
	inTx   func(ctx context.Context, do func(ctx context.Context) error) error
	shares func(store any) bool
	notify func(wake func(string)) (stop func())

	mu     sync.Mutex
	added  []mortise.Job   // by Leases.Add
	leases []mortise.Lease // that Claim gave
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	m := &mutant{Trigger: db.Trigger().Store.(*memory.Trigger), jobs: db.Jobs(), inTx: db.InTx, failure: errBroken}
	mutate.Fill(&m.On, m.Trigger)
	return m
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() trigger.Backend {
	mutate.Around(&m.On, func(c *mutate.Call) {
		if m.broken.Load() {
			*c.Err() = m.failure
			return
		}
		c.Go()
	})
	return trigger.Backend{Store: m, Queue: leases.New(mutantJobs{m.jobs, m}, nil), Directory: m, Keys: m}
}

// mutantJobs is the mutant's table of jobs.
type mutantJobs struct {
	*memory.Jobs
	m *mutant
}

func (j mutantJobs) Add(ctx context.Context, job mortise.Job) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	j.m.added = append(j.m.added, job)
	return j.Jobs.Add(ctx, job)
}

func (j mutantJobs) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	leases, err := j.Jobs.Claim(ctx, c)
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	j.m.leases = append(j.m.leases, leases...)
	return leases, err
}

func (j mutantJobs) Shares(store any) bool {
	if j.m.shares != nil {
		return j.m.shares(store)
	}
	other, ok := store.(*mutant)
	return ok && j.Jobs.Shares(other.Trigger)
}

func (j mutantJobs) NotifyJobs(wake func(string)) (stop func()) {
	if j.m.notify != nil {
		return j.m.notify(wake)
	}
	return j.Jobs.NotifyJobs(wake)
}
