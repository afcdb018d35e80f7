// Package delegate has a backend of functions, for what stands between a backend and those
// who call it: the faults of hosts' tests, and the mistakes of the mutants that prove the
// suite.
package delegate

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// Methods are what the methods of a [Backend] call.
type Methods struct {
	CreateClient       func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error
	Client             func(ctx context.Context, org, id string) (authmgmt.Client, error)
	ClientBySecret     func(ctx context.Context, digest [32]byte) (authmgmt.Client, error)
	UpdateClient       func(ctx context.Context, org, id string, update func(*authmgmt.Client) (authmgmt.AuditEvent, error)) error
	ListClients        func(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Client], error)
	CreateToken        func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error
	TokenByDigest      func(ctx context.Context, digest [32]byte) (authmgmt.Token, error)
	UpdateToken        func(ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error
	ListTokens         func(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Token], error)
	CreateInvitation   func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error
	Invitation         func(ctx context.Context, org, id string) (authmgmt.Invitation, error)
	UpdateInvitation   func(ctx context.Context, org, id string, update func(*authmgmt.Invitation) (authmgmt.AuditEvent, error)) error
	ListInvitations    func(ctx context.Context, org string, at time.Time, inviter string, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Invitation], error)
	DueGrants          func(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error)
	ListAuditEvents    func(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error)
	CountClients       func(ctx context.Context, org string, most int) (mortise.Count, error)
	CountTokens        func(ctx context.Context, org string, most int) (mortise.Count, error)
	CountInvitations   func(ctx context.Context, org string, pendingAt time.Time, inviter string, most int) (mortise.Count, error)
	MarkDeleted        func(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error)
	DeletedAt          func(ctx context.Context, org string) (time.Time, error)
	RemoveDeleted      func(ctx context.Context, org string, limit int) (int, bool, error)
	PruneAudit         func(ctx context.Context, before time.Time, limit int) (int, bool, error)
	PruneTokens        func(ctx context.Context, before time.Time, limit int) (int, bool, error)
	PruneInvitations   func(ctx context.Context, before time.Time, limit int) (int, bool, error)
	UpdateKeyChecks    func(ctx context.Context, update func([][32]byte) ([][32]byte, error)) error
	AccessControl      func(ctx context.Context, org string) (authmgmt.Organization, error)
	UpdateOrganization func(ctx context.Context, org string, update func(*authmgmt.Organization) (authmgmt.AuditEvent, error)) error
	Revocations        func(ctx context.Context) (mortise.Revocations, error)
	RaiseRevocations   func(ctx context.Context, n int64) error
	RemoveTokens       func(ctx context.Context, limit int) (int, bool, error)
}

// Backend has all methods of the backends of authmgmt. Each calls the function with its name.
type Backend struct{ On Methods }

func (w *Backend) CreateClient(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
	return w.On.CreateClient(ctx, c, e)
}

func (w *Backend) Client(ctx context.Context, org, id string) (authmgmt.Client, error) {
	return w.On.Client(ctx, org, id)
}

func (w *Backend) ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
	return w.On.ClientBySecret(ctx, digest)
}

func (w *Backend) UpdateClient(
	ctx context.Context, org, id string, update func(*authmgmt.Client) (authmgmt.AuditEvent, error),
) error {
	return w.On.UpdateClient(ctx, org, id, update)
}

func (w *Backend) ListClients(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (mortise.Page[authmgmt.Client], error) {
	return w.On.ListClients(ctx, org, after, limit)
}

func (w *Backend) CreateToken(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
	return w.On.CreateToken(ctx, k, e)
}

func (w *Backend) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	return w.On.TokenByDigest(ctx, digest)
}

func (w *Backend) UpdateToken(
	ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error),
) error {
	return w.On.UpdateToken(ctx, org, id, update)
}

func (w *Backend) ListTokens(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (mortise.Page[authmgmt.Token], error) {
	return w.On.ListTokens(ctx, org, after, limit)
}

func (w *Backend) CreateInvitation(
	ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent,
) error {
	return w.On.CreateInvitation(ctx, i, exclusive, e)
}

func (w *Backend) Invitation(ctx context.Context, org, id string) (authmgmt.Invitation, error) {
	return w.On.Invitation(ctx, org, id)
}

func (w *Backend) UpdateInvitation(
	ctx context.Context, org, id string, update func(*authmgmt.Invitation) (authmgmt.AuditEvent, error),
) error {
	return w.On.UpdateInvitation(ctx, org, id, update)
}

func (w *Backend) ListInvitations(
	ctx context.Context, org string, at time.Time, inviter string, after mortise.Cursor, limit int,
) (mortise.Page[authmgmt.Invitation], error) {
	return w.On.ListInvitations(ctx, org, at, inviter, after, limit)
}

func (w *Backend) DueGrants(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
	return w.On.DueGrants(ctx, now, limit)
}

func (w *Backend) ListAuditEvents(
	ctx context.Context, org string, q authmgmt.AuditQuery,
) (mortise.Page[authmgmt.AuditEvent], error) {
	return w.On.ListAuditEvents(ctx, org, q)
}

func (w *Backend) CountClients(ctx context.Context, org string, most int) (mortise.Count, error) {
	return w.On.CountClients(ctx, org, most)
}

func (w *Backend) CountTokens(ctx context.Context, org string, most int) (mortise.Count, error) {
	return w.On.CountTokens(ctx, org, most)
}

func (w *Backend) CountInvitations(
	ctx context.Context, org string, pendingAt time.Time, inviter string, most int,
) (mortise.Count, error) {
	return w.On.CountInvitations(ctx, org, pendingAt, inviter, most)
}

func (w *Backend) MarkDeleted(
	ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent,
) (time.Time, error) {
	return w.On.MarkDeleted(ctx, org, at, e)
}

func (w *Backend) DeletedAt(ctx context.Context, org string) (time.Time, error) {
	return w.On.DeletedAt(ctx, org)
}

func (w *Backend) RemoveDeleted(ctx context.Context, org string, limit int) (int, bool, error) {
	return w.On.RemoveDeleted(ctx, org, limit)
}

func (w *Backend) PruneAudit(ctx context.Context, before time.Time, limit int) (int, bool, error) {
	return w.On.PruneAudit(ctx, before, limit)
}

func (w *Backend) PruneTokens(ctx context.Context, before time.Time, limit int) (int, bool, error) {
	return w.On.PruneTokens(ctx, before, limit)
}

func (w *Backend) PruneInvitations(ctx context.Context, before time.Time, limit int) (int, bool, error) {
	return w.On.PruneInvitations(ctx, before, limit)
}

func (w *Backend) UpdateKeyChecks(ctx context.Context, update func([][32]byte) ([][32]byte, error)) error {
	return w.On.UpdateKeyChecks(ctx, update)
}

func (w *Backend) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	return w.On.AccessControl(ctx, org)
}

func (w *Backend) UpdateOrganization(
	ctx context.Context, org string, update func(*authmgmt.Organization) (authmgmt.AuditEvent, error),
) error {
	return w.On.UpdateOrganization(ctx, org, update)
}

func (w *Backend) Revocations(ctx context.Context) (mortise.Revocations, error) {
	return w.On.Revocations(ctx)
}

func (w *Backend) RaiseRevocations(ctx context.Context, n int64) error {
	return w.On.RaiseRevocations(ctx, n)
}

func (w *Backend) RemoveTokens(ctx context.Context, limit int) (int, bool, error) {
	return w.On.RemoveTokens(ctx, limit)
}
