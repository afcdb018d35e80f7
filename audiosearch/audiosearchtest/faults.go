package audiosearchtest

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Faults makes what it wraps fail as its hooks say, so that you can see what your own
// program does then. The zero value injects nothing. Set the hooks before the first call;
// they must be safe for concurrent use if the wrappers are used concurrently.
//
// An op is the part and the method, as in "Store.Search", "Leases.Claim" or "Scorer.Score". [Outage], [Nth] and [Sometimes] make hooks, and
// [On] bounds one to some ops. A hook may also panic, block or call other parts of the program: whatever can happen while a part is called.
//
// What is wrapped keeps its optional interfaces: [audiosearch.Compactor],
// [audiosearch.RunPruner], [audiosearch.TxStore] and [mortise.JobNotifier]. Leases share a
// wrapped Store if they share what it wraps. NotifyJobs and Shares return no error, so they
// are no ops.
type Faults struct {
	// Before runs before the part is called. If it returns an error, that is the answer, and the part is not called.
	Before func(op string) error

	// After runs when the part has done what was asked without error. If it returns an error, that is the answer: the call took
	// effect and the caller does not know it, as when a connection breaks before the reply.
	After func(op string) error
}

// call makes a call that returns only an error.
func (f *Faults) call(op string, do func() error) error {
	if f.Before != nil {
		if err := f.Before(op); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	if f.After != nil {
		return f.After(op)
	}
	return nil
}

// callFor makes a call that returns a value and an error.
func callFor[T any](f *Faults, op string, do func() (T, error)) (result T, err error) {
	err = f.call(op, func() error {
		result, err = do()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// Scorer wraps a scorer. The ops are "Scorer.Model" and "Scorer.Score".
func (f *Faults) Scorer(s audiosearch.Scorer) audiosearch.Scorer { return &faultyScorer{s, f} }

type faultyScorer struct {
	inner  audiosearch.Scorer
	faults *Faults
}

func (w *faultyScorer) Model(ctx context.Context) (audiosearch.Model, error) {
	return callFor(w.faults, "Scorer.Model", func() (audiosearch.Model, error) { return w.inner.Model(ctx) })
}

func (w *faultyScorer) Score(ctx context.Context, clips [][]float32) ([]audiosearch.Scores, error) {
	return callFor(w.faults, "Scorer.Score", func() ([]audiosearch.Scores, error) { return w.inner.Score(ctx, clips) })
}

// Leases wraps a table of leases. The ops are "Leases." and the name of the method, as in
// "Leases.Add".
func (f *Faults) Leases(l mortise.Leases) mortise.Leases {
	w := &faultyLeases{l, f}
	if n, ok := l.(mortise.JobNotifier); ok {
		return &faultyNotifier{w, n}
	}
	return w
}

type faultyLeases struct {
	inner  mortise.Leases
	faults *Faults
}

func (w *faultyLeases) Add(ctx context.Context, j mortise.Job) error {
	return w.faults.call("Leases.Add", func() error { return w.inner.Add(ctx, j) })
}

func (w *faultyLeases) Cancel(ctx context.Context, j mortise.Job) error {
	return w.faults.call("Leases.Cancel", func() error { return w.inner.Cancel(ctx, j) })
}

func (w *faultyLeases) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	return callFor(w.faults, "Leases.Claim", func() ([]mortise.Lease, error) {
		return w.inner.Claim(ctx, c)
	})
}

func (w *faultyLeases) Extend(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
	return w.faults.call("Leases.Extend", func() error { return w.inner.Extend(ctx, l, ttl) })
}

func (w *faultyLeases) Release(ctx context.Context, l mortise.Lease, after time.Duration) error {
	return w.faults.call("Leases.Release", func() error { return w.inner.Release(ctx, l, after) })
}

func (w *faultyLeases) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	return w.faults.call("Leases.Remove", func() error { return w.inner.Remove(ctx, l, dead) })
}

// Shares implements [mortise.Sharer], for Leases that are one.
func (w *faultyLeases) Shares(store any) bool {
	sharer, ok := w.inner.(mortise.Sharer)
	if wrapped, is := store.(interface{ unwrap() audiosearch.Store }); is {
		store = wrapped.unwrap()
	}
	return ok && sharer.Shares(store)
}

// LostJobs implements [mortise.LossReporter], for Leases that are one.
func (w *faultyLeases) LostJobs(ctx context.Context) (time.Time, error) {
	reporter, ok := w.inner.(mortise.LossReporter)
	if !ok {
		return time.Time{}, nil
	}
	return callFor(w.faults, "Leases.LostJobs", func() (time.Time, error) {
		return reporter.LostJobs(ctx)
	})
}

type faultyNotifier struct {
	*faultyLeases
	notifier mortise.JobNotifier
}

func (n *faultyNotifier) NotifyJobs(wake func(kind string)) (stop func()) {
	return n.notifier.NotifyJobs(wake)
}
