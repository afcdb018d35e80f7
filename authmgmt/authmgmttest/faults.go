package authmgmttest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
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
// [authmgmt.KeyChecker], [authmgmt.Organizations], and a directory's [authmgmt.Deletion].
type Faults struct {
	// Before runs before the backend is called. If it returns an error, that is the
	// answer, and the backend is not called.
	Before func(op string) error

	// After runs when the backend has done what was asked without error. If it returns an
	// error, that is the answer: the call took effect and the caller does not know it, as
	// when a connection breaks before the reply.
	After func(op string) error
}

func (f *Faults) call(op string, do func() error) error {
	return fault.HooksAt(&f.Before, &f.After).Call(op, do)
}

func callFor[T any](f *Faults, op string, do func() (T, error)) (T, error) {
	return fault.CallFor(fault.HooksAt(&f.Before, &f.After), op, do)
}

// Store wraps a store. The ops are the methods of "Clients", "Tokens", "Invitations",
// "Audit", "Counter", "Deletion", "Pruner" and "KeyChecker".
func (f *Faults) Store(s authmgmt.Store) authmgmt.Store {
	w := &faultyStore{s, f, faultyDeletion{s, f, DeletionPart}}
	p, pruner := s.(authmgmt.Pruner)
	k, checker := s.(authmgmt.KeyChecker)
	switch {
	case pruner && checker:
		return &struct {
			*faultyStore
			faultyPruner
			faultyKeyChecker
		}{w, faultyPruner{p, f}, faultyKeyChecker{k, f}}
	case pruner:
		return &struct {
			*faultyStore
			faultyPruner
		}{w, faultyPruner{p, f}}
	case checker:
		return &struct {
			*faultyStore
			faultyKeyChecker
		}{w, faultyKeyChecker{k, f}}
	}
	return w
}

type faultyStore struct {
	inner  authmgmt.Store
	faults *Faults
	faultyDeletion
}

func (s *faultyStore) CreateClient(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
	return s.faults.call("Clients.CreateClient", func() error { return s.inner.CreateClient(ctx, c, e) })
}

func (s *faultyStore) Client(ctx context.Context, org, id string) (authmgmt.Client, error) {
	return callFor(s.faults, "Clients.Client", func() (authmgmt.Client, error) { return s.inner.Client(ctx, org, id) })
}

func (s *faultyStore) ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
	return callFor(s.faults, "Clients.ClientBySecret", func() (authmgmt.Client, error) { return s.inner.ClientBySecret(ctx, digest) })
}

func (s *faultyStore) UpdateClient(ctx context.Context, org, id string, update func(*authmgmt.Client) (authmgmt.AuditEvent, error)) error {
	return s.faults.call("Clients.UpdateClient", func() error { return s.inner.UpdateClient(ctx, org, id, update) })
}

func (s *faultyStore) ListClients(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
	return callFor(s.faults, "Clients.ListClients", func() (authmgmt.Page[authmgmt.Client], error) { return s.inner.ListClients(ctx, org, p) })
}

func (s *faultyStore) CreateToken(ctx context.Context, t authmgmt.Token, e authmgmt.AuditEvent) error {
	return s.faults.call("Tokens.CreateToken", func() error { return s.inner.CreateToken(ctx, t, e) })
}

func (s *faultyStore) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	return callFor(s.faults, "Tokens.TokenByDigest", func() (authmgmt.Token, error) { return s.inner.TokenByDigest(ctx, digest) })
}

func (s *faultyStore) UpdateToken(ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error {
	return s.faults.call("Tokens.UpdateToken", func() error { return s.inner.UpdateToken(ctx, org, id, update) })
}

func (s *faultyStore) ListTokens(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
	return callFor(s.faults, "Tokens.ListTokens", func() (authmgmt.Page[authmgmt.Token], error) { return s.inner.ListTokens(ctx, org, p) })
}

func (s *faultyStore) CreateInvitation(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
	return s.faults.call("Invitations.CreateInvitation", func() error { return s.inner.CreateInvitation(ctx, i, exclusive, e) })
}

func (s *faultyStore) Invitation(ctx context.Context, org, id string) (authmgmt.Invitation, error) {
	return callFor(s.faults, "Invitations.Invitation", func() (authmgmt.Invitation, error) { return s.inner.Invitation(ctx, org, id) })
}

func (s *faultyStore) UpdateInvitation(ctx context.Context, org, id string, update func(*authmgmt.Invitation) (authmgmt.AuditEvent, error)) error {
	return s.faults.call("Invitations.UpdateInvitation", func() error { return s.inner.UpdateInvitation(ctx, org, id, update) })
}

func (s *faultyStore) ListInvitations(ctx context.Context, org string, pendingAt time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
	return callFor(s.faults, "Invitations.ListInvitations", func() (authmgmt.Page[authmgmt.Invitation], error) {
		return s.inner.ListInvitations(ctx, org, pendingAt, p)
	})
}

func (s *faultyStore) DueGrants(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
	return callFor(s.faults, "Invitations.DueGrants", func() ([]authmgmt.Invitation, error) { return s.inner.DueGrants(ctx, now, limit) })
}

func (s *faultyStore) ListAuditEvents(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
	return callFor(s.faults, "Audit.ListAuditEvents", func() (mortise.Page[authmgmt.AuditEvent], error) { return s.inner.ListAuditEvents(ctx, org, q) })
}

func (s *faultyStore) Stats(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
	return callFor(s.faults, "Counter.Stats", func() (authmgmt.Stats, error) { return s.inner.Stats(ctx, org, now, most) })
}

func (s *faultyStore) StatsAll(ctx context.Context, most int) (authmgmt.AllStats, error) {
	return callFor(s.faults, "Counter.StatsAll", func() (authmgmt.AllStats, error) { return s.inner.StatsAll(ctx, most) })
}

// faultyDeletion wraps the part that a store has, and a directory can have.
type faultyDeletion struct {
	deletion authmgmt.Deletion
	faults   *Faults
	part     Part
}

func (d faultyDeletion) MarkDeleted(
	ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent,
) (time.Time, error) {
	return callFor(d.faults, string(d.part)+".MarkDeleted", func() (time.Time, error) {
		return d.deletion.MarkDeleted(ctx, org, at, e)
	})
}

func (d faultyDeletion) DeletedAt(ctx context.Context, org string) (time.Time, error) {
	return callFor(d.faults, string(d.part)+".DeletedAt", func() (time.Time, error) { return d.deletion.DeletedAt(ctx, org) })
}

func (d faultyDeletion) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return callFor(d.faults, string(d.part)+".RemoveDeleted", func() (bool, error) {
		return d.deletion.RemoveDeleted(ctx, org, limit)
	})
}

type faultyPruner struct {
	pruner authmgmt.Pruner
	faults *Faults
}

func (s faultyPruner) PruneAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	return callFor(s.faults, "Pruner.PruneAudit", func() (int, error) { return s.pruner.PruneAudit(ctx, before, limit) })
}

func (s faultyPruner) PruneTokens(ctx context.Context, before time.Time, limit int) (int, error) {
	return callFor(s.faults, "Pruner.PruneTokens", func() (int, error) { return s.pruner.PruneTokens(ctx, before, limit) })
}

func (s faultyPruner) PruneInvitations(ctx context.Context, before time.Time, limit int) (int, error) {
	return callFor(s.faults, "Pruner.PruneInvitations", func() (int, error) { return s.pruner.PruneInvitations(ctx, before, limit) })
}

type faultyKeyChecker struct {
	checker authmgmt.KeyChecker
	faults  *Faults
}

func (s faultyKeyChecker) UpdateKeyChecks(ctx context.Context, update func([][32]byte) ([][32]byte, error)) error {
	return s.faults.call("KeyChecker.UpdateKeyChecks", func() error { return s.checker.UpdateKeyChecks(ctx, update) })
}

// Directory wraps a directory. The ops are the methods of "Directory", which those of
// [authmgmt.Organizations] and [authmgmt.Deletion] count among here:
// "Directory.AccessControl", "Directory.UpdateOrganization", "Directory.MarkDeleted".
func (f *Faults) Directory(d authmgmt.Directory) authmgmt.Directory {
	w := &faultyDirectory{d, f}
	o, organizations := d.(authmgmt.Organizations)
	deletion, deletes := d.(authmgmt.Deletion)
	switch {
	case organizations && deletes:
		return &struct {
			*faultyOrganizations
			faultyDeletion
		}{&faultyOrganizations{w, o}, faultyDeletion{deletion, f, DirectoryPart}}
	case organizations:
		return &faultyOrganizations{w, o}
	case deletes:
		return &struct {
			*faultyDirectory
			faultyDeletion
		}{w, faultyDeletion{deletion, f, DirectoryPart}}
	}
	return w
}

type faultyDirectory struct {
	inner  authmgmt.Directory
	faults *Faults
}

func (d *faultyDirectory) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	return callFor(d.faults, "Directory.AccessControl", func() (authmgmt.Organization, error) { return d.inner.AccessControl(ctx, org) })
}

type faultyOrganizations struct {
	*faultyDirectory
	orgs authmgmt.Organizations
}

func (o *faultyOrganizations) UpdateOrganization(ctx context.Context, org string,
	update func(*authmgmt.Organization) (authmgmt.AuditEvent, error)) error {
	return o.faults.call("Directory.UpdateOrganization", func() error { return o.orgs.UpdateOrganization(ctx, org, update) })
}
