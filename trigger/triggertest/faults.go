package triggertest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/fault"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Faults makes the backends that it wraps fail as its hooks say, so that you can see what
// your own program does then. The zero value injects nothing. Set the hooks before the
// first call; they must be safe for concurrent use if the wrappers are used concurrently.
//
// An op is the interface and the method, as in "Store.CreateEvent", "Queue.Enqueue",
// "Leases.Claim", "APIKeys.CreateKey" or "Directory.Setup". [Outage], [Nth] and
// [Sometimes] make hooks, and [On] bounds one to some ops. A hook may also panic, block
// or call other parts of the program: whatever can happen while a backend is being
// called.
//
// What is wrapped keeps its optional interfaces: [trigger.TxStore], [trigger.Pruner],
// [trigger.Organizations], the [trigger.Deletion] of a directory, and those of queues and
// leases. NotifyJobs, Shares and LostJobs are not ops: a call goes straight to the
// backend.
//
// A store and a queue share a transaction only if both are wrapped or neither is: a
// backend does not know a wrapped store for its own.
type Faults struct {
	// Before runs before the backend is called. If it returns an error, that is the
	// answer, and the backend is not called.
	Before func(op string) error

	// After runs when the backend has done what was asked without error. If it returns an
	// error, that is the answer: the call took effect and the caller does not know it, as
	// when a connection breaks before the reply.
	After func(op string) error
}

func (f *Faults) hooks() *fault.Hooks { return fault.HooksAt(&f.Before, &f.After) }

// Queue wraps a queue. The ops are "Queue.Enqueue", "Queue.Cancel", "Queue.Consume" and
// "Queue.ConsumeOne". A failing Consume ends the Run of a worker; to let a queue fail
// under a worker that goes on, wrap the Leases below it.
func (f *Faults) Queue(q mortise.Queue) mortise.Queue { return f.hooks().Queue(q) }

// Leases wraps a table of jobs. The ops are "Leases.Add", "Leases.Cancel",
// "Leases.Claim", "Leases.Extend", "Leases.Release" and "Leases.Remove".
func (f *Faults) Leases(l mortise.Leases) mortise.Leases { return f.hooks().Leases(l) }

func (f *Faults) call(op string, do func() error) error { return f.hooks().Call(op, do) }

func callFor[T any](f *Faults, op string, do func() (T, error)) (T, error) {
	return fault.CallFor(f.hooks(), op, do)
}

// createResult is what CreateEvent and its like return beside the error.
type createResult struct {
	event trigger.Event
	isNew bool
}

func callCreate(f *Faults, op string, do func() (trigger.Event, bool, error)) (trigger.Event, bool, error) {
	c, err := callFor(f, op, func() (c createResult, err error) {
		c.event, c.isNew, err = do()
		return c, err
	})
	return c.event, c.isNew, err
}

// Store wraps a store. The ops are "Store.CreateEvent", "Store.Event",
// "Store.UpdateEvent", "Store.ListEvents", "Store.Unqueued", "Store.Stale",
// "Store.Stats", "Store.StatsAll", "Store.Prune", "Store.CreateEventAndAdd",
// "Store.UpdateEventAndRemove", "Store.MarkDeleted" and "Store.RemoveDeleted".
func (f *Faults) Store(s trigger.Store) trigger.Store {
	w := &faultyStore{faultyDeletion{s, f, "Store"}, s, f}
	p, isPruner := s.(trigger.Pruner)
	tx, isTx := s.(trigger.TxStore)
	switch {
	case isPruner && isTx:
		return &struct {
			*faultyTx
			faultyPruner
		}{&faultyTx{w, tx}, faultyPruner{p, f}}
	case isTx:
		return &faultyTx{w, tx}
	case isPruner:
		return &struct {
			*faultyStore
			faultyPruner
		}{w, faultyPruner{p, f}}
	}
	return w
}

type faultyStore struct {
	faultyDeletion
	inner  trigger.Store
	faults *Faults
}

// Behind implements fault.Wrapper: Shares asks for the store behind a wrapper.
func (s *faultyStore) Behind() any { return s.inner }

func (s *faultyStore) CreateEvent(ctx context.Context, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	return callCreate(s.faults, "Store.CreateEvent", func() (trigger.Event, bool, error) { return s.inner.CreateEvent(ctx, e, keySince) })
}

func (s *faultyStore) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	return callFor(s.faults, "Store.Event", func() (trigger.Event, error) { return s.inner.Event(ctx, org, id) })
}

func (s *faultyStore) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	return s.faults.call("Store.UpdateEvent", func() error { return s.inner.UpdateEvent(ctx, org, id, update) })
}

func (s *faultyStore) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	return callFor(s.faults, "Store.ListEvents", func() (mortise.Page[trigger.Event], error) { return s.inner.ListEvents(ctx, org, q) })
}

func (s *faultyStore) Unqueued(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	return callFor(s.faults, "Store.Unqueued", func() ([]trigger.Event, error) { return s.inner.Unqueued(ctx, before, limit) })
}

func (s *faultyStore) Stale(ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error) {
	return callFor(s.faults, "Store.Stale", func() ([]trigger.Event, error) { return s.inner.Stale(ctx, checked, due, limit) })
}

func (s *faultyStore) Stats(ctx context.Context, org string, most int) (trigger.Stats, error) {
	return callFor(s.faults, "Store.Stats", func() (trigger.Stats, error) { return s.inner.Stats(ctx, org, most) })
}

func (s *faultyStore) StatsAll(ctx context.Context, most int) (trigger.AllStats, error) {
	return callFor(s.faults, "Store.StatsAll", func() (trigger.AllStats, error) { return s.inner.StatsAll(ctx, most) })
}

type faultyPruner struct {
	pruner trigger.Pruner
	faults *Faults
}

func (s faultyPruner) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	return callFor(s.faults, "Store.Prune", func() (int, error) { return s.pruner.Prune(ctx, before, limit) })
}

type faultyTx struct {
	*faultyStore
	tx trigger.TxStore
}

func (s *faultyTx) CreateEventAndAdd(
	ctx context.Context, e trigger.Event, keySince time.Time, j mortise.Job,
) (trigger.Event, bool, error) {
	return callCreate(s.faults, "Store.CreateEventAndAdd", func() (trigger.Event, bool, error) {
		return s.tx.CreateEventAndAdd(ctx, e, keySince, j)
	})
}

func (s *faultyTx) UpdateEventAndRemove(
	ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error, l mortise.Lease, dead bool,
) error {
	return s.faults.call("Store.UpdateEventAndRemove", func() error { return s.tx.UpdateEventAndRemove(ctx, org, id, update, l, dead) })
}

// Directory wraps a directory. The ops are "Directory.Setup",
// "Directory.UpdateOrganization", "Directory.MarkDeleted" and "Directory.RemoveDeleted".
func (f *Faults) Directory(d trigger.Directory) trigger.Directory {
	w := &faultyDirectory{d, f}
	if o, ok := d.(trigger.Organizations); ok {
		return &faultyOrganizations{w, faultyDeletion{o, f, "Directory"}, o}
	}
	if deletion, ok := d.(trigger.Deletion); ok {
		return &struct {
			*faultyDirectory
			faultyDeletion
		}{w, faultyDeletion{deletion, f, "Directory"}}
	}
	return w
}

type faultyDirectory struct {
	inner  trigger.Directory
	faults *Faults
}

func (d *faultyDirectory) Setup(ctx context.Context, org string) (trigger.Organization, error) {
	return callFor(d.faults, "Directory.Setup", func() (trigger.Organization, error) { return d.inner.Setup(ctx, org) })
}

type faultyOrganizations struct {
	*faultyDirectory
	faultyDeletion
	orgs trigger.Organizations
}

func (o *faultyOrganizations) UpdateOrganization(ctx context.Context, org string, update func(*trigger.Organization) error) error {
	return o.faults.call("Directory.UpdateOrganization", func() error { return o.orgs.UpdateOrganization(ctx, org, update) })
}

// Keys wraps a store of API keys. The ops are "APIKeys.CreateKey", "APIKeys.KeyByDigest",
// "APIKeys.UpdateKey", "APIKeys.ListKeys", "APIKeys.MarkDeleted" and
// "APIKeys.RemoveDeleted".
func (f *Faults) Keys(k trigger.APIKeys) trigger.APIKeys {
	return &faultyKeys{faultyDeletion{k, f, "APIKeys"}, k, f}
}

type faultyKeys struct {
	faultyDeletion
	inner  trigger.APIKeys
	faults *Faults
}

func (k *faultyKeys) CreateKey(ctx context.Context, key trigger.APIKey) error {
	return k.faults.call("APIKeys.CreateKey", func() error { return k.inner.CreateKey(ctx, key) })
}

func (k *faultyKeys) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	return callFor(k.faults, "APIKeys.KeyByDigest", func() (trigger.APIKey, error) { return k.inner.KeyByDigest(ctx, digest) })
}

func (k *faultyKeys) UpdateKey(ctx context.Context, org string, id uuid.UUID, update func(*trigger.APIKey) error) error {
	return k.faults.call("APIKeys.UpdateKey", func() error { return k.inner.UpdateKey(ctx, org, id, update) })
}

func (k *faultyKeys) ListKeys(ctx context.Context, org string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error) {
	return callFor(k.faults, "APIKeys.ListKeys", func() (mortise.Page[trigger.APIKey], error) { return k.inner.ListKeys(ctx, org, q) })
}

// faultyDeletion wraps what a store, keys and organizations have in common.
type faultyDeletion struct {
	deletion trigger.Deletion
	hooked   *Faults
	part     string
}

func (d faultyDeletion) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	return callFor(d.hooked, d.part+".MarkDeleted", func() (time.Time, error) { return d.deletion.MarkDeleted(ctx, org, at) })
}

func (d faultyDeletion) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return callFor(d.hooked, d.part+".RemoveDeleted", func() (bool, error) { return d.deletion.RemoveDeleted(ctx, org, limit) })
}
