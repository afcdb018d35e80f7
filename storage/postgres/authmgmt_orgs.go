package postgres

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

const (
	rbacOf  = "SELECT rbac FROM @.authmgmt_organizations WHERE id = $1" + authNotDeleted
	setRBAC = "INSERT INTO @.authmgmt_organizations (id, rbac) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET rbac = excluded.rbac"
)

// AccessControl implements [authmgmt.Directory].
func (a *AuthMgmt) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	o := authmgmt.Organization{ID: org}
	err := a.db.read(ctx, org, func(s *session) error { return s.row(rbacOf, []any{bytes(org)}, &o.RBAC) })
	if isNoRow(err) {
		err = mortise.ErrNotFound
	}
	if err != nil {
		return authmgmt.Organization{}, err
	}
	return o, nil
}

// UpdateOrganization implements [authmgmt.Organizations].
func (a *AuthMgmt) UpdateOrganization(ctx context.Context, org string, update func(*authmgmt.Organization) (authmgmt.AuditEvent, error)) error {
	return a.db.transact(ctx, org, func(s *session) error {
		if err := s.mayCreate(org); err != nil {
			return err
		}
		// There may be no row to lock.
		if err := s.lock("authmgmt organization", org, false); err != nil {
			return err
		}
		kept := authmgmt.Organization{ID: org}
		err := s.row(rbacOf, []any{bytes(org)}, &kept.RBAC)
		found := !isNoRow(err)
		if err != nil && found {
			return err
		}
		given := kept
		e, err := update(&given)
		if err != nil {
			return err
		}
		if !found || given.RBAC != kept.RBAC {
			if _, err := s.exec(setRBAC, bytes(org), given.RBAC); err != nil {
				return err
			}
		}
		e.Organization = org
		return s.audit(&e)
	})
}
