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
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// mutant is the memory backend with some methods replaced. A nil function leaves the
// method as it is.
type mutant struct {
	*memory.Trigger
	broken atomic.Bool // makes every method fail

	create   func(context.Context, trigger.Event, time.Time) (trigger.Event, bool, error)
	get      func(context.Context, string, uuid.UUID) (trigger.Event, error)
	update   func(context.Context, string, uuid.UUID, func(*trigger.Event) error) error
	list     func(context.Context, string, trigger.EventQuery) (mortise.Page[trigger.Event], error)
	unqueued func(context.Context, time.Time, int) ([]trigger.Event, error)
	prune    func(context.Context, time.Time, int) (int, error)
	stats    func(context.Context, string, int) (trigger.Stats, error)
	statsAll func(context.Context, int) (trigger.AllStats, error)

	organization       func(context.Context, string) (trigger.Organization, error)
	updateOrganization func(context.Context, string, func(*trigger.Organization) error) error

	createKey   func(context.Context, trigger.APIKey) error
	keyByDigest func(context.Context, [32]byte) (trigger.APIKey, error)
	updateKey   func(context.Context, string, uuid.UUID, func(*trigger.APIKey) error) error
	listKeys    func(context.Context, string, trigger.KeyQuery) (mortise.Page[trigger.APIKey], error)

	stale           func(context.Context, time.Time, time.Time, int) ([]trigger.Event, error)
	createAndAdd    func(context.Context, trigger.Event, time.Time, mortise.Job) (trigger.Event, bool, error)
	updateAndRemove func(context.Context, string, uuid.UUID, func(*trigger.Event) error, mortise.Lease, bool) error

	markDeleted   func(context.Context, string, time.Time) (time.Time, error)
	removeDeleted func(context.Context, string, int) (bool, error)

	shares func(store any) bool
	notify func(wake func(string)) (stop func())

	jobs    *memory.Jobs
	failure error // what broken methods return

	mu     sync.Mutex
	added  []mortise.Job   // by Leases.Add
	leases []mortise.Lease // that Claim gave
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return &mutant{Trigger: db.Trigger().Store.(*memory.Trigger), jobs: db.Jobs(), failure: errBroken}
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() trigger.Backend {
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

func (m *mutant) fail() error {
	if m.broken.Load() {
		return m.failure
	}
	return nil
}

func (m *mutant) CreateEvent(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
	if err := m.fail(); err != nil {
		return trigger.Event{}, false, err
	}
	if m.create != nil {
		return m.create(ctx, e, since)
	}
	return m.Trigger.CreateEvent(ctx, e, since)
}

func (m *mutant) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	if err := m.fail(); err != nil {
		return trigger.Event{}, err
	}
	if m.get != nil {
		return m.get(ctx, org, id)
	}
	return m.Trigger.Event(ctx, org, id)
}

func (m *mutant) UpdateEvent(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.update != nil {
		return m.update(ctx, org, id, f)
	}
	return m.Trigger.UpdateEvent(ctx, org, id, f)
}

func (m *mutant) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	if err := m.fail(); err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	if m.list != nil {
		return m.list(ctx, org, q)
	}
	return m.Trigger.ListEvents(ctx, org, q)
}

func (m *mutant) Unqueued(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	if m.unqueued != nil {
		return m.unqueued(ctx, before, limit)
	}
	return m.Trigger.Unqueued(ctx, before, limit)
}

func (m *mutant) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	if m.prune != nil {
		return m.prune(ctx, before, limit)
	}
	return m.Trigger.Prune(ctx, before, limit)
}

func (m *mutant) Stats(ctx context.Context, org string, most int) (trigger.Stats, error) {
	if err := m.fail(); err != nil {
		return trigger.Stats{}, err
	}
	if m.stats != nil {
		return m.stats(ctx, org, most)
	}
	return m.Trigger.Stats(ctx, org, most)
}

func (m *mutant) StatsAll(ctx context.Context, most int) (trigger.AllStats, error) {
	if err := m.fail(); err != nil {
		return trigger.AllStats{}, err
	}
	if m.statsAll != nil {
		return m.statsAll(ctx, most)
	}
	return m.Trigger.StatsAll(ctx, most)
}

func (m *mutant) Setup(ctx context.Context, org string) (trigger.Organization, error) {
	if err := m.fail(); err != nil {
		return trigger.Organization{}, err
	}
	if m.organization != nil {
		return m.organization(ctx, org)
	}
	return m.Trigger.Setup(ctx, org)
}

func (m *mutant) UpdateOrganization(ctx context.Context, org string, f func(*trigger.Organization) error) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.updateOrganization != nil {
		return m.updateOrganization(ctx, org, f)
	}
	return m.Trigger.UpdateOrganization(ctx, org, f)
}

func (m *mutant) CreateKey(ctx context.Context, k trigger.APIKey) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.createKey != nil {
		return m.createKey(ctx, k)
	}
	return m.Trigger.CreateKey(ctx, k)
}

func (m *mutant) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	if err := m.fail(); err != nil {
		return trigger.APIKey{}, err
	}
	if m.keyByDigest != nil {
		return m.keyByDigest(ctx, digest)
	}
	return m.Trigger.KeyByDigest(ctx, digest)
}

func (m *mutant) UpdateKey(ctx context.Context, org string, id uuid.UUID, f func(*trigger.APIKey) error) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.updateKey != nil {
		return m.updateKey(ctx, org, id, f)
	}
	return m.Trigger.UpdateKey(ctx, org, id, f)
}

func (m *mutant) ListKeys(ctx context.Context, org string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error) {
	if err := m.fail(); err != nil {
		return mortise.Page[trigger.APIKey]{}, err
	}
	if m.listKeys != nil {
		return m.listKeys(ctx, org, q)
	}
	return m.Trigger.ListKeys(ctx, org, q)
}

func (m *mutant) Stale(ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	if m.stale != nil {
		return m.stale(ctx, checked, due, limit)
	}
	return m.Trigger.Stale(ctx, checked, due, limit)
}

func (m *mutant) CreateEventAndAdd(ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error) {
	if err := m.fail(); err != nil {
		return trigger.Event{}, false, err
	}
	if m.createAndAdd != nil {
		return m.createAndAdd(ctx, e, since, j)
	}
	return m.Trigger.CreateEventAndAdd(ctx, e, since, j)
}

func (m *mutant) UpdateEventAndRemove(
	ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error, l mortise.Lease, dead bool,
) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.updateAndRemove != nil {
		return m.updateAndRemove(ctx, org, id, f, l, dead)
	}
	return m.Trigger.UpdateEventAndRemove(ctx, org, id, f, l, dead)
}

func (m *mutant) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	if err := m.fail(); err != nil {
		return time.Time{}, err
	}
	if m.markDeleted != nil {
		return m.markDeleted(ctx, org, at)
	}
	return m.Trigger.MarkDeleted(ctx, org, at)
}

func (m *mutant) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	if err := m.fail(); err != nil {
		return false, err
	}
	if m.removeDeleted != nil {
		return m.removeDeleted(ctx, org, limit)
	}
	return m.Trigger.RemoveDeleted(ctx, org, limit)
}
