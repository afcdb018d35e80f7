package authmgmttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// day is the lifetime of the suite's invitations.
const day = 24 * time.Hour

// newInvitation returns a pending invitation without roles. Its email address is made of
// its ID.
func newInvitation(org, id string, created time.Duration) authmgmt.Invitation {
	return authmgmt.Invitation{
		Organization: org, ID: id, Inviter: "Bob", InvitedBy: "user:bob", Email: id + "@example.com", Name: "Ann", Generation: 7,
		CreatedAt: moment(created), Lifetime: day, ExpiresAt: moment(created + day),
	}
}

// filledInvitation returns an invitation whose every field is set.
func filledInvitation(org, id string) authmgmt.Invitation {
	i := newInvitation(org, id, 0)
	i.Roles = someRoles()
	i.Generation = 1<<62 + 1
	i.Lifetime = day + time.Microsecond
	i.ExpiresAt = moment(day + 2*time.Microsecond)
	i.CancelledAt, i.AcceptedAt, i.AcceptedBy = moment(3*time.Microsecond), moment(4*time.Microsecond), "user:ann"
	i.GrantedAt, i.GrantDue, i.GrantAttempts, i.AwaitsPerson = moment(5*time.Microsecond), moment(6*time.Microsecond), 3, true
	return i
}

// acceptedInvitation returns an invitation that waits for its grant.
func acceptedInvitation(org, id string, due time.Duration) authmgmt.Invitation {
	i := newInvitation(org, id, 0)
	i.AcceptedAt, i.AcceptedBy, i.GrantDue, i.GrantAttempts = moment(time.Minute), "user:ann", moment(due), 1
	return i
}

// createInvitation calls CreateInvitation.
func (s *subject) createInvitation(t *testing.T, i authmgmt.Invitation, exclusive bool) error {
	t.Helper()
	return s.Store.CreateInvitation(t.Context(), i.Clone(), exclusive, newEvent(i.Organization, mortise.KindInvited, i.ID, 0))
}

// addInvitation stores an invitation that must be new.
func (s *subject) addInvitation(t *testing.T, i authmgmt.Invitation) authmgmt.Invitation {
	t.Helper()
	require.NoError(t, s.createInvitation(t, i, false), "CreateInvitation %q", i.ID)
	return i
}

// hasInvitation requires that the invitation is stored as it is here.
func (s *subject) hasInvitation(t *testing.T, want authmgmt.Invitation) {
	t.Helper()
	got, err := s.Store.Invitation(t.Context(), want.Organization, want.ID)
	require.NoError(t, err, "Invitation %q of %q", want.ID, want.Organization)
	sameInvitation(t, want, got)
}

// noInvitation requires that there is no such invitation.
func (s *subject) noInvitation(t *testing.T, org, id string) {
	t.Helper()
	_, err := s.Store.Invitation(t.Context(), org, id)
	require.ErrorIs(t, err, mortise.ErrNotFound, "Invitation %q of %q", id, org)
}

// updateInvitation changes an invitation that must be there.
func (s *subject) updateInvitation(t *testing.T, i authmgmt.Invitation, change func(*authmgmt.Invitation)) {
	t.Helper()
	require.NoError(t, s.Store.UpdateInvitation(t.Context(), i.Organization, i.ID, func(i *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
		change(i)
		return newEvent(i.Organization, mortise.KindResent, i.ID, 0), nil
	}))
}

// listInvitations returns all invitations, of whatever inviter, on one page, and requires
// that so many are counted.
func (s *subject) listInvitations(t *testing.T, org string, pendingAt time.Time) []authmgmt.Invitation {
	t.Helper()
	return s.listOfInviter(t, org, pendingAt, "")
}

// listOfInviter is listInvitations for an inviter.
func (s *subject) listOfInviter(t *testing.T, org string, pendingAt time.Time, inviter string) []authmgmt.Invitation {
	t.Helper()
	page, err := s.Store.ListInvitations(t.Context(), org, pendingAt, inviter, "", mortise.MaxPageSize)
	require.NoError(t, err)
	n, err := s.Store.CountInvitations(t.Context(), org, pendingAt, inviter, mortise.MaxCount)
	return whole(t, page, n, err)
}

// due returns what DueGrants finds.
func (s *subject) due(t *testing.T, now time.Duration, limit int) []authmgmt.Invitation {
	t.Helper()
	due, err := s.Store.DueGrants(t.Context(), moment(now), limit)
	require.NoError(t, err)
	return due
}

// sameInvitation compares all fields.
func sameInvitation(t *testing.T, want, got authmgmt.Invitation) {
	t.Helper()
	want, got = want.Clone(), got.Clone()
	conformance.SameTime(t, "CreatedAt", want.CreatedAt, &got.CreatedAt)
	conformance.SameTime(t, "ExpiresAt", want.ExpiresAt, &got.ExpiresAt)
	conformance.SameTime(t, "CancelledAt", want.CancelledAt, &got.CancelledAt)
	conformance.SameTime(t, "AcceptedAt", want.AcceptedAt, &got.AcceptedAt)
	conformance.SameTime(t, "GrantedAt", want.GrantedAt, &got.GrantedAt)
	conformance.SameTime(t, "GrantDue", want.GrantDue, &got.GrantDue)
	noneIsNil(&want.Roles)
	noneIsNil(&got.Roles)
	conformance.Same(t, want, got)
}

// invitationIDs returns the IDs of invitations, in their order.
func invitationIDs(invitations []authmgmt.Invitation) []string {
	return conformance.Each(invitations, func(x *authmgmt.Invitation) string { return x.ID })
}
