package fault

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// Hooks stand round the calls of a backend. A nil one does nothing.
type Hooks struct {
	Before Hook // its error is the answer, and the backend is not called
	After  Hook // of a call without error: its error is the answer, although the call took effect
}

// HooksAt returns hooks that ask what stands there at each call: a test may set it anew.
func HooksAt(before, after *Hook) *Hooks {
	at := func(place *Hook) Hook {
		return func(op string) error {
			if *place == nil {
				return nil
			}
			return (*place)(op)
		}
	}
	return &Hooks{Before: at(before), After: at(after)}
}

// Call makes a call that returns only an error.
func (h *Hooks) Call(op string, do func() error) error {
	if h.Before != nil {
		if err := h.Before(op); err != nil {
			return err
		}
	}
	if err := do(); err != nil || h.After == nil {
		return err
	}
	return h.After(op)
}

// CallFor makes a call that returns a value and an error.
func CallFor[T any](h *Hooks, op string, do func() (T, error)) (result T, err error) {
	err = h.Call(op, func() error {
		result, err = do()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// Wrapped is a store that stands round another one.
type Wrapped struct{ Store any }

// Behind implements [Wrapper].
func (w Wrapped) Behind() any { return w.Store }

// AfterCommit implements [mortise.HostTx]. Where the store behind is none, it is false, as it
// is outside of a transaction.
func (w Wrapped) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	host, ok := w.Store.(mortise.HostTx)
	return ok && host.AfterCommit(ctx, f)
}

// Wrapper is a store that stands round another one.
type Wrapper interface{ Behind() any }

// behind returns the store behind all wrappers.
func behind(store any) any {
	for {
		w, ok := store.(Wrapper)
		if !ok {
			return store
		}
		store = w.Behind()
	}
}

// common is what a wrapped queue and a wrapped table do alike.
type common struct {
	inner any
	hooks *Hooks
}

func (c common) Shares(store any) bool {
	s, ok := c.inner.(mortise.Sharer)
	return ok && s.Shares(behind(store))
}

func (c common) LostJobs(ctx context.Context) (time.Time, error) {
	if r, ok := c.inner.(mortise.LossReporter); ok {
		return r.LostJobs(ctx)
	}
	return time.Time{}, nil
}

// Queue wraps a queue. The ops are "Queue.Enqueue", "Queue.Cancel", "Queue.Consume" and
// "Queue.ConsumeOne".
func (h *Hooks) Queue(q mortise.Queue) mortise.Queue {
	w := &queue{common{q, h}, q}
	if step, ok := q.(mortise.StepQueue); ok {
		return &stepQueue{w, step}
	}
	return w
}

type queue struct {
	common
	queue mortise.Queue
}

func (q *queue) Enqueue(ctx context.Context, j mortise.Job) error {
	return q.hooks.Call("Queue.Enqueue", func() error { return q.queue.Enqueue(ctx, j) })
}

func (q *queue) Cancel(ctx context.Context, j mortise.Job) error {
	return q.hooks.Call("Queue.Cancel", func() error { return q.queue.Cancel(ctx, j) })
}

func (q *queue) Consume(ctx context.Context, opts mortise.ConsumeOptions, handle mortise.Handler) error {
	return q.hooks.Call("Queue.Consume", func() error { return q.queue.Consume(ctx, opts, handle) })
}

type stepQueue struct {
	*queue
	step mortise.StepQueue
}

func (q *stepQueue) ConsumeOne(ctx context.Context, kinds []string, handle mortise.Handler) (bool, error) {
	return CallFor(q.hooks, "Queue.ConsumeOne", func() (bool, error) { return q.step.ConsumeOne(ctx, kinds, handle) })
}

// Leases wraps a table of jobs. The ops are "Leases.Add", "Leases.Cancel", "Leases.Claim",
// "Leases.Extend", "Leases.Release" and "Leases.Remove". NotifyJobs, if it has that, goes
// straight to the table.
func (h *Hooks) Leases(l mortise.Leases) mortise.Leases {
	w := &faultyLeases{common{l, h}, l}
	if notifier, ok := l.(leases.JobNotifier); ok {
		return &struct {
			*faultyLeases
			leases.JobNotifier
		}{w, notifier}
	}
	return w
}

type faultyLeases struct {
	common
	leases mortise.Leases
}

func (l *faultyLeases) Add(ctx context.Context, j mortise.Job) error {
	return l.hooks.Call("Leases.Add", func() error { return l.leases.Add(ctx, j) })
}

func (l *faultyLeases) Cancel(ctx context.Context, j mortise.Job) error {
	return l.hooks.Call("Leases.Cancel", func() error { return l.leases.Cancel(ctx, j) })
}

func (l *faultyLeases) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	return CallFor(l.hooks, "Leases.Claim", func() ([]mortise.Lease, error) { return l.leases.Claim(ctx, c) })
}

func (l *faultyLeases) Extend(ctx context.Context, lease mortise.Lease, ttl time.Duration) error {
	return l.hooks.Call("Leases.Extend", func() error { return l.leases.Extend(ctx, lease, ttl) })
}

func (l *faultyLeases) Release(ctx context.Context, lease mortise.Lease, after time.Duration) error {
	return l.hooks.Call("Leases.Release", func() error { return l.leases.Release(ctx, lease, after) })
}

func (l *faultyLeases) Remove(ctx context.Context, lease mortise.Lease, dead bool) error {
	return l.hooks.Call("Leases.Remove", func() error { return l.leases.Remove(ctx, lease, dead) })
}
