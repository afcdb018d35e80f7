package authmgmt

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise"
)

// errNoOrganizations: Backend.Directory is not one that can be written.
var errNoOrganizations = fmt.Errorf("authmgmt: Backend.Directory is not an Organizations: %w", errors.ErrUnsupported)

// SetRBAC says whether an organization has role-based access control. Roles that are
// assigned already stay and count, whatever it says. Backend.Directory must be an
// [Organizations].
func (s *Service) SetRBAC(ctx context.Context, org string, by Caller, enabled bool) error {
	organizations, ok := s.directory.(Organizations)
	if !ok {
		return errNoOrganizations
	}
	start := s.opts.Now()
	var p problems
	p.Name("organization", org)
	if err := p.Err(); err != nil {
		return err
	}
	var stored AuditEvent
	var refused refusal
	err := organizations.UpdateOrganization(ctx, org, func(o *Organization) (AuditEvent, error) {
		stored = AuditEvent{}
		if o.RBAC == enabled {
			return stored, nil
		}
		if stored, refused.err = s.event(org, mortise.KindOrganizationUpdated, by, org); refused.err != nil {
			return AuditEvent{}, refused.err
		}
		stored.Before, stored.After = &Snapshot{RBAC: clonePointer(&o.RBAC)}, &Snapshot{RBAC: clonePointer(&enabled)}
		o.RBAC = enabled
		return stored, nil
	})
	s.rbac.forget(org) // also after an error: the change may have been made
	err = refused.of("update organization", err)
	s.observeChange(ctx, start, org, mortise.KindOrganizationUpdated, by, org, &stored, err)
	return err
}
