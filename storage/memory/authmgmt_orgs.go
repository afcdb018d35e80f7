package memory

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// AccessControl implements [authmgmt.Directory].
func (a *AuthMgmt) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return authmgmt.Organization{}, err
	}
	defer db.end()
	if o, ok := db.authmgmt.organizations[org]; ok && !db.authmgmt.isDeleted(org) {
		return o, nil
	}
	return authmgmt.Organization{}, mortise.ErrNotFound
}

// UpdateOrganization implements [authmgmt.Organizations].
func (a *AuthMgmt) UpdateOrganization(ctx context.Context, org string, update func(*authmgmt.Organization) (authmgmt.AuditEvent, error)) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	if db.authmgmt.isDeleted(org) {
		return mortise.ErrDeleted
	}
	changed, ok := db.authmgmt.organizations[org]
	if !ok {
		changed = authmgmt.Organization{ID: org}
	}
	e, err := update(&changed)
	if err != nil {
		return err
	}
	changed.ID = org
	db.authmgmt.organizations[org] = changed
	db.authmgmt.addEvent(e)
	db.revocations.countEvent(&e)
	return nil
}
