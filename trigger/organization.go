package trigger

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

// Organization is what the service must know of one before it accepts a request. It
// accepts one only if the setup is complete and at least one doc collection is ready: a
// host that knows no doc collections gives each organization one, with an ID that never
// changes.
type Organization struct {
	ID            string
	SetupComplete bool         // if not, a request is ErrNotConfigured
	Collections   []Collection // doc collections, sorted by ID (as bytes)
}

// Collection is a body of documentation that requests may ask to update.
type Collection struct {
	ID    uuid.UUID
	Ready bool
}

// Directory knows the organizations. A host that has its own implements this one method,
// which must be safe for concurrent use; the same type can be a directory of package
// authmgmt. An organization that it does not know counts as one that has not finished its
// setup ([ErrNotConfigured]). A Directory that is a [Deletion], too, hears of
// organizations that are deleted.
type Directory interface {
	// Setup returns setup state and collections in one consistent read, or
	// [mortise.ErrNotFound].
	Setup(ctx context.Context, org string) (Organization, error)
}

// Clone returns a deep copy.
func (o Organization) Clone() Organization {
	o.Collections = append([]Collection(nil), o.Collections...)
	return o
}

// SetCollection adds a collection or changes its readiness.
func (o *Organization) SetCollection(id uuid.UUID, ready bool) {
	for i := range o.Collections {
		if o.Collections[i].ID == id {
			o.Collections[i].Ready = ready
			return
		}
	}
	o.Collections = append(o.Collections, Collection{ID: id, Ready: ready})
}

// eligible says whether the organization can take a request for the collection, uuid.Nil
// meaning any.
func (o *Organization) eligible(collection uuid.UUID) error {
	if !o.SetupComplete {
		return ErrNotConfigured
	}
	for _, c := range o.Collections {
		if c.Ready && (collection == uuid.Nil || c.ID == collection) {
			return nil
		}
	}
	return ErrNoEligibleCollection
}

// checkOrganization returns nil if the organization may submit, ErrDeleted,
// ErrNotConfigured or ErrNoEligibleCollection if not.
func (s *Service) checkOrganization(ctx context.Context, org string, collection uuid.UUID) error {
	if s.directory == nil {
		return nil
	}
	o, err := s.directory.Setup(ctx, org)
	err = failure.FromHook(err, mortise.ErrNotFound)
	if errors.Is(err, mortise.ErrNotFound) {
		deleted, err := s.isDeleted(ctx, org)
		if err != nil {
			return failure.Unavailable("look whether the organization was deleted", err)
		}
		if deleted {
			return mortise.ErrDeleted
		}
		return ErrNotConfigured
	}
	if err != nil {
		return failure.Unavailable("read organization", err)
	}
	return o.eligible(collection)
}

// UpdateOrganization changes an organization, creating it if it is new. The Directory of
// the Backend must be an [Organizations]; if not, the error is errors.ErrUnsupported. An
// organization that was deleted is [mortise.ErrDeleted].
func (s *Service) UpdateOrganization(
	ctx context.Context, org string, by mortise.Actor, update func(*Organization) error,
) error {
	var p failure.Problems
	if p.Name("organization", org); len(p.Found) > 0 {
		return p.Err()
	}
	orgs, ok := s.directory.(Organizations)
	if !ok {
		return errors.ErrUnsupported
	}
	var refused error
	err := orgs.UpdateOrganization(ctx, org, func(o *Organization) error {
		refused = update(o)
		return refused
	})
	if refused != nil {
		return refused
	}
	if err != nil {
		return failure.Unavailable("update organization", err)
	}
	s.observe(ctx, mortise.Observation{Kind: mortise.KindOrganizationUpdated, Organization: org, Actor: by})
	return nil
}
