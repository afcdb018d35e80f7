package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// triggerProvisioner is who provisions, as the trigger service's Observer is told.
const triggerProvisioner mortise.Actor = Actor

// checkName tries the ID of an organization, in a rehearsal. One that will not do is
// replaced, so that what else is wrong with the organization is found.
func (s *Services) checkName(ctx context.Context, doc *Document, org *organizationDoc) error {
	if org.ID == recordsOrganization {
		doc.fail(doc.nearest(org.in("id")), "is kept for this program")
	}
	if !doc.bad[org.in("id")] {
		asItIs := func(*trigger.Organization) error { return nil }
		err := s.Trigger.UpdateOrganization(ctx, org.ID, triggerProvisioner, asItIs)
		if !doc.refuse(org.place, "organization", err) {
			return err
		}
	}
	org.ID = "\x01" + org.path
	return nil
}

// findKey returns what is stored of an API key, or a contradiction if another
// organization has it.
func (s *Services) findKey(ctx context.Context, org string, k *apiKeyDoc) (trigger.APIKey, error) {
	stored, err := s.Trigger.FindKey(ctx, string(k.Key))
	if err == nil && stored.Organization != org {
		err = contradiction("this API key belongs to another organization")
	}
	return stored, err
}

// checkTriggers refuses API keys that belong to other organizations here.
func (s *Services) checkTriggers(ctx context.Context, doc *Document, org *organizationDoc) error {
	return eachOf(doc, "API key", org.APIKeys, func(k *apiKeyDoc) error {
		_, err := s.findKey(ctx, org.ID, k)
		return except(err, mortise.ErrNotFound)
	})
}

// applyTriggers provisions an organization, doc collections and API keys.
func (s *Services) applyTriggers(ctx context.Context, doc *Document, org *organizationDoc) error {
	err := s.Trigger.UpdateOrganization(ctx, org.ID, triggerProvisioner, func(o *trigger.Organization) error {
		o.SetupComplete = org.SetupComplete
		for _, c := range org.Collections {
			o.SetCollection(c.ID, c.Ready)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("provision an organization: %w", err)
	}
	return eachOf(doc, "API key", org.APIKeys, func(k *apiKeyDoc) error {
		stored, err := s.findKey(ctx, org.ID, k)
		if errors.Is(err, mortise.ErrNotFound) {
			stored, err = s.Trigger.ImportKey(ctx, org.ID, triggerProvisioner, "", string(k.Key))
		}
		if errors.Is(err, mortise.ErrExists) { // another server on the same data applies its document at this moment
			stored, err = s.findKey(ctx, org.ID, k)
		}
		switch {
		case k.Revoked && len(problemsOf(err)) > 0: // nobody can bring it back, not even one that an earlier version took
			return nil
		case err == nil && k.Revoked && stored.RevokedAt.IsZero():
			return s.Trigger.RevokeKey(ctx, org.ID, triggerProvisioner, stored.ID)
		}
		return err
	})
}
