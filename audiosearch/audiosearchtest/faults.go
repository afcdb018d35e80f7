package audiosearchtest

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/fault"
)

// Faults makes the backends that it wraps fail as its hooks say, so that you can see what
// your own program does then. The zero value injects nothing. Set the hooks before the
// first call; they must be safe for concurrent use if the wrappers are used concurrently.
//
// An op is the interface and the method, as in "Store.Search", "Leases.Claim" or
// "Scorer.Score". [Outage], [Nth] and [Sometimes] make hooks, and [On] bounds one to some
// ops. A hook may also panic, block or call other parts of the program: whatever can
// happen while a backend is being called.
//
// What is wrapped keeps its optional interfaces: [audiosearch.Pruner],
// [audiosearch.TxStore], [mortise.HostTx] and [leases.JobNotifier]. Leases share a wrapped
// Store if they share what it wraps. NotifyJobs, Shares, LostJobs and AfterCommit are not
// ops: a call goes straight to the backend.
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

func (f *Faults) call(op string, do func() error) error { return f.hooks().Call(op, do) }

func callFor[T any](f *Faults, op string, do func() (T, error)) (T, error) {
	return fault.CallFor(f.hooks(), op, do)
}

// Scorer wraps a scorer. The ops are "Scorer.Model" and "Scorer.Score".
func (f *Faults) Scorer(s sound.Scorer) sound.Scorer { return &faultyScorer{s, f} }

type faultyScorer struct {
	inner  sound.Scorer
	faults *Faults
}

func (w *faultyScorer) Model(ctx context.Context) (sound.Model, error) {
	return callFor(w.faults, "Scorer.Model", func() (sound.Model, error) { return w.inner.Model(ctx) })
}

func (w *faultyScorer) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	return callFor(w.faults, "Scorer.Score", func() ([]sound.Scores, error) { return w.inner.Score(ctx, clips) })
}

// Leases wraps a table of jobs. The ops are "Leases.Add", "Leases.Cancel",
// "Leases.Claim", "Leases.Extend", "Leases.Release" and "Leases.Remove".
func (f *Faults) Leases(l mortise.Leases) mortise.Leases { return f.hooks().Leases(l) }
