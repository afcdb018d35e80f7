package triggertest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

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

	add          func(context.Context, trigger.Job, time.Time) error
	claim        func(context.Context, uuid.UUID, time.Time, time.Time, int) ([]trigger.Lease, error)
	extend       func(context.Context, trigger.Lease, time.Time) error
	release      func(context.Context, trigger.Lease, time.Time) error
	remove       func(context.Context, trigger.Lease, bool) error
	shares       func(trigger.Store) bool
	createAndAdd func(context.Context, trigger.Event, time.Time, trigger.Job) (trigger.Event, bool, error)
	notifyJobs   func(func()) func()

	enqueue func(context.Context, trigger.Job) error
	consume func(context.Context, int, handler) error
	step    func(context.Context, handler) (bool, error)

	failure error // what broken methods return
	queue   trigger.TxQueue
}

type handler = func(context.Context, trigger.Delivery) trigger.Verdict

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	m := &mutant{Trigger: db.Trigger(), failure: errBroken}
	m.queue = trigger.LeaseQueue(m, &trigger.LeaseOptions{Poll: 10 * time.Millisecond}).(trigger.TxQueue)
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
	if m.add != nil {
		return m.add(ctx, j, at)
	}
	return m.Trigger.Add(ctx, j, at)
}

func (m *mutant) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]trigger.Lease, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	if m.claim != nil {
		return m.claim(ctx, token, now, until, limit)
	}
	return m.Trigger.Claim(ctx, token, now, until, limit)
}

func (m *mutant) Extend(ctx context.Context, l trigger.Lease, until time.Time) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.extend != nil {
		return m.extend(ctx, l, until)
	}
	return m.Trigger.Extend(ctx, l, until)
}

func (m *mutant) Release(ctx context.Context, l trigger.Lease, at time.Time) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.release != nil {
		return m.release(ctx, l, at)
	}
	return m.Trigger.Release(ctx, l, at)
}

func (m *mutant) Remove(ctx context.Context, l trigger.Lease, dead bool) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.remove != nil {
		return m.remove(ctx, l, dead)
	}
	return m.Trigger.Remove(ctx, l, dead)
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

func (m *mutant) NotifyJobs(wake func()) (stop func()) {
	if m.notifyJobs != nil {
		return m.notifyJobs(wake)
	}
	return m.Trigger.NotifyJobs(wake)
}

// mutantQueue is the mutant's queue. It is a type of its own because Store and TxQueue have no method in common but Shares.
type mutantQueue struct{ m *mutant }

func (q mutantQueue) Enqueue(ctx context.Context, j trigger.Job) error {
	if q.m.enqueue != nil {
		return q.m.enqueue(ctx, j)
	}
	return q.m.queue.Enqueue(ctx, j)
}

func (q mutantQueue) Consume(ctx context.Context, workers int, handle func(context.Context, trigger.Delivery) trigger.Verdict) error {
	if q.m.consume != nil {
		return q.m.consume(ctx, workers, handle)
	}
	return q.m.queue.Consume(ctx, workers, handle)
}

func (q mutantQueue) ConsumeOne(ctx context.Context, handle func(context.Context, trigger.Delivery) trigger.Verdict) (bool, error) {
	if q.m.step != nil {
		return q.m.step(ctx, handle)
	}
	return q.m.queue.(trigger.StepQueue).ConsumeOne(ctx, handle)
}

func (q mutantQueue) Shares(s trigger.Store) bool { return q.m.Shares(s) }

func (q mutantQueue) CreateAndEnqueue(ctx context.Context, e trigger.Event, since time.Time, j trigger.Job) (trigger.Event, bool, error) {
	return q.m.queue.CreateAndEnqueue(ctx, e, since, j)
}
