package triggertest

import (
	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/internal/fault"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest/internal/delegate"
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
// [trigger.Organizations], [mortise.HostTx], the [trigger.Deletion] of a directory, and those
// of queues and leases; a [mortise.Transactor] if it is a TxStore and a Pruner, too. NotifyJobs,
// Shares, LostJobs and AfterCommit are not ops: a call goes straight to the backend.
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

// between returns a backend that has the methods of another one, each an op of the part.
func (f *Faults) between(part string, inner any) *delegate.Backend {
	d := new(delegate.Backend)
	mutate.Stand(&d.On, inner, func(method string, do func() error) error {
		return f.hooks().Call(part+"."+method, do)
	})
	return d
}

// Store wraps a store. The ops are "Store.CreateEvent", "Store.CreateEvents", "Store.Event",
// "Store.UpdateEvent", "Store.ListEvents", "Store.Progress", "Store.Overdue", "Store.AllEvents",
// "Store.Counts", "Store.Backlog", "Store.Prune", "Store.CreateEventAndAdd",
// "Store.UpdateEventAndJobs", "Store.Transact", "Store.MarkDeleted" and "Store.RemoveDeleted".
func (f *Faults) Store(s trigger.Store) trigger.Store {
	d, behind := f.between("Store", s), fault.Wrapped{Store: s}
	_, isPruner := s.(trigger.Pruner)
	_, isTx := s.(trigger.TxStore)
	_, isTransactor := s.(mortise.Transactor)
	switch {
	case isPruner && isTx && isTransactor:
		return &struct {
			fault.Wrapped
			trigger.Store
			trigger.Pruner
			trigger.TxStore
			mortise.Transactor
		}{behind, d, d, d, d}
	case isPruner && isTx:
		return &struct {
			fault.Wrapped
			trigger.Store
			trigger.Pruner
			trigger.TxStore
		}{behind, d, d, d}
	case isTx:
		return &struct {
			fault.Wrapped
			trigger.Store
			trigger.TxStore
		}{behind, d, d}
	case isPruner:
		return &struct {
			fault.Wrapped
			trigger.Store
			trigger.Pruner
		}{behind, d, d}
	}
	return &struct {
		fault.Wrapped
		trigger.Store
	}{behind, d}
}

// Directory wraps a directory. The ops are "Directory.Setup",
// "Directory.UpdateOrganization", "Directory.MarkDeleted" and "Directory.RemoveDeleted".
func (f *Faults) Directory(directory trigger.Directory) trigger.Directory {
	d := f.between("Directory", directory)
	switch directory.(type) {
	case trigger.Organizations:
		return struct{ trigger.Organizations }{d}
	case trigger.Deletion:
		return struct {
			trigger.Directory
			trigger.Deletion
		}{d, d}
	}
	return struct{ trigger.Directory }{d}
}

// Keys wraps a store of API keys. The ops are "APIKeys.CreateKey", "APIKeys.KeyByDigest",
// "APIKeys.UpdateKey", "APIKeys.ListKeys", "APIKeys.MarkDeleted" and
// "APIKeys.RemoveDeleted".
func (f *Faults) Keys(k trigger.APIKeys) trigger.APIKeys {
	return struct{ trigger.APIKeys }{f.between("APIKeys", k)}
}
