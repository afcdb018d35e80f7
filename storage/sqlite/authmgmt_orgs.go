package sqlite

import (
	"context"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

const (
	rbacOf  = "SELECT rbac FROM authmgmt_organizations WHERE id = ?"
	setRBAC = "INSERT INTO authmgmt_organizations (id, rbac) VALUES (?, ?) ON CONFLICT DO UPDATE SET rbac = excluded.rbac"

	keyCheck       = "SELECT value FROM authmgmt_key_check WHERE only = 1"
	insertKeyCheck = "INSERT INTO authmgmt_key_check (only, value) VALUES (1, ?) ON CONFLICT DO NOTHING"
)

// Organization implements [authmgmt.Directory].
func (a *AuthMgmt) Organization(ctx context.Context, org string) (authmgmt.Organization, error) {
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

// KeyCheck implements [authmgmt.KeyChecker].
func (a *AuthMgmt) KeyCheck(ctx context.Context, value [32]byte) ([32]byte, error) {
	var stored [32]byte
	found := false
	read := func(r *row) error {
		found = true
		r.blob(0, stored[:])
		return nil
	}
	// Every start asks, and only the first one of all has to write.
	err := a.db.find(ctx, noOrg, keyCheck, nil, read)
	if err == nil && !found {
		err = a.db.writer.write(ctx, func(tx *tx) error {
			if _, err := tx.exec(insertKeyCheck, value[:]); err != nil {
				return err
			}
			return tx.query(keyCheck, nil, read)
		})
	}
	if err != nil {
		return [32]byte{}, err
	}
	return stored, nil
}
