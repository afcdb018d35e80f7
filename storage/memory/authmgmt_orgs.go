package memory

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// AccessControl implements [authmgmt.Directory].
func (a *AuthMgmt) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	if err := ctx.Err(); err != nil {
		return authmgmt.Organization{}, err
	}
	a.db.mu.RLock()
	defer a.db.mu.RUnlock()
	if o, ok := a.db.authmgmt.organizations[org]; ok && !a.db.authmgmt.isDeleted(org) {
		return o, nil
	}
	return authmgmt.Organization{}, mortise.ErrNotFound
}

// UpdateOrganization implements [authmgmt.Organizations].
func (a *AuthMgmt) UpdateOrganization(ctx context.Context, org string, update func(*authmgmt.Organization) (authmgmt.AuditEvent, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	if a.db.authmgmt.isDeleted(org) {
		return mortise.ErrDeleted
	}
	changed, ok := a.db.authmgmt.organizations[org]
	if !ok {
		changed = authmgmt.Organization{ID: org}
	}
	e, err := update(&changed)
	if err != nil {
		return err
	}
	changed.ID = org
	a.db.authmgmt.organizations[org] = changed
	a.db.authmgmt.addEvent(e)
	return nil
}
