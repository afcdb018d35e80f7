package triggertest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

func open(t *testing.T) *memory.Trigger {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return db.Trigger()
}

// everyOp makes each call that a wrapper can make, and returns their ops with the errors.
func everyOp(ctx context.Context, f *triggertest.Faults, db *memory.Trigger) (ops []string, errs []error) {
	note := func(op string, err error) { ops, errs = append(ops, op), append(errs, err) }
	e := trigger.Event{ID: uuid.New(), Organization: "acme", Status: trigger.StatusReceived, Instructions: "a", SubmittedAt: time.Now()}
	next := func() trigger.Event {
		e.ID = uuid.New()
		return e
	}
	store, queue, leases := f.Store(db), f.Queue(db.Queue(nil)), f.Leases(db)
	kept := next()
	_, _, _ = db.Create(ctx, kept, time.Time{})
	k := trigger.APIKey{ID: uuid.New(), Organization: "acme", Digest: [32]byte{1}}
	_ = db.CreateKey(ctx, k)

	_, _, err := store.Create(ctx, next(), time.Time{})
	note("Store.Create", err)
	_, err = store.Get(ctx, "acme", kept.ID)
	note("Store.Get", err)
	note("Store.Update", store.Update(ctx, "acme", kept.ID, func(*trigger.Event) error { return nil }))
	_, err = store.List(ctx, "acme", trigger.Query{Limit: 1})
	note("Store.List", err)
	_, err = store.Unqueued(ctx, time.Now(), 1)
	note("Store.Unqueued", err)
	_, err = store.(trigger.Pruner).Prune(ctx, time.Now(), 1)
	note("Store.Prune", err)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	handle := func(context.Context, trigger.Delivery) trigger.Verdict { return trigger.Verdict{} }
	note("Queue.Enqueue", queue.Enqueue(ctx, kept.Job()))
	note("Queue.Consume", queue.Consume(ended, 1, handle))
	_, err = queue.(trigger.StepQueue).ConsumeOne(ctx, handle)
	note("Queue.ConsumeOne", err)
	e = next()
	_, _, err = queue.(trigger.TxQueue).CreateAndEnqueue(ctx, e, time.Time{}, e.Job())
	note("Queue.CreateAndEnqueue", err)

	e = next()
	note("Leases.Add", leases.Add(ctx, e.Job(), time.Now()))
	_, err = leases.Claim(ctx, uuid.New(), time.Now(), time.Now(), 0)
	note("Leases.Claim", err)
	claim := func() trigger.Lease {
		_ = db.Add(ctx, kept.Job(), time.Time{})
		held, _ := db.Claim(ctx, uuid.New(), time.Now().Add(time.Hour), time.Now().Add(time.Hour), 1)
		return held[0]
	}
	note("Leases.Extend", leases.Extend(ctx, claim(), time.Now()))
	note("Leases.Release", leases.Release(ctx, claim(), time.Now()))
	note("Leases.Remove", leases.Remove(ctx, claim(), false))
	e = next()
	_, _, err = leases.(trigger.TxLeases).CreateAndAdd(ctx, e, time.Time{}, e.Job(), e.SubmittedAt)
	note("Leases.CreateAndAdd", err)

	directory := f.Directory(db)
	_ = db.UpdateOrganization(ctx, "acme", func(*trigger.Organization) error { return nil })
	_, err = directory.Organization(ctx, "acme")
	note("Directory.Organization", err)
	note("Directory.UpdateOrganization", directory.(trigger.Organizations).UpdateOrganization(ctx, "acme", func(*trigger.Organization) error { return nil }))

	keys := f.Keys(db)
	note("Keys.CreateKey", keys.CreateKey(ctx, trigger.APIKey{ID: uuid.New(), Organization: "acme", Digest: [32]byte(append(e.ID[:], e.ID[:]...))}))
	_, err = keys.KeyByDigest(ctx, k.Digest)
	note("Keys.KeyByDigest", err)
	note("Keys.UpdateKey", keys.UpdateKey(ctx, "acme", k.ID, func(*trigger.APIKey) error { return nil }))
	_, err = keys.ListKeys(ctx, "acme")
	note("Keys.ListKeys", err)
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
	_, _, err := (&triggertest.Faults{Before: outage}).Store(db).Create(t.Context(), e, time.Time{})
	require.ErrorIs(t, err, triggertest.ErrInjected)
	_, err = db.Get(t.Context(), "acme", e.ID)
	require.ErrorIs(t, err, trigger.ErrNotFound, "without effect")
	stored, created, err := (&triggertest.Faults{After: outage}).Store(db).Create(t.Context(), e, time.Time{})
	require.ErrorIs(t, err, triggertest.ErrInjected)
	assert.False(t, created)
	assert.Zero(t, stored, "an error brings nothing else")
	_, err = db.Get(t.Context(), "acme", e.ID)
	require.NoError(t, err, "it took effect")

	_, err = (&triggertest.Faults{After: outage}).Store(db).Get(t.Context(), "acme", uuid.New())
	require.ErrorIs(t, err, trigger.ErrNotFound, "the backend's own error comes first")
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
	for name, test := range map[string]struct {
		leases       trigger.Leases
		tx, notifier bool
	}{
		"both":     {db, true, true},
		"tx":       {struct{ trigger.TxLeases }{db}, true, false},
		"notifier": {struct{ trigger.JobNotifier }{db}, false, true},
		"neither":  {struct{ trigger.Leases }{db}, false, false},
	} {
		leases := f.Leases(test.leases)
		_, isTx := leases.(trigger.TxLeases)
		notifier, isNotifier := leases.(trigger.JobNotifier)
		assert.Equal(t, test.tx, isTx, name)
		assert.Equal(t, test.notifier, isNotifier, name)
		if isNotifier {
			woken := 0
			stop := notifier.NotifyJobs(func() { woken++ })
			require.NoError(t, db.Add(t.Context(), trigger.Job{EventID: uuid.New()}, time.Now()))
			stop()
			assert.Equal(t, 1, woken, name)
		}
	}

	full := db.Queue(nil)
	for name, test := range map[string]struct {
		queue    trigger.Queue
		tx, step bool
	}{
		"both":    {full, true, true},
		"tx":      {struct{ trigger.TxQueue }{full.(trigger.TxQueue)}, true, false},
		"step":    {struct{ trigger.StepQueue }{full.(trigger.StepQueue)}, false, true},
		"neither": {struct{ trigger.Queue }{full}, false, false},
	} {
		q := f.Queue(test.queue)
		tx, isTx := q.(trigger.TxQueue)
		_, isStep := q.(trigger.StepQueue)
		assert.Equal(t, test.tx, isTx, name)
		assert.Equal(t, test.step, isStep, name)
		if isTx {
			assert.True(t, tx.Shares(f.Store(f.Store(db))), "%s: wrapped, even twice, is the same store", name)
			assert.False(t, tx.Shares(f.Store(open(t))), name)
		}
	}
	assert.True(t, f.Leases(db).(trigger.TxLeases).Shares(f.Store(db)))
}

func TestHooks(t *testing.T) {
	nth := triggertest.On(triggertest.Nth(2), "Store.Get", "Queue")
	var failed []int
	for i, op := range []string{"Store.Get", "Store.List", "Queue.Enqueue", "Store.Get", "StoreX.Get"} {
		if nth(op) != nil {
			failed = append(failed, i)
		}
	}
	assert.Equal(t, []int{2}, failed, "Nth counts what On lets through")

	draw := func(seed uint64) (failures []bool) {
		hook := triggertest.Sometimes(0.3, seed)
		for range 1000 {
			failures = append(failures, hook("Store.Get") != nil)
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
