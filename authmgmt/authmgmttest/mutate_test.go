package authmgmttest_test

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// everyClient applies change to all clients that the mutant returns.
func (m *mutant) everyClient(change func(*authmgmt.Client)) {
	m.client = func(ctx context.Context, org, id string) (authmgmt.Client, error) {
		c, err := m.AuthMgmt.Client(ctx, org, id)
		change(&c)
		return c, err
	}
	m.clientBySecret = func(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
		c, err := m.AuthMgmt.ClientBySecret(ctx, digest)
		change(&c)
		return c, err
	}
	m.listClients = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
		page, err := m.AuthMgmt.ListClients(ctx, org, p)
		for i := range page.Items {
			change(&page.Items[i])
		}
		return page, err
	}
}

// everyToken applies change to all tokens that the mutant returns.
func (m *mutant) everyToken(change func(*authmgmt.Token)) {
	m.tokenByDigest = func(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
		k, err := m.AuthMgmt.TokenByDigest(ctx, digest)
		change(&k)
		return k, err
	}
	m.listTokens = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
		page, err := m.AuthMgmt.ListTokens(ctx, org, p)
		for i := range page.Items {
			change(&page.Items[i])
		}
		return page, err
	}
}

// everyInvitation applies change to all invitations that the mutant returns.
func (m *mutant) everyInvitation(change func(*authmgmt.Invitation)) {
	m.invitation = func(ctx context.Context, org, id string) (authmgmt.Invitation, error) {
		i, err := m.AuthMgmt.Invitation(ctx, org, id)
		change(&i)
		return i, err
	}
	m.listInvitations = func(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
		page, err := m.AuthMgmt.ListInvitations(ctx, org, at, p)
		for i := range page.Items {
			change(&page.Items[i])
		}
		return page, err
	}
	m.dueGrants = func(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
		due, err := m.AuthMgmt.DueGrants(ctx, now, limit)
		for i := range due {
			change(&due[i])
		}
		return due, err
	}
}

// everyRole applies change to all lists of roles that the mutant returns.
func (m *mutant) everyRole(change func([]access.Role) []access.Role) {
	m.everyClient(func(c *authmgmt.Client) { c.Roles = change(c.Roles) })
	m.everyToken(func(k *authmgmt.Token) { k.Roles = change(k.Roles) })
	m.everyInvitation(func(i *authmgmt.Invitation) { i.Roles = change(i.Roles) })
}

// everyAuditPage applies change to all pages of the trail that the mutant returns.
func (m *mutant) everyAuditPage(change func(*authmgmt.AuditQuery, *mortise.Page[authmgmt.AuditEvent])) {
	m.auditEvents = func(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
		page, err := m.AuthMgmt.ListAuditEvents(ctx, org, q)
		change(&q, &page)
		return page, err
	}
}

// everyEvent applies change to all audit events that the mutant returns.
func (m *mutant) everyEvent(change func(*authmgmt.AuditEvent)) {
	m.everyAuditPage(func(_ *authmgmt.AuditQuery, page *mortise.Page[authmgmt.AuditEvent]) {
		for i := range page.Items {
			change(&page.Items[i])
		}
	})
}

// everyAuditQuery applies change to all queries that the mutant's trail is asked.
func (m *mutant) everyAuditQuery(change func(*string, *authmgmt.AuditQuery)) {
	m.auditEvents = func(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
		change(&org, &q)
		return m.AuthMgmt.ListAuditEvents(ctx, org, q)
	}
}

// everyListing applies change to what the mutant's listings are asked.
func (m *mutant) everyListing(change func(*string, *authmgmt.Paging)) {
	m.listClients = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
		change(&org, &p)
		return m.AuthMgmt.ListClients(ctx, org, p)
	}
	m.listTokens = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
		change(&org, &p)
		return m.AuthMgmt.ListTokens(ctx, org, p)
	}
	m.listInvitations = func(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
		change(&org, &p)
		return m.AuthMgmt.ListInvitations(ctx, org, at, p)
	}
}

// everyOrder changes the order of what the mutant's listings return.
func (m *mutant) everyOrder(clients func([]authmgmt.Client), tokens func([]authmgmt.Token), invitations func([]authmgmt.Invitation)) {
	m.listClients = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
		page, err := m.AuthMgmt.ListClients(ctx, org, p)
		clients(page.Items)
		return page, err
	}
	m.listTokens = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
		page, err := m.AuthMgmt.ListTokens(ctx, org, p)
		tokens(page.Items)
		return page, err
	}
	m.listInvitations = func(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
		page, err := m.AuthMgmt.ListInvitations(ctx, org, at, p)
		invitations(page.Items)
		return page, err
	}
}

// between stands between the mutant and a caller's update function: it gets a function
// that calls that one, and its result is the update's.
type between = func(call func() (authmgmt.AuditEvent, error)) (authmgmt.AuditEvent, error)

// everyUpdate puts something between all of the mutant's updates and their functions.
func (m *mutant) everyUpdate(do between) {
	m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
		return m.AuthMgmt.UpdateClient(ctx, org, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
			return do(func() (authmgmt.AuditEvent, error) { return update(c) })
		})
	}
	m.updateToken = func(ctx context.Context, org string, id uuid.UUID, update tokenUpdate) error {
		return m.AuthMgmt.UpdateToken(ctx, org, id, func(k *authmgmt.Token) (authmgmt.AuditEvent, error) {
			return do(func() (authmgmt.AuditEvent, error) { return update(k) })
		})
	}
	m.updateInvitation = func(ctx context.Context, org, id string, update invitationUpdate) error {
		return m.AuthMgmt.UpdateInvitation(ctx, org, id, func(i *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
			return do(func() (authmgmt.AuditEvent, error) { return update(i) })
		})
	}
	m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
		return m.AuthMgmt.UpdateOrganization(ctx, org, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
			return do(func() (authmgmt.AuditEvent, error) { return update(o) })
		})
	}
}

// aroundUpdates puts something around all of the mutant's updates, that of the key checks
// included.
func (m *mutant) aroundUpdates(around func(update func() error) error) {
	m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
		return around(func() error { return m.AuthMgmt.UpdateClient(ctx, org, id, update) })
	}
	m.updateToken = func(ctx context.Context, org string, id uuid.UUID, update tokenUpdate) error {
		return around(func() error { return m.AuthMgmt.UpdateToken(ctx, org, id, update) })
	}
	m.updateInvitation = func(ctx context.Context, org, id string, update invitationUpdate) error {
		return around(func() error { return m.AuthMgmt.UpdateInvitation(ctx, org, id, update) })
	}
	m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
		return around(func() error { return m.AuthMgmt.UpdateOrganization(ctx, org, update) })
	}
	m.updateKeyChecks = func(ctx context.Context, update keyChecksUpdate) error {
		return around(func() error { return m.AuthMgmt.UpdateKeyChecks(ctx, update) })
	}
}

// renamed applies change to every organization and ID that the mutant is given, as a
// collation does.
func (m *mutant) renamed(change func(string) string) {
	m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
		if _, err := m.AuthMgmt.Client(ctx, change(c.Organization), change(c.ID)); err == nil {
			return authmgmt.ErrExists
		}
		c.Organization, c.ID = change(c.Organization), change(c.ID)
		return m.AuthMgmt.CreateClient(ctx, c, e)
	}
	m.client = func(ctx context.Context, org, id string) (authmgmt.Client, error) {
		return m.AuthMgmt.Client(ctx, change(org), change(id))
	}
	m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
		i.Organization, i.ID = change(i.Organization), change(i.ID)
		return m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e)
	}
	m.invitation = func(ctx context.Context, org, id string) (authmgmt.Invitation, error) {
		return m.AuthMgmt.Invitation(ctx, change(org), change(id))
	}
	m.organization = func(ctx context.Context, org string) (authmgmt.Organization, error) {
		return m.AuthMgmt.AccessControl(ctx, change(org))
	}
	m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
		return m.AuthMgmt.UpdateOrganization(ctx, change(org), update)
	}
}

// withEvent makes the mutant store an audit event, by a change that changes nothing of an
// organization.
func (m *mutant) withEvent(ctx context.Context, e authmgmt.AuditEvent) error {
	return m.AuthMgmt.UpdateOrganization(ctx, "nobody's", func(*authmgmt.Organization) (authmgmt.AuditEvent, error) { return e, nil })
}
