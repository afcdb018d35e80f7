package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise/internal/secret"
	"github.com/seed-6363c74e/mortise/trigger"
)

// triggerProvisioner is who provisions, as the trigger service's Observer is told.
const triggerProvisioner trigger.Actor = "provisioning"

const foreignKey = "this API key belongs to another organization"

// checkDocument refuses a document whose API keys belong to other organizations here.
func (t *triggerService) checkDocument(ctx context.Context, doc *document) error {
	for _, org := range doc.organizations {
		for _, k := range org.apiKeys {
			stored, err := t.service.FindKey(ctx, k.key)
			switch {
			case errors.Is(err, trigger.ErrNotFound):
			case err != nil:
				return fmt.Errorf("look up an API key: %w", err)
			case stored.Organization != org.id:
				return doc.contradiction(k.place, foreignKey)
			}
		}
	}
	return nil
}

// applyDocument provisions organizations, doc collections and API keys.
func (t *triggerService) applyDocument(ctx context.Context, doc *document) error {
	for _, org := range doc.organizations {
		err := t.applyOrganization(ctx, doc, &org)
		if errors.Is(err, trigger.ErrDeleted) {
			doc.noteDeleted(org.id, "")
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *triggerService) applyOrganization(ctx context.Context, doc *document, org *organizationDoc) error {
	err := t.service.UpdateOrganization(ctx, org.id, triggerProvisioner, func(o *trigger.Organization) error {
		o.SetupComplete = org.setupComplete
		for _, c := range org.collections {
			o.SetCollection(c.id, c.ready)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("provision an organization: %w", err)
	}
	for _, k := range org.apiKeys {
		if err := t.applyKey(ctx, doc, org.id, &k); err != nil {
			return err
		}
	}
	return nil
}

func (t *triggerService) applyKey(ctx context.Context, doc *document, org string, k *apiKeyDoc) error {
	stored, err := t.service.FindKey(ctx, k.key)
	if errors.Is(err, trigger.ErrNotFound) && k.revoked && secret.ImportProblem(k.key) != "" {
		return nil // nobody can bring it back
	}
	if errors.Is(err, trigger.ErrNotFound) {
		stored, err = t.service.ImportKey(ctx, org, triggerProvisioner, "", k.key)
		if errors.Is(err, trigger.ErrExists) { // another server on the same data applies its document at this moment
			stored, err = t.service.FindKey(ctx, k.key)
		}
	}
	if err == nil && stored.Organization != org {
		return doc.contradiction(k.place, foreignKey)
	}
	if err == nil && k.revoked && stored.RevokedAt.IsZero() {
		err = t.service.RevokeKey(ctx, org, triggerProvisioner, stored.ID)
	}
	if err != nil {
		return fmt.Errorf("provision the API key at %s: %w", k.place, err)
	}
	return nil
}
