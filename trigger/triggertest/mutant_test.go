package triggertest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance/queuetest"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// mutant is the memory backend with some methods replaced. A nil function leaves the method as it is.
type mutant struct {
	*memory.Trigger
	broken atomic.Bool // makes every method fail

	create   func(context.Context, trigger.Event, time.Time) (trigger.Event, bool, error)
	get      func(context.Context, string, uuid.UUID) (trigger.Event, error)
	update   func(context.Context, string, uuid.UUID, func(*trigger.Event) error) error
	list     func(context.Context, string, trigger.Query) (trigger.Page, error)
	unqueued func(context.Context, time.Time, int) ([]trigger.Event, error)
	prune    func(context.Context, time.Time, int) (int, error)

	organization       func(context.Context, string) (trigger.Organization, error)
	updateOrganization func(context.Context, string, func(*trigger.Organization) error) error

	createKey   func(context.Context, trigger.APIKey) error
	keyByDigest func(context.Context, [32]byte) (trigger.APIKey, error)
	updateKey   func(context.Context, string, uuid.UUID, func(*trigger.APIKey) error) error
	listKeys    func(context.Context, string) ([]trigger.APIKey, error)

	shares       func(trigger.Store) bool
	createAndAdd func(context.Context, trigger.Event, time.Time, trigger.Job) (trigger.Event, bool, error)

	jobs    *queuetest.Mutant[trigger.Job] // the job queue
	failure error                          // what broken methods return
	queue   trigger.TxQueue
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	m := &mutant{Trigger: db.Trigger(), failure: errBroken}
	m.queue = trigger.LeaseQueue(m, &trigger.LeaseOptions{Poll: 10 * time.Millisecond}).(trigger.TxQueue)
	m.jobs = queuetest.NewMutant(triggertest.SharedLeases(m.Trigger), triggertest.SharedQueue(m.queue), m.fail)
	return m
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() triggertest.Backend {
	return triggertest.Backend{Store: m, Organizations: m, Keys: m, Leases: m, Queue: mutantQueue{m}}
}

func (m *mutant) fail() error {
	if m.broken.Load() {
		return m.failure
	}
	return nil
}

func (m *mutant) Create(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
	if err := m.fail(); err != nil {
		return trigger.Event{}, false, err
	}
	if m.create != nil {
		return m.create(ctx, e, since)
	}
	return m.Trigger.Create(ctx, e, since)
}

func (m *mutant) Get(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	if err := m.fail(); err != nil {
		return trigger.Event{}, err
	}
	if m.get != nil {
		return m.get(ctx, org, id)
	}
	return m.Trigger.Get(ctx, org, id)
}

func (m *mutant) Update(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.update != nil {
		return m.update(ctx, org, id, f)
	}
	return m.Trigger.Update(ctx, org, id, f)
}

func (m *mutant) List(ctx context.Context, org string, q trigger.Query) (trigger.Page, error) {
	if err := m.fail(); err != nil {
		return trigger.Page{}, err
	}
	if m.list != nil {
		return m.list(ctx, org, q)
	}
	return m.Trigger.List(ctx, org, q)
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

func (m *mutant) Organization(ctx context.Context, org string) (trigger.Organization, error) {
	if err := m.fail(); err != nil {
		return trigger.Organization{}, err
	}
	if m.organization != nil {
		return m.organization(ctx, org)
	}
	return m.Trigger.Organization(ctx, org)
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

func (m *mutant) ListKeys(ctx context.Context, org string) ([]trigger.APIKey, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	if m.listKeys != nil {
		return m.listKeys(ctx, org)
	}
	return m.Trigger.ListKeys(ctx, org)
}

func (m *mutant) Add(ctx context.Context, j trigger.Job, at time.Time) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.jobs.Add(ctx, j, at)
}

func (m *mutant) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]trigger.Lease, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	claimed, err := m.jobs.Claim(ctx, token, now, until, limit, except...)
	var leases []trigger.Lease
	for _, l := range claimed {
		leases = append(leases, trigger.Lease(l))
	}
	return leases, err
}

func (m *mutant) Extend(ctx context.Context, l trigger.Lease, until time.Time) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.jobs.Extend(ctx, queuetest.Lease[trigger.Job](l), until)
}

func (m *mutant) Release(ctx context.Context, l trigger.Lease, at time.Time) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.jobs.Release(ctx, queuetest.Lease[trigger.Job](l), at)
}

func (m *mutant) Remove(ctx context.Context, l trigger.Lease, dead bool) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.jobs.Remove(ctx, queuetest.Lease[trigger.Job](l), dead)
}

func (m *mutant) Shares(s trigger.Store) bool {
	if m.shares != nil {
		return m.shares(s)
	}
	other, ok := s.(*mutant)
	return ok && m.Trigger.Shares(other.Trigger)
}

func (m *mutant) CreateAndAdd(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job, at time.Time) (trigger.Event, bool, error) {
	if err := m.fail(); err != nil {
		return trigger.Event{}, false, err
	}
	if m.createAndAdd != nil {
		return m.createAndAdd(ctx, e, since, j)
	}
	return m.Trigger.CreateAndAdd(ctx, e, since, j, at)
}

func (m *mutant) NotifyJobs(wake func()) (stop func()) { return m.jobs.NotifyJobs(wake) }

// mutantQueue is the mutant's queue. It is a type of its own because Store and TxQueue have no method in common but Shares.
type mutantQueue struct{ m *mutant }

func (q mutantQueue) Enqueue(ctx context.Context, j trigger.Job) error {
	return q.m.jobs.Enqueue(ctx, j)
}

func (q mutantQueue) Consume(ctx context.Context, workers int, handle func(context.Context, trigger.Delivery) trigger.Verdict) error {
	return q.m.jobs.Consume(ctx, workers, handlerOf(handle))
}

func (q mutantQueue) ConsumeOne(ctx context.Context, handle func(context.Context, trigger.Delivery) trigger.Verdict) (bool, error) {
	return q.m.jobs.ConsumeOne(ctx, handlerOf(handle))
}

func handlerOf(handle func(context.Context, trigger.Delivery) trigger.Verdict) queuetest.Handler[trigger.Job] {
	return func(ctx context.Context, d queuetest.Delivery[trigger.Job]) queuetest.Verdict {
		v := handle(ctx, trigger.Delivery(d))
		return queuetest.Verdict{Done: v.Kind != trigger.VerdictRetry, Dead: v.Kind == trigger.VerdictDead, After: v.After}
	}
}

func (q mutantQueue) Shares(s trigger.Store) bool { return q.m.Shares(s) }

func (q mutantQueue) CreateAndEnqueue(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job) (trigger.Event, bool, error) {
	return q.m.queue.CreateAndEnqueue(ctx, e, since, j)
}
