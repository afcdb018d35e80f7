package authmgmtdb

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	rbacOf  = "SELECT rbac FROM authmgmt_organizations WHERE id = ?" + notDeleted
	setRBAC = "INSERT INTO authmgmt_organizations (id, rbac) VALUES (?, ?) ON CONFLICT DO UPDATE SET rbac = excluded.rbac"
)

// AccessControl implements [authmgmt.Directory].
func (a *Store) AccessControl(ctx context.Context, org string) (authmgmt.Organization, error) {
	var found []authmgmt.Organization
	err := a.db.Find(ctx, org, rbacOf, []any{org}, func(r *file.Row) error {
		found = append(found, authmgmt.Organization{ID: org, RBAC: r.Number(0) != 0})
		return nil
	})
	return one(found, err)
}

// UpdateOrganization implements [authmgmt.Organizations].
func (a *Store) UpdateOrganization(ctx context.Context, org string, update func(*authmgmt.Organization) (authmgmt.AuditEvent, error)) error {
	return a.db.Write(ctx, func(tx *file.Tx) error {
		if deleted, err := tx.Exists(deletedAt, org); err != nil {
			return err
		} else if deleted {
			return mortise.ErrDeleted
		}
		kept, found := authmgmt.Organization{ID: org}, false
		err := tx.Query(rbacOf, []any{org}, func(r *file.Row) error {
			kept.RBAC, found = r.Number(0) != 0, true
			return nil
		})
		if err != nil {
			return err
		}
		var changes []file.Change
		err = tx.Host(func() error {
			given := kept
			e, err := update(&given)
			if err != nil {
				return err
			}
			if !found || given.RBAC != kept.RBAC {
				changes = append(changes, file.Do(setRBAC, org, given.RBAC))
			}
			event, err := auditChange(&e)
			changes = append(changes, event...)
			return err
		})
		if err != nil {
			return err
		}
		return tx.Apply(changes...)
	})
}
