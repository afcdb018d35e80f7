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

// mutant is the memory backend with some methods replaced. A nil function leaves the
// method as it is.
type mutant struct {
	*memory.AuthMgmt
	broken  atomic.Bool // makes every method fail
	failure error       // what broken methods return

	createClient   func(context.Context, authmgmt.Client, authmgmt.AuditEvent) error
	client         func(ctx context.Context, org, id string) (authmgmt.Client, error)
	clientBySecret func(context.Context, [32]byte) (authmgmt.Client, error)
	updateClient   func(ctx context.Context, org, id string, update clientUpdate) error
	listClients    func(context.Context, string, authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error)

	createToken   func(context.Context, authmgmt.Token, authmgmt.AuditEvent) error
	tokenByDigest func(context.Context, [32]byte) (authmgmt.Token, error)
	updateToken   func(ctx context.Context, org string, id uuid.UUID, update tokenUpdate) error
	listTokens    func(context.Context, string, authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error)

	createInvitation func(context.Context, authmgmt.Invitation, bool, authmgmt.AuditEvent) error
	invitation       func(ctx context.Context, org, id string) (authmgmt.Invitation, error)
	updateInvitation func(ctx context.Context, org, id string, update invitationUpdate) error
	listInvitations  func(context.Context, string, time.Time, authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error)
	dueGrants        func(context.Context, time.Time, int) ([]authmgmt.Invitation, error)

	auditEvents func(context.Context, string, authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error)

	stats    func(context.Context, string, time.Time, int) (authmgmt.Stats, error)
	statsAll func(context.Context, int) (authmgmt.AllStats, error)

	markDeleted   func(context.Context, string, time.Time, authmgmt.AuditEvent) (time.Time, error)
	deletedAt     func(context.Context, string) (time.Time, error)
	removeDeleted func(context.Context, string, int) (bool, error)

	pruneAudit, pruneTokens, pruneInvitations func(context.Context, time.Time, int) (int, error)

	updateKeyChecks func(context.Context, keyChecksUpdate) error

	organization       func(context.Context, string) (authmgmt.Organization, error)
	updateOrganization func(context.Context, string, organizationUpdate) error
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return &mutant{AuthMgmt: db.AuthMgmt().Store.(*memory.AuthMgmt), failure: errBroken}
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() authmgmt.Backend {
	return authmgmt.Backend{Store: m, Directory: m}
}

func (m *mutant) fail() error {
	if m.broken.Load() {
		return m.failure
	}
	return nil
}

func (m *mutant) CreateClient(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.createClient != nil {
		return m.createClient(ctx, c, e)
	}
	return m.AuthMgmt.CreateClient(ctx, c, e)
}

func (m *mutant) Client(ctx context.Context, org, id string) (authmgmt.Client, error) {
	if err := m.fail(); err != nil {
		return authmgmt.Client{}, err
	}
	if m.client != nil {
		return m.client(ctx, org, id)
	}
	return m.AuthMgmt.Client(ctx, org, id)
}

func (m *mutant) ClientBySecret(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
	if err := m.fail(); err != nil {
		return authmgmt.Client{}, err
	}
	if m.clientBySecret != nil {
		return m.clientBySecret(ctx, digest)
	}
	return m.AuthMgmt.ClientBySecret(ctx, digest)
}

func (m *mutant) UpdateClient(ctx context.Context, org, id string, update clientUpdate) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.updateClient != nil {
		return m.updateClient(ctx, org, id, update)
	}
	return m.AuthMgmt.UpdateClient(ctx, org, id, update)
}

func (m *mutant) ListClients(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
	if err := m.fail(); err != nil {
		return authmgmt.Page[authmgmt.Client]{}, err
	}
	if m.listClients != nil {
		return m.listClients(ctx, org, p)
	}
	return m.AuthMgmt.ListClients(ctx, org, p)
}

func (m *mutant) CreateToken(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.createToken != nil {
		return m.createToken(ctx, k, e)
	}
	return m.AuthMgmt.CreateToken(ctx, k, e)
}

func (m *mutant) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	if err := m.fail(); err != nil {
		return authmgmt.Token{}, err
	}
	if m.tokenByDigest != nil {
		return m.tokenByDigest(ctx, digest)
	}
	return m.AuthMgmt.TokenByDigest(ctx, digest)
}

func (m *mutant) UpdateToken(ctx context.Context, org string, id uuid.UUID, update tokenUpdate) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.updateToken != nil {
		return m.updateToken(ctx, org, id, update)
	}
	return m.AuthMgmt.UpdateToken(ctx, org, id, update)
}

func (m *mutant) ListTokens(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
	if err := m.fail(); err != nil {
		return authmgmt.Page[authmgmt.Token]{}, err
	}
	if m.listTokens != nil {
		return m.listTokens(ctx, org, p)
	}
	return m.AuthMgmt.ListTokens(ctx, org, p)
}

func (m *mutant) CreateInvitation(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.createInvitation != nil {
		return m.createInvitation(ctx, i, exclusive, e)
	}
	return m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e)
}

func (m *mutant) Invitation(ctx context.Context, org, id string) (authmgmt.Invitation, error) {
	if err := m.fail(); err != nil {
		return authmgmt.Invitation{}, err
	}
	if m.invitation != nil {
		return m.invitation(ctx, org, id)
	}
	return m.AuthMgmt.Invitation(ctx, org, id)
}

func (m *mutant) UpdateInvitation(ctx context.Context, org, id string, update invitationUpdate) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.updateInvitation != nil {
		return m.updateInvitation(ctx, org, id, update)
	}
	return m.AuthMgmt.UpdateInvitation(ctx, org, id, update)
}

func (m *mutant) ListInvitations(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
	if err := m.fail(); err != nil {
		return authmgmt.Page[authmgmt.Invitation]{}, err
	}
	if m.listInvitations != nil {
		return m.listInvitations(ctx, org, at, p)
	}
	return m.AuthMgmt.ListInvitations(ctx, org, at, p)
}

func (m *mutant) DueGrants(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	if m.dueGrants != nil {
		return m.dueGrants(ctx, now, limit)
	}
	return m.AuthMgmt.DueGrants(ctx, now, limit)
}

func (m *mutant) ListAuditEvents(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
	if err := m.fail(); err != nil {
		return mortise.Page[authmgmt.AuditEvent]{}, err
	}
	if m.auditEvents != nil {
		return m.auditEvents(ctx, org, q)
	}
	return m.AuthMgmt.ListAuditEvents(ctx, org, q)
}

func (m *mutant) PruneAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	if m.pruneAudit != nil {
		return m.pruneAudit(ctx, before, limit)
	}
	return m.AuthMgmt.PruneAudit(ctx, before, limit)
}

func (m *mutant) PruneTokens(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	if m.pruneTokens != nil {
		return m.pruneTokens(ctx, before, limit)
	}
	return m.AuthMgmt.PruneTokens(ctx, before, limit)
}

func (m *mutant) PruneInvitations(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	if m.pruneInvitations != nil {
		return m.pruneInvitations(ctx, before, limit)
	}
	return m.AuthMgmt.PruneInvitations(ctx, before, limit)
}

func (m *mutant) UpdateKeyChecks(ctx context.Context, update keyChecksUpdate) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.updateKeyChecks != nil {
		return m.updateKeyChecks(ctx, update)
	}
	return m.AuthMgmt.UpdateKeyChecks(ctx, update)
}

func (m *mutant) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	if err := m.fail(); err != nil {
		return authmgmt.Organization{}, err
	}
	if m.organization != nil {
		return m.organization(ctx, org)
	}
	return m.AuthMgmt.AccessControl(ctx, org)
}

func (m *mutant) UpdateOrganization(ctx context.Context, org string, update organizationUpdate) error {
	if err := m.fail(); err != nil {
		return err
	}
	if m.updateOrganization != nil {
		return m.updateOrganization(ctx, org, update)
	}
	return m.AuthMgmt.UpdateOrganization(ctx, org, update)
}
