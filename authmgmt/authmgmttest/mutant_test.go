package authmgmttest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// The update functions of the four kinds of things.
type (
	clientUpdate       = func(*authmgmt.Client) (authmgmt.AuditEvent, error)
	tokenUpdate        = func(*authmgmt.Token) (authmgmt.AuditEvent, error)
	invitationUpdate   = func(*authmgmt.Invitation) (authmgmt.AuditEvent, error)
	organizationUpdate = func(*authmgmt.Organization) (authmgmt.AuditEvent, error)
	keyChecksUpdate    = func([][32]byte) ([][32]byte, error)
)

// mutant is the memory backend, whose methods can be replaced: each calls the one in on.
type mutant struct {
	*memory.AuthMgmt // which stays faithful
	on               methods
	broken           atomic.Bool // makes every method fail
	failure          error       // what broken methods return
}

// methods are those of the backend.
type methods struct {
	CreateClient       func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error
	Client             func(ctx context.Context, org, id string) (authmgmt.Client, error)
	ClientBySecret     func(ctx context.Context, digest [32]byte) (authmgmt.Client, error)
	UpdateClient       func(ctx context.Context, org, id string, update clientUpdate) error
	ListClients        func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error)
	CreateToken        func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error
	TokenByDigest      func(ctx context.Context, digest [32]byte) (authmgmt.Token, error)
	UpdateToken        func(ctx context.Context, org string, id uuid.UUID, update tokenUpdate) error
	ListTokens         func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error)
	CreateInvitation   func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error
	Invitation         func(ctx context.Context, org, id string) (authmgmt.Invitation, error)
	UpdateInvitation   func(ctx context.Context, org, id string, update invitationUpdate) error
	ListInvitations    func(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error)
	DueGrants          func(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error)
	ListAuditEvents    func(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error)
	Stats              func(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error)
	StatsAll           func(ctx context.Context, most int) (authmgmt.AllStats, error)
	MarkDeleted        func(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error)
	DeletedAt          func(ctx context.Context, org string) (time.Time, error)
	RemoveDeleted      func(ctx context.Context, org string, limit int) (bool, error)
	PruneAudit         func(ctx context.Context, before time.Time, limit int) (int, error)
	PruneTokens        func(ctx context.Context, before time.Time, limit int) (int, error)
	PruneInvitations   func(ctx context.Context, before time.Time, limit int) (int, error)
	UpdateKeyChecks    func(ctx context.Context, update keyChecksUpdate) error
	AccessControl      func(ctx context.Context, org string) (authmgmt.Organization, error)
	UpdateOrganization func(ctx context.Context, org string, update organizationUpdate) error
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	m := &mutant{AuthMgmt: db.AuthMgmt().Store.(*memory.AuthMgmt), failure: errBroken}
	mutate.Fill(&m.on, m.AuthMgmt)
	return m
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() authmgmt.Backend {
	mutate.Around(&m.on, func(c *mutate.Call) {
		if m.broken.Load() {
			*c.Err() = m.failure
			return
		}
		c.Go()
	})
	return authmgmt.Backend{Store: m, Directory: m}
}

func (m *mutant) CreateClient(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
	return m.on.CreateClient(ctx, c, e)
}

func (m *mutant) Client(ctx context.Context, org, id string) (authmgmt.Client, error) {
	return m.on.Client(ctx, org, id)
}

func (m *mutant) ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
	return m.on.ClientBySecret(ctx, digest)
}

func (m *mutant) UpdateClient(ctx context.Context, org, id string, update clientUpdate) error {
	return m.on.UpdateClient(ctx, org, id, update)
}

func (m *mutant) ListClients(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
	return m.on.ListClients(ctx, org, p)
}

func (m *mutant) CreateToken(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
	return m.on.CreateToken(ctx, k, e)
}

func (m *mutant) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	return m.on.TokenByDigest(ctx, digest)
}

func (m *mutant) UpdateToken(ctx context.Context, org string, id uuid.UUID, update tokenUpdate) error {
	return m.on.UpdateToken(ctx, org, id, update)
}

func (m *mutant) ListTokens(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
	return m.on.ListTokens(ctx, org, p)
}

func (m *mutant) CreateInvitation(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
	return m.on.CreateInvitation(ctx, i, exclusive, e)
}

func (m *mutant) Invitation(ctx context.Context, org, id string) (authmgmt.Invitation, error) {
	return m.on.Invitation(ctx, org, id)
}

func (m *mutant) UpdateInvitation(ctx context.Context, org, id string, update invitationUpdate) error {
	return m.on.UpdateInvitation(ctx, org, id, update)
}

func (m *mutant) ListInvitations(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
	return m.on.ListInvitations(ctx, org, at, p)
}

func (m *mutant) DueGrants(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
	return m.on.DueGrants(ctx, now, limit)
}

func (m *mutant) ListAuditEvents(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
	return m.on.ListAuditEvents(ctx, org, q)
}

func (m *mutant) Stats(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
	return m.on.Stats(ctx, org, now, most)
}

func (m *mutant) StatsAll(ctx context.Context, most int) (authmgmt.AllStats, error) {
	return m.on.StatsAll(ctx, most)
}

func (m *mutant) MarkDeleted(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
	return m.on.MarkDeleted(ctx, org, at, e)
}

func (m *mutant) DeletedAt(ctx context.Context, org string) (time.Time, error) {
	return m.on.DeletedAt(ctx, org)
}

func (m *mutant) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return m.on.RemoveDeleted(ctx, org, limit)
}

func (m *mutant) PruneAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	return m.on.PruneAudit(ctx, before, limit)
}

func (m *mutant) PruneTokens(ctx context.Context, before time.Time, limit int) (int, error) {
	return m.on.PruneTokens(ctx, before, limit)
}

func (m *mutant) PruneInvitations(ctx context.Context, before time.Time, limit int) (int, error) {
	return m.on.PruneInvitations(ctx, before, limit)
}

func (m *mutant) UpdateKeyChecks(ctx context.Context, update keyChecksUpdate) error {
	return m.on.UpdateKeyChecks(ctx, update)
}

func (m *mutant) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	return m.on.AccessControl(ctx, org)
}

func (m *mutant) UpdateOrganization(ctx context.Context, org string, update organizationUpdate) error {
	return m.on.UpdateOrganization(ctx, org, update)
}
