package authmgmttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// setRBAC writes an organization.
func (s *subject) setRBAC(t *testing.T, org string, enabled bool) {
	t.Helper()
	require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), org, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
		o.RBAC = enabled
		return authmgmt.AuditEvent{}, nil
	}))
}

// hasRBAC requires that the organization is there, with or without role-based access
// control.
func (s *subject) hasRBAC(t *testing.T, org string, want bool) {
	t.Helper()
	o, err := s.Organizations.AccessControl(t.Context(), org)
	require.NoError(t, err)
	require.Equal(t, authmgmt.Organization{ID: org, RBAC: want}, o)
}

// noOrganization requires that the organization was never written.
func (s *subject) noOrganization(t *testing.T, org string) {
	t.Helper()
	_, err := s.Organizations.AccessControl(t.Context(), org)
	require.ErrorIs(t, err, mortise.ErrNotFound)
}

// organizationRules are the rules of Directory and Organizations, but for those that all
// updates have.
var organizationRules = []rule{
	{Rule{"organizations/unknown", "AccessControl returns ErrNotFound for an organization that was never written."}, needOrganizations,
		func(t *testing.T, s *subject) {
			s.noOrganization(t, orgA)
			s.setRBAC(t, orgB, true)
			s.noOrganization(t, orgA)
			s.noOrganization(t, "")
		}},

	{Rule{"organizations/not-made-by-others", "An organization that has only clients, tokens and invitations was never written."}, needOrganizations | needStore,
		func(t *testing.T, s *subject) {
			s.addClient(t, newClient(orgA, "build", 0))
			s.addToken(t, newToken(orgA, 0))
			s.addInvitation(t, newInvitation(orgA, "ann", 0))
			s.noOrganization(t, orgA)
		}},

	{Rule{"organizations/update-keeps-the-id", "UpdateOrganization ignores a change of the ID."}, needOrganizations,
		func(t *testing.T, s *subject) {
			require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), orgA, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
				o.ID, o.RBAC = orgB, true
				return authmgmt.AuditEvent{}, nil
			}))
			s.hasRBAC(t, orgA, true)
			s.noOrganization(t, orgB)
		}},

	{Rule{"organizations/update-stores-what-it-leaves", "UpdateOrganization calls update with what is stored, and stores what it leaves."}, needOrganizations,
		func(t *testing.T, s *subject) {
			s.setRBAC(t, orgB, false)
			was := false
			for _, enabled := range []bool{true, true, false, true} {
				var seen authmgmt.Organization
				require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), orgA, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
					seen = *o
					o.RBAC = enabled
					return authmgmt.AuditEvent{}, nil
				}))
				require.Equal(t, authmgmt.Organization{ID: orgA, RBAC: was}, seen)
				s.hasRBAC(t, orgA, enabled)
				s.hasRBAC(t, orgB, false)
				was = enabled
			}
		}},

	{Rule{"organizations/update-makes-it", "If there is no organization yet, update gets one with nothing but its ID, and what it leaves is stored, even if that is no more."}, needOrganizations,
		func(t *testing.T, s *subject) {
			for _, org := range []string{orgA, orgB} {
				var got authmgmt.Organization
				require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), org, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
					got = *o
					return authmgmt.AuditEvent{}, nil
				}))
				require.Equal(t, authmgmt.Organization{ID: org}, got)
				s.hasRBAC(t, org, false)
			}
		}},

	{Rule{"organizations/update-copies", "UpdateOrganization calls update with a copy."}, needOrganizations,
		func(t *testing.T, s *subject) {
			var kept *authmgmt.Organization
			require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), orgA, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
				kept = o
				o.RBAC = true
				return authmgmt.AuditEvent{}, nil
			}))
			*kept = authmgmt.Organization{ID: "spoiled"}
			s.hasRBAC(t, orgA, true)
		}},

	{Rule{"organizations/refused-makes-none", "An error of update leaves everything as it was: no organization is made."}, needOrganizations,
		func(t *testing.T, s *subject) {
			require.ErrorIs(t, s.Organizations.UpdateOrganization(t.Context(), orgA, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
				o.RBAC = true
				return newEvent(orgA, mortise.KindOrganizationUpdated, orgA, 0), errRefused
			}), errRefused)
			s.noOrganization(t, orgA)
		}},

	{Rule{"organizations/names-are-bytes", "Organizations are the same if every byte of their IDs is."}, needOrganizations,
		func(t *testing.T, s *subject) {
			for n, org := range hard {
				s.noOrganization(t, org)
				s.setRBAC(t, org, n%2 == 0)
			}
			for n, org := range hard {
				s.hasRBAC(t, org, n%2 == 0)
			}
			s.noOrganization(t, "Acme")
		}},
}
