package sqlite

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

const (
	rbacOf  = "SELECT rbac FROM authmgmt_organizations WHERE id = ?" + notDeleted
	setRBAC = "INSERT INTO authmgmt_organizations (id, rbac) VALUES (?, ?) ON CONFLICT DO UPDATE SET rbac = excluded.rbac"
)

// AccessControl implements [authmgmt.Directory].
func (a *AuthMgmt) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	var found []authmgmt.Organization
	err := a.db.find(ctx, org, rbacOf, []any{org}, func(r *row) error {
		found = append(found, authmgmt.Organization{ID: org, RBAC: r.number(0) != 0})
		return nil
	})
	return one(found, err)
}

// UpdateOrganization implements [authmgmt.Organizations].
func (a *AuthMgmt) UpdateOrganization(ctx context.Context, org string, update func(*authmgmt.Organization) (authmgmt.AuditEvent, error)) error {
	return a.db.writer.write(ctx, func(tx *tx) error {
		if deleted, err := tx.exists(deletedAt, org); err != nil {
			return err
		} else if deleted {
			return mortise.ErrDeleted
		}
		kept, found := authmgmt.Organization{ID: org}, false
		err := tx.query(rbacOf, []any{org}, func(r *row) error {
			kept.RBAC, found = r.number(0) != 0, true
			return nil
		})
		if err != nil {
			return err
		}
		var changes []change
		err = tx.host(func() error {
			given := kept
			e, err := update(&given)
			if err != nil {
				return err
			}
			if !found || given.RBAC != kept.RBAC {
				changes = append(changes, change{setRBAC, []any{org, given.RBAC}})
			}
			event, err := auditChange(&e)
			changes = append(changes, event...)
			return err
		})
		if err != nil {
			return err
		}
		return tx.apply(changes)
	})
}
