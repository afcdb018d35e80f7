package sqlite

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

const (
	rbacOf  = "SELECT rbac FROM authmgmt_organizations WHERE id = ?" + notDeleted
	setRBAC = "INSERT INTO authmgmt_organizations (id, rbac) VALUES (?, ?) ON CONFLICT DO UPDATE SET rbac = excluded.rbac"

	// The values stand one behind the other. Of one key, which is what older programs
	// have written, that is its value.
	keyChecks    = "SELECT value FROM authmgmt_key_check WHERE only = 1"
	putKeyChecks = "INSERT INTO authmgmt_key_check (only, value) VALUES (1, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
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
			return authmgmt.ErrDeleted
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

// UpdateKeyChecks implements [authmgmt.KeyChecker].
func (a *AuthMgmt) UpdateKeyChecks(ctx context.Context, update func(noted [][32]byte) ([][32]byte, error)) error {
	read := func(noted *[][32]byte) func(*row) error {
		return func(r *row) error {
			*noted = r.digests(0)
			return nil
		}
	}
	// Every start asks, and few of them have anything to write.
	var noted [][32]byte
	if err := a.db.find(ctx, noOrg, keyChecks, nil, read(&noted)); err != nil {
		return err
	}
	changed, err := update(slices.Clone(noted))
	if err != nil || slices.Equal(changed, noted) {
		return err
	}
	return a.db.writer.write(ctx, func(tx *tx) error {
		var noted [][32]byte
		if err := tx.query(keyChecks, nil, read(&noted)); err != nil {
			return err
		}
		value := []byte{}
		err := tx.host(func() error {
			changed, err := update(noted)
			for _, check := range changed {
				value = append(value, check[:]...)
			}
			return err
		})
		if err != nil {
			return err
		}
		_, err = tx.exec(putKeyChecks, value)
		return err
	})
}
