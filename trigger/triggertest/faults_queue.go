package triggertest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
)

// Queue wraps a queue. The ops are "Queue.Enqueue", "Queue.CreateAndEnqueue", "Queue.Consume" and "Queue.ConsumeOne". A failing
// Consume ends the Run of a worker; to let a queue fail under a worker that goes on, wrap the Leases below it.
func (f *Faults) Queue(q trigger.Queue) trigger.Queue {
	w := &faultyQueue{q, f}
	tx, isTx := q.(trigger.TxQueue)
	step, isStep := q.(trigger.StepQueue)
	switch {
	case isTx && isStep:
		return &struct {
			*faultyQueue
			faultyTx
			faultySteps
		}{w, faultyTx{tx, f}, faultySteps{step, f}}
	case isTx:
		return &struct {
			*faultyQueue
			faultyTx
		}{w, faultyTx{tx, f}}
	case isStep:
		return &struct {
			*faultyQueue
			faultySteps
		}{w, faultySteps{step, f}}
	}
	return w
}

type faultyQueue struct {
	inner  trigger.Queue
	faults *Faults
}

func (q *faultyQueue) Enqueue(ctx context.Context, j trigger.Job) error {
	return q.faults.call("Queue.Enqueue", func() error { return q.inner.Enqueue(ctx, j) })
}

func (q *faultyQueue) Consume(ctx context.Context, workers int, handle func(context.Context, trigger.Delivery) trigger.Verdict) error {
	return q.faults.call("Queue.Consume", func() error { return q.inner.Consume(ctx, workers, handle) })
}

// faultyTx and faultySteps hold what a wrapped queue has beyond [trigger.Queue]. Their fields are no embedded interfaces, so that
// Enqueue and Consume stay those of faultyQueue.
type faultyTx struct {
	tx     trigger.TxQueue
	faults *Faults
}

func (q faultyTx) Shares(s trigger.Store) bool { return q.tx.Shares(unwrap(s)) }

func (q faultyTx) CreateAndEnqueue(ctx context.Context, e trigger.Event, keySince time.Time, j trigger.Job) (trigger.Event, bool, error) {
	return callCreate(q.faults, "Queue.CreateAndEnqueue", func() (trigger.Event, bool, error) {
		return q.tx.CreateAndEnqueue(ctx, e, keySince, j)
	})
}

type faultySteps struct {
	step   trigger.StepQueue
	faults *Faults
}

func (q faultySteps) ConsumeOne(ctx context.Context, handle func(context.Context, trigger.Delivery) trigger.Verdict) (bool, error) {
	return callFor(q.faults, "Queue.ConsumeOne", func() (bool, error) { return q.step.ConsumeOne(ctx, handle) })
}

// unwrap returns the store behind all wrappers of this package.
func unwrap(s trigger.Store) trigger.Store {
	for {
		w, ok := s.(interface{ unwrap() trigger.Store })
		if !ok {
			return s
		}
		s = w.unwrap()
	}
}

// Leases wraps a table of leases. The ops are "Leases.Add", "Leases.Claim", "Leases.Extend", "Leases.Release", "Leases.Remove"
// and "Leases.CreateAndAdd".
func (f *Faults) Leases(l trigger.Leases) trigger.Leases {
	w := &faultyLeases{l, f}
	tx, isTx := l.(trigger.TxLeases)
	notifier, isNotifier := l.(trigger.JobNotifier)
	switch {
	case isTx && isNotifier:
		return &struct {
			*faultyLeases
			faultyTxLeases
			wrappedNotifier
		}{w, faultyTxLeases{tx, f}, wrappedNotifier{notifier}}
	case isTx:
		return &struct {
			*faultyLeases
			faultyTxLeases
		}{w, faultyTxLeases{tx, f}}
	case isNotifier:
		return &struct {
			*faultyLeases
			wrappedNotifier
		}{w, wrappedNotifier{notifier}}
	}
	return w
}

type faultyLeases struct {
	inner  trigger.Leases
	faults *Faults
}

func (l *faultyLeases) Add(ctx context.Context, j trigger.Job, at time.Time) error {
	return l.faults.call("Leases.Add", func() error { return l.inner.Add(ctx, j, at) })
}

func (l *faultyLeases) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]trigger.Lease, error) {
	return callFor(l.faults, "Leases.Claim", func() ([]trigger.Lease, error) { return l.inner.Claim(ctx, token, now, until, limit, except...) })
}

func (l *faultyLeases) Extend(ctx context.Context, lease trigger.Lease, until time.Time) error {
	return l.faults.call("Leases.Extend", func() error { return l.inner.Extend(ctx, lease, until) })
}

func (l *faultyLeases) Release(ctx context.Context, lease trigger.Lease, at time.Time) error {
	return l.faults.call("Leases.Release", func() error { return l.inner.Release(ctx, lease, at) })
}

func (l *faultyLeases) Remove(ctx context.Context, lease trigger.Lease, dead bool) error {
	return l.faults.call("Leases.Remove", func() error { return l.inner.Remove(ctx, lease, dead) })
}

// faultyTxLeases and wrappedNotifier hold what a wrapped table has beyond [trigger.Leases], as faultyTx and faultySteps do.
type faultyTxLeases struct {
	tx     trigger.TxLeases
	faults *Faults
}

func (l faultyTxLeases) Shares(s trigger.Store) bool { return l.tx.Shares(unwrap(s)) }

func (l faultyTxLeases) CreateAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j trigger.Job, at time.Time) (trigger.Event, bool, error) {
	return callCreate(l.faults, "Leases.CreateAndAdd", func() (trigger.Event, bool, error) {
		return l.tx.CreateAndAdd(ctx, e, keySince, j, at)
	})
}

type wrappedNotifier struct{ notifier trigger.JobNotifier }

func (n wrappedNotifier) NotifyJobs(wake func()) (stop func()) { return n.notifier.NotifyJobs(wake) }
