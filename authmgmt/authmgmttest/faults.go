package authmgmttest

import (
	"reflect"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest/internal/delegate"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/internal/fault"
)

// Faults makes the backends that it wraps fail as its hooks say, so that you can see what
// your own program does then. The zero value injects nothing. Set the hooks before the
// first call; they must be safe for concurrent use if the wrappers are used concurrently.
//
// An op is the interface and the method, as in "Clients.UpdateClient",
// "Tokens.TokenByDigest", "Audit.ListAuditEvents", "Pruner.PruneAudit",
// "KeyChecker.UpdateKeyChecks" or "Directory.AccessControl". [Outage], [Nth] and
// [Sometimes] make hooks, and [On] bounds one to some ops. A hook may also panic, block
// or call other parts of the program: whatever can happen while a backend is being
// called.
//
// What is wrapped keeps its optional interfaces: [authmgmt.Pruner],
// [authmgmt.KeyChecker], [authmgmt.Organizations], [mortise.HostTx], and a directory's
// [authmgmt.Deletion].
type Faults struct {
	// Before runs before the backend is called. If it returns an error, that is the
	// answer, and the backend is not called.
	Before func(op string) error

	// After runs when the backend has done what was asked without error. If it returns an
	// error, that is the answer: the call took effect and the caller does not know it, as
	// when a connection breaks before the reply.
	After func(op string) error
}

// between returns a backend that has the methods of another one. op names the op of each.
func (f *Faults) between(inner any, op func(method string) string) *delegate.Backend {
	d := new(delegate.Backend)
	mutate.Stand(&d.On, inner, func(method string, do func() error) error {
		return fault.HooksAt(&f.Before, &f.After).Call(op(method), do)
	})
	return d
}

// Store wraps a store. The ops are the methods of "Clients", "Tokens",
// "Invitations", "Audit", "Counter", "Deletion", "Pruner" and "KeyChecker".
func (f *Faults) Store(s authmgmt.Store) authmgmt.Store {
	d := f.between(s, fault.Ops(reflect.TypeFor[authmgmt.Store](),
		reflect.TypeFor[authmgmt.Clients](), reflect.TypeFor[authmgmt.Tokens](), reflect.TypeFor[authmgmt.Invitations](),
		reflect.TypeFor[authmgmt.Audit](), reflect.TypeFor[authmgmt.Counter](), reflect.TypeFor[authmgmt.Deletion](),
		reflect.TypeFor[authmgmt.Pruner](), reflect.TypeFor[authmgmt.KeyChecker]()))
	behind := fault.Wrapped{Store: s}
	_, pruner := s.(authmgmt.Pruner)
	_, checker := s.(authmgmt.KeyChecker)
	switch {
	case pruner && checker:
		return struct {
			fault.Wrapped
			authmgmt.Store
			authmgmt.Pruner
			authmgmt.KeyChecker
		}{behind, d, d, d}
	case pruner:
		return struct {
			fault.Wrapped
			authmgmt.Store
			authmgmt.Pruner
		}{behind, d, d}
	case checker:
		return struct {
			fault.Wrapped
			authmgmt.Store
			authmgmt.KeyChecker
		}{behind, d, d}
	}
	return struct {
		fault.Wrapped
		authmgmt.Store
	}{behind, d}
}

// Directory wraps a directory. The ops are the methods of "Directory", which those of
// [authmgmt.Organizations] and [authmgmt.Deletion] count among here:
// "Directory.AccessControl", "Directory.UpdateOrganization", "Directory.MarkDeleted".
func (f *Faults) Directory(directory authmgmt.Directory) authmgmt.Directory {
	d := f.between(directory, func(method string) string { return string(DirectoryPart) + "." + method })
	_, organizations := directory.(authmgmt.Organizations)
	_, deletes := directory.(authmgmt.Deletion)
	switch {
	case organizations && deletes:
		return struct {
			authmgmt.Organizations
			authmgmt.Deletion
		}{d, d}
	case organizations:
		return struct{ authmgmt.Organizations }{d}
	case deletes:
		return struct {
			authmgmt.Directory
			authmgmt.Deletion
		}{d, d}
	}
	return struct{ authmgmt.Directory }{d}
}
