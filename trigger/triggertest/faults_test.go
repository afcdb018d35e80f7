package triggertest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// backend is what a memory database gives.
type backend struct {
	*memory.Trigger
	jobs  *memory.Jobs
	queue *leases.Queue
}

func open(t *testing.T) backend {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return backend{db.Trigger().Store.(*memory.Trigger), db.Jobs(), db.Queue(nil)}
}

// everyOp makes each call that a wrapper can make, and returns their ops with the errors.
func everyOp(ctx context.Context, f *triggertest.Faults, db backend) (ops []string, errs []error) {
	note := func(op string, err error) { ops, errs = append(ops, op), append(errs, err) }
	e := trigger.Event{ID: uuid.New(), Organization: "acme", Status: trigger.StatusReceived, Instructions: "a", SubmittedAt: time.Now()}
	next := func() trigger.Event {
		e.ID = uuid.New()
		return e
	}
	store, queue, leases := f.Store(db.Trigger), f.Queue(db.queue), f.Leases(db.jobs)
	kept := next()
	_, _, _ = db.CreateEvent(ctx, kept, time.Time{})
	k := trigger.APIKey{ID: uuid.New(), Organization: "acme", Digest: [32]byte{1}}
	_ = db.CreateKey(ctx, k)

	_, _, err := store.CreateEvent(ctx, next(), time.Time{})
	note("Store.CreateEvent", err)
	note("Store.CreateEvents", store.CreateEvents(ctx, []trigger.Event{next()}, nil))
	_, err = store.Event(ctx, "acme", kept.ID)
	note("Store.Event", err)
	note("Store.UpdateEvent", store.UpdateEvent(ctx, "acme", kept.ID, func(*trigger.Event) error { return nil }))
	_, err = store.ListEvents(ctx, "acme", trigger.EventQuery{Limit: 1})
	note("Store.ListEvents", err)
	_, err = store.Progress(ctx, nil)
	note("Store.Progress", err)
	_, err = store.Overdue(ctx, time.Now(), 1)
	note("Store.Overdue", err)
	_, err = store.AllEvents(ctx, trigger.AllQuery{Limit: 1})
	note("Store.AllEvents", err)
	_, _, err = store.(trigger.Pruner).Prune(ctx, trigger.StatusFailed, time.Now(), time.Now(), 1)
	note("Store.Prune", err)

	_, err = store.Counts(ctx, "acme", 1)
	note("Store.Counts", err)
	_, err = store.Backlog(ctx, 1)
	note("Store.Backlog", err)
	e = next()
	_, _, err = store.(trigger.TxStore).CreateEventAndAdd(ctx, e, time.Time{}, e.Job())
	note("Store.CreateEventAndAdd", err)
	note("Store.UpdateEventAndJobs", store.(trigger.TxStore).UpdateEventAndJobs(ctx, "acme", kept.ID,
		func(*trigger.Event) ([]mortise.Job, error) { return nil, nil }, mortise.Lease{Job: kept.Job()}, false))

	note("Store.Transact", store.(mortise.Transactor).Transact(ctx, "acme", func(context.Context) error { return nil }))

	ended, cancel := context.WithCancel(ctx)
	cancel()
	kinds := []string{trigger.JobKind}
	handle := func(context.Context, mortise.Delivery) mortise.Verdict { return mortise.Verdict{} }
	note("Queue.Enqueue", queue.Enqueue(ctx, kept.Job()))
	note("Queue.Cancel", queue.Cancel(ctx, kept.Job()))
	note("Queue.Consume", queue.Consume(ended, mortise.ConsumeOptions{Kinds: kinds}, handle))
	_, err = queue.(mortise.StepQueue).ConsumeOne(ctx, kinds, handle)
	note("Queue.ConsumeOne", err)

	e = next()
	note("Leases.Add", leases.Add(ctx, e.Job()))
	note("Leases.Cancel", leases.Cancel(ctx, e.Job()))
	_, err = leases.Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: kinds})
	note("Leases.Claim", err)
	claim := func() mortise.Lease {
		e := next()
		_ = db.jobs.Add(ctx, e.Job())
		for {
			held, _ := db.jobs.Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: kinds, Limit: 1, TTL: time.Hour})
			if held[0].Job.ID == e.Job().ID {
				return held[0]
			}
		}
	}
	note("Leases.Extend", leases.Extend(ctx, claim(), time.Hour))
	note("Leases.Release", leases.Release(ctx, claim(), time.Hour))
	note("Leases.Remove", leases.Remove(ctx, claim(), false))

	directory := f.Directory(db)
	_ = db.UpdateOrganization(ctx, "acme", func(*trigger.Organization) error { return nil })
	_, err = directory.Setup(ctx, "acme")
	note("Directory.Setup", err)
	note("Directory.UpdateOrganization", directory.(trigger.Organizations).UpdateOrganization(ctx, "acme", func(*trigger.Organization) error { return nil }))

	keys := f.Keys(db)
	note("APIKeys.CreateKey", keys.CreateKey(ctx, trigger.APIKey{ID: uuid.New(), Organization: "acme", Digest: [32]byte(append(e.ID[:], e.ID[:]...))}))
	_, err = keys.KeyByDigest(ctx, k.Digest)
	note("APIKeys.KeyByDigest", err)
	note("APIKeys.UpdateKey", keys.UpdateKey(ctx, "acme", k.ID, func(*trigger.APIKey) error { return nil }))
	_, err = keys.ListKeys(ctx, "acme", "", 1)
	note("APIKeys.ListKeys", err)

	parts := []struct {
		name string
		trigger.Deletion
	}{{"Store", store}, {"Directory", directory.(trigger.Deletion)}, {"APIKeys", keys}}
	for _, part := range parts {
		_, err = part.MarkDeleted(ctx, "gone", time.Unix(0, 0))
		note(part.name+".MarkDeleted", err)
		_, _ = db.MarkDeleted(ctx, "gone", time.Unix(0, 0))
		_, _, err = part.RemoveDeleted(ctx, "gone", 1)
		note(part.name+".RemoveDeleted", err)
	}
	return ops, errs
}

func TestEveryCallPassesBothHooks(t *testing.T) {
	var before, after []string
	f := &triggertest.Faults{
		Before: func(op string) error { before = append(before, op); return nil },
		After:  func(op string) error { after = append(after, op); return nil },
	}
	ops, errs := everyOp(t.Context(), f, open(t))
	for i, err := range errs {
		require.NoError(t, err, ops[i])
	}
	assert.Equal(t, ops, before)
	assert.Equal(t, ops, after)

	outage, heal := triggertest.Outage()
	for name, f := range map[string]*triggertest.Faults{"before": {Before: outage}, "after": {After: outage}} {
		ops, errs := everyOp(t.Context(), f, open(t))
		for i, err := range errs {
			require.ErrorIs(t, err, triggertest.ErrInjected, "%s %s", name, ops[i])
		}
	}
	heal()
	_, errs = everyOp(t.Context(), &triggertest.Faults{Before: outage}, open(t))
	assert.False(t, slices.ContainsFunc(errs, func(err error) bool { return err != nil }))
	_, errs = everyOp(t.Context(), new(triggertest.Faults), open(t))
	assert.False(t, slices.ContainsFunc(errs, func(err error) bool { return err != nil }), "the zero value injects nothing")
}

func TestBeforeAndAfterTheEffect(t *testing.T) {
	db := open(t)
	outage, _ := triggertest.Outage()
	e := trigger.Event{ID: uuid.New(), Organization: "acme", Instructions: "a"}
	_, _, err := (&triggertest.Faults{Before: outage}).Store(db.Trigger).CreateEvent(t.Context(), e, time.Time{})
	require.ErrorIs(t, err, triggertest.ErrInjected)
	_, err = db.Event(t.Context(), "acme", e.ID)
	require.ErrorIs(t, err, mortise.ErrNotFound, "without effect")
	stored, created, err := (&triggertest.Faults{After: outage}).Store(db.Trigger).CreateEvent(t.Context(), e, time.Time{})
	require.ErrorIs(t, err, triggertest.ErrInjected)
	assert.False(t, created)
	assert.Zero(t, stored, "an error brings nothing else")
	_, err = db.Event(t.Context(), "acme", e.ID)
	require.NoError(t, err, "it took effect")

	_, err = (&triggertest.Faults{After: outage}).Store(db.Trigger).Event(t.Context(), "acme", uuid.New())
	require.ErrorIs(t, err, mortise.ErrNotFound, "the backend's own error comes first")
}

func TestWrappersKeepOptionalInterfaces(t *testing.T) {
	db, f := open(t), new(triggertest.Faults)
	_, ok := f.Store(db).(trigger.Pruner)
	assert.True(t, ok)
	_, ok = f.Store(struct{ trigger.Store }{db}).(trigger.Pruner)
	assert.False(t, ok)
	_, ok = f.Directory(db).(trigger.Organizations)
	assert.True(t, ok)
	_, ok = f.Directory(struct{ trigger.Directory }{db}).(trigger.Organizations)
	assert.False(t, ok)
	_, ok = f.Store(db.Trigger).(trigger.TxStore)
	assert.True(t, ok)
	_, ok = f.Store(struct{ trigger.Store }{db}).(trigger.TxStore)
	assert.False(t, ok)
	both := f.Store(struct {
		trigger.Store
		trigger.Pruner
	}{db, db})
	_, ok = both.(trigger.Pruner)
	assert.True(t, ok)
	_, ok = both.(trigger.TxStore)
	assert.False(t, ok)
	both = f.Store(struct {
		trigger.Store
		trigger.TxStore
	}{db, db})
	_, ok = both.(trigger.TxStore)
	assert.True(t, ok)
	_, ok = both.(trigger.Pruner)
	assert.False(t, ok)

	notifier, ok := f.Leases(db.jobs).(leases.JobNotifier)
	require.True(t, ok)
	woken := 0
	stop := notifier.NotifyJobs(func(string) { woken++ })
	require.NoError(t, db.jobs.Add(t.Context(), mortise.Job{Kind: "k", Organization: "acme", ID: "1"}))
	stop()
	assert.Equal(t, 1, woken)
	_, ok = f.Leases(struct{ mortise.Leases }{db.jobs}).(leases.JobNotifier)
	assert.False(t, ok)

	_, ok = f.Queue(db.queue).(mortise.StepQueue)
	assert.True(t, ok)
	_, ok = f.Queue(struct{ mortise.Queue }{db.queue}).(mortise.StepQueue)
	assert.False(t, ok)
	for name, shares := range map[string]mortise.Sharer{"queue": f.Queue(db.queue).(mortise.Sharer), "leases": f.Leases(db.jobs).(mortise.Sharer)} {
		assert.True(t, shares.Shares(f.Store(f.Store(db.Trigger))), "%s: wrapped, even twice, is the same store", name)
		assert.False(t, shares.Shares(f.Store(open(t).Trigger)), name)
		assert.True(t, shares.Shares(db.Trigger), name)
	}
	assert.False(t, f.Queue(struct{ mortise.Queue }{db.queue}).(mortise.Sharer).Shares(db.Trigger))
}

func TestHooks(t *testing.T) {
	nth := triggertest.On(triggertest.Nth(2), "Store.Event", "Queue")
	var failed []int
	for i, op := range []string{"Store.Event", "Store.ListEvents", "Queue.Enqueue", "Store.Event", "StoreX.Get"} {
		if nth(op) != nil {
			failed = append(failed, i)
		}
	}
	assert.Equal(t, []int{2}, failed, "Nth counts what On lets through")

	draw := func(seed uint64) (failures []bool) {
		hook := triggertest.Sometimes(0.3, seed)
		for range 1000 {
			failures = append(failures, hook("Store.Event") != nil)
		}
		return failures
	}
	first := draw(1)
	assert.Equal(t, first, draw(1))
	assert.NotEqual(t, first, draw(2))
	n := 0
	for _, f := range first {
		if f {
			n++
		}
	}
	assert.InDelta(t, 300, n, 60)
}
