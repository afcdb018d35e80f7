package memory

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Setup implements [trigger.Directory].
func (t *Trigger) Setup(ctx context.Context, org string) (trigger.Organization, error) {
	db, err := t.db.read(ctx)
	if err != nil {
		return trigger.Organization{}, err
	}
	defer db.end()
	if o, ok := db.trigger.live(org); ok && o.record != nil {
		return o.record.Clone(), nil
	}
	return trigger.Organization{}, mortise.ErrNotFound
}

// UpdateOrganization implements [trigger.Organizations].
func (t *Trigger) UpdateOrganization(ctx context.Context, org string, update func(*trigger.Organization) error) error {
	db, err := t.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	if db.trigger.isDeleted(org) {
		return mortise.ErrDeleted
	}
	changed := trigger.Organization{ID: org}
	if o, ok := db.trigger.orgs[org]; ok && o.record != nil {
		changed = o.record.Clone()
	}
	if err := update(&changed); err != nil {
		return err
	}
	kept := changed.Clone()
	kept.ID = org
	slices.SortFunc(kept.Collections, func(a, b trigger.Collection) int { return slices.Compare(a.ID[:], b.ID[:]) })
	db.trigger.org(org).record = &kept
	return nil
}
