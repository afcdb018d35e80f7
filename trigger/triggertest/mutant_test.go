package triggertest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// mutant is the memory backend, whose methods can be replaced: each calls the one in on.
type mutant struct {
	*memory.Trigger // which stays faithful
	on              methods
	broken          atomic.Bool // makes every method fail
	failure         error       // what broken methods return

	jobs   *memory.Jobs
	shares func(store any) bool
	notify func(wake func(string)) (stop func())

	mu     sync.Mutex
	added  []mortise.Job   // by Leases.Add
	leases []mortise.Lease // that Claim gave
}

// methods are those of the backend.
type methods struct {
	CreateEvent          func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error)
	Event                func(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error)
	UpdateEvent          func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error
	ListEvents           func(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error)
	Unqueued             func(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error)
	Prune                func(ctx context.Context, before time.Time, limit int) (int, error)
	Stats                func(ctx context.Context, org string, most int) (trigger.Stats, error)
	StatsAll             func(ctx context.Context, most int) (trigger.AllStats, error)
	Setup                func(ctx context.Context, org string) (trigger.Organization, error)
	UpdateOrganization   func(ctx context.Context, org string, f func(*trigger.Organization) error) error
	CreateKey            func(ctx context.Context, k trigger.APIKey) error
	KeyByDigest          func(ctx context.Context, digest [32]byte) (trigger.APIKey, error)
	UpdateKey            func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.APIKey) error) error
	ListKeys             func(ctx context.Context, org string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error)
	Stale                func(ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error)
	CreateEventAndAdd    func(ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error)
	UpdateEventAndRemove func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error, l mortise.Lease, dead bool) error
	MarkDeleted          func(ctx context.Context, org string, at time.Time) (time.Time, error)
	RemoveDeleted        func(ctx context.Context, org string, limit int) (bool, error)
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	m := &mutant{Trigger: db.Trigger().Store.(*memory.Trigger), jobs: db.Jobs(), failure: errBroken}
	mutate.Fill(&m.on, m.Trigger)
	return m
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() trigger.Backend {
	mutate.Around(&m.on, func(c *mutate.Call) {
		if m.broken.Load() {
			*c.Err() = m.failure
			return
		}
		c.Go()
	})
	return trigger.Backend{Store: m, Queue: mortise.NewLeaseQueue(mutantJobs{m.jobs, m}, nil), Directory: m, Keys: m}
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

func (m *mutant) CreateEvent(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
	return m.on.CreateEvent(ctx, e, since)
}

func (m *mutant) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	return m.on.Event(ctx, org, id)
}

func (m *mutant) UpdateEvent(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
	return m.on.UpdateEvent(ctx, org, id, f)
}

func (m *mutant) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	return m.on.ListEvents(ctx, org, q)
}

func (m *mutant) Unqueued(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	return m.on.Unqueued(ctx, before, limit)
}

func (m *mutant) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	return m.on.Prune(ctx, before, limit)
}

func (m *mutant) Stats(ctx context.Context, org string, most int) (trigger.Stats, error) {
	return m.on.Stats(ctx, org, most)
}

func (m *mutant) StatsAll(ctx context.Context, most int) (trigger.AllStats, error) {
	return m.on.StatsAll(ctx, most)
}

func (m *mutant) Setup(ctx context.Context, org string) (trigger.Organization, error) {
	return m.on.Setup(ctx, org)
}

func (m *mutant) UpdateOrganization(ctx context.Context, org string, f func(*trigger.Organization) error) error {
	return m.on.UpdateOrganization(ctx, org, f)
}

func (m *mutant) CreateKey(ctx context.Context, k trigger.APIKey) error {
	return m.on.CreateKey(ctx, k)
}

func (m *mutant) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	return m.on.KeyByDigest(ctx, digest)
}

func (m *mutant) UpdateKey(ctx context.Context, org string, id uuid.UUID, f func(*trigger.APIKey) error) error {
	return m.on.UpdateKey(ctx, org, id, f)
}

func (m *mutant) ListKeys(ctx context.Context, org string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error) {
	return m.on.ListKeys(ctx, org, q)
}

func (m *mutant) Stale(ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error) {
	return m.on.Stale(ctx, checked, due, limit)
}

func (m *mutant) CreateEventAndAdd(ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error) {
	return m.on.CreateEventAndAdd(ctx, e, since, j)
}

func (m *mutant) UpdateEventAndRemove(
	ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error, l mortise.Lease, dead bool,
) error {
	return m.on.UpdateEventAndRemove(ctx, org, id, f, l, dead)
}

func (m *mutant) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	return m.on.MarkDeleted(ctx, org, at)
}

func (m *mutant) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return m.on.RemoveDeleted(ctx, org, limit)
}
