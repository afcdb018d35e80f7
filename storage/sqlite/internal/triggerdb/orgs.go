package triggerdb

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/trigger"
)

const (
	// 2 is an organization that was deleted: see hideTriggerOrg.
	organizationByID = "SELECT o.setup_complete, c.id, c.ready FROM trigger_organizations o" +
		" LEFT JOIN trigger_collections c ON c.organization = o.id WHERE o.id = ?" +
		" AND o.setup_complete < 2 ORDER BY c.id"

	upsertOrganization = "INSERT INTO trigger_organizations (id, setup_complete) VALUES (?, ?)" +
		" ON CONFLICT DO UPDATE SET setup_complete = excluded.setup_complete"
	deleteCollections = "DELETE FROM trigger_collections WHERE organization = ?"
	// Of two entries with one ID, either one can make the collection ready.
	insertCollection = "INSERT INTO trigger_collections (organization, id, ready) VALUES (?, ?, ?)" +
		" ON CONFLICT DO UPDATE SET ready = max(ready, excluded.ready)"
)

// Setup implements [trigger.Directory].
func (t *Store) Setup(ctx context.Context, org string) (trigger.Organization, error) {
	o := trigger.Organization{ID: org}
	found := false
	err := t.db.Find(ctx, org, organizationByID, []any{org}, func(r *file.Row) error {
		found = true
		return scanOrganization(r, &o)
	})
	if err == nil && !found {
		err = mortise.ErrNotFound
	}
	if err != nil {
		return trigger.Organization{}, err
	}
	return o, nil
}

// scanOrganization reads a row of organizationByID: the organization with one of its
// collections, if it has any.
func scanOrganization(r *file.Row, o *trigger.Organization) error {
	o.SetupComplete = r.Number(0) != 0
	if r.Null(1) {
		return nil
	}
	c := trigger.Collection{Ready: r.Number(2) != 0}
	r.Blob(1, c.ID[:])
	o.Collections = append(o.Collections, c)
	return nil
}

// UpdateOrganization implements [trigger.Organizations].
func (t *Store) UpdateOrganization(ctx context.Context, org string, update func(*trigger.Organization) error) error {
	return t.db.Write(ctx, func(tx *file.Tx) error {
		if deleted, err := triggerDeleted(tx, org); err != nil {
			return err
		} else if deleted {
			return mortise.ErrDeleted
		}
		changed := trigger.Organization{ID: org}
		err := tx.Query(organizationByID, []any{org}, func(r *file.Row) error { return scanOrganization(r, &changed) })
		if err != nil {
			return err
		}
		err = tx.Host(func() error {
			given := changed
			if err := update(&given); err != nil {
				return err
			}
			changed = given.Clone()
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := tx.Exec(upsertOrganization, org, changed.SetupComplete); err != nil {
			return err
		}
		if _, err := tx.Exec(deleteCollections, org); err != nil {
			return err
		}
		for _, c := range changed.Collections {
			if _, err := tx.Exec(insertCollection, org, c.ID[:], c.Ready); err != nil {
				return err
			}
		}
		return nil
	})
}
