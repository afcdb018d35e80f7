package authmgmtdb

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
)

const (
	rbacOf  = "SELECT rbac FROM @.authmgmt_organizations WHERE id = $1" + authNotDeleted
	setRBAC = "INSERT INTO @.authmgmt_organizations (id, rbac) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET rbac = excluded.rbac"
)

// AccessControl implements [authmgmt.Directory].
func (a *Store) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	o := authmgmt.Organization{ID: org}
	err := a.db.Read(ctx, org, func(s *engine.Session) error { return s.Row(rbacOf, []any{org}, &o.RBAC) })
	if engine.IsNoRow(err) {
		err = mortise.ErrNotFound
	}
	if err != nil {
		return authmgmt.Organization{}, err
	}
	return o, nil
}

// UpdateOrganization implements [authmgmt.Organizations].
func (a *Store) UpdateOrganization(ctx context.Context, org string, update func(*authmgmt.Organization) (authmgmt.AuditEvent, error)) error {
	return a.db.Transact(ctx, org, func(s *engine.Session) error {
		if err := mayCreate(s, org); err != nil {
			return err
		}
		// There may be no row to lock.
		if err := s.Lock("authmgmt organization", org, false); err != nil {
			return err
		}
		kept := authmgmt.Organization{ID: org}
		err := s.Row(rbacOf, []any{org}, &kept.RBAC)
		found := !engine.IsNoRow(err)
		if err != nil && found {
			return err
		}
		given := kept
		e, err := update(&given)
		if err != nil {
			return err
		}
		if !found || given.RBAC != kept.RBAC {
			if _, err := s.Exec(setRBAC, org, given.RBAC); err != nil {
				return err
			}
		}
		e.Organization = org
		return audit(s, &e)
	})
}
