package audiosearchtest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest/internal/delegate"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// mutant is the memory backend, whose methods can be replaced: each calls the one in on.
type mutant struct {
	db plainStore // which stays faithful
	delegate.Backend
	broken  atomic.Bool // makes every method fail
	failure error       // what broken methods return

	// One at a time, instead of Videos and Scorings.
	video   func(context.Context, string, string, string) (audiosearch.Video, error)
	scoring func(context.Context, string, string, string, string) (audiosearch.Scoring, error)

	jobs       *memory.Jobs
	inTx       func(ctx context.Context, do func(ctx context.Context) error) error
	shares     func(store any) bool
	queue      *leases.Queue
	notifyJobs func(wake func(kind string)) (stop func())

	marked atomic.Bool // by removesAtOnce
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	memories, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	m := &mutant{db: plainStore{memories.AudioSearch().Store.(*memory.AudioSearch)}, jobs: memories.Jobs(), inTx: memories.InTx, failure: errBroken}
	mutate.Fill(&m.On, m.db)
	m.shares = func(store any) bool {
		other, ok := store.(*mutant)
		return ok && m.jobs.Shares(other.db.AudioSearch)
	}
	m.notifyJobs = m.jobs.NotifyJobs
	m.queue = leases.New(mutantLeases{m.jobs, m}, nil)
	return m
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() audiosearchtest.Backend {
	mutate.Around(&m.On, func(c *mutate.Call) {
		if m.broken.Load() {
			*c.Err() = m.failure
			return
		}
		c.Go()
	})
	return audiosearchtest.Backend{Datasets: m, Catalog: m, Scores: m, Parts: m, Models: m, Runs: m, Results: m, Counter: m, Deletion: m,
		Leases: mutantLeases{m.jobs, m}, Queue: m.queue}
}

// mutantLeases are the mutant's jobs. They do what they should: their rules are those of
// package storage/queuetest.
type mutantLeases struct {
	*memory.Jobs
	m *mutant
}

func (l mutantLeases) Shares(store any) bool { return l.m.shares(store) }

func (l mutantLeases) NotifyJobs(wake func(kind string)) (stop func()) {
	return l.m.notifyJobs(wake)
}
