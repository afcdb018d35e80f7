package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise/trigger"
)

// triggerProvisioner is who provisions, as the trigger service's Observer is told.
const triggerProvisioner trigger.Actor = provisioning

const foreignKey = "this API key belongs to another organization"

// checkName tries the ID of an organization, in a rehearsal. One that will not do is
// replaced, so that what else is wrong with the organization is found.
func (t *triggerService) checkName(ctx context.Context, doc *document, org *organizationDoc) error {
	if org.ID == recordsOrganization {
		doc.fail(org.At.at("id"), "is kept for this program")
	}
	if !org.At.lacks("id") {
		asItIs := func(*trigger.Organization) error { return nil }
		err := t.service.UpdateOrganization(ctx, org.ID, triggerProvisioner, asItIs)
		if !doc.refuse(org.At, err, map[string]string{"organization": "id"}) {
			return err
		}
	}
	org.ID = "\x01" + org.At.path()
	return nil
}

// check refuses API keys that belong to other organizations here.
func (t *triggerService) check(ctx context.Context, doc *document, org *organizationDoc) error {
	for _, k := range org.APIKeys {
		stored, err := t.service.FindKey(ctx, string(k.Key))
		if err == nil && stored.Organization != org.ID {
			doc.fail(k.At, foreignKey)
		} else if err != nil && !errors.Is(err, trigger.ErrNotFound) {
			return fmt.Errorf("look up an API key: %w", err)
		}
	}
	return nil
}

// apply provisions an organization, doc collections and API keys.
func (t *triggerService) apply(ctx context.Context, doc *document, org *organizationDoc) error {
	err := t.service.UpdateOrganization(ctx, org.ID, triggerProvisioner, func(o *trigger.Organization) error {
		o.SetupComplete = org.SetupComplete
		for _, c := range org.Collections {
			o.SetCollection(c.ID.UUID, c.Ready)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("provision an organization: %w", err)
	}
	for _, k := range org.APIKeys {
		if k.At.isBad() {
			continue
		}
		if err := t.applyKey(ctx, doc, org.ID, &k); err != nil {
			return fmt.Errorf("provision the API key at %s: %w", doc.where(k.At), err)
		}
	}
	return nil
}

func (t *triggerService) applyKey(ctx context.Context, doc *document, org string, k *apiKeyDoc) error {
	key := string(k.Key)
	stored, err := t.service.FindKey(ctx, key)
	if errors.Is(err, trigger.ErrNotFound) {
		stored, err = t.service.ImportKey(ctx, org, triggerProvisioner, "", key)
		if errors.Is(err, trigger.ErrExists) { // another server on the same data applies its document at this moment
			stored, err = t.service.FindKey(ctx, key)
		}
		if k.Revoked && len(problemsOf(err)) > 0 || doc.refuse(k.At, err, nil) {
			return nil // nobody can bring a revoked one back, not even one that an earlier version took
		}
	}
	if err == nil && stored.Organization != org {
		doc.fail(k.At, foreignKey)
		return nil
	}
	if err == nil && k.Revoked && stored.RevokedAt.IsZero() {
		err = t.service.RevokeKey(ctx, org, triggerProvisioner, stored.ID)
	}
	return err
}
