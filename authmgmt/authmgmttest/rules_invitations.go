package authmgmttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// invitationRules say what a Store keeps of an invitation.
var invitationRules = []rule{
	{Rule{"invitations/create-stores-every-field", "CreateInvitation stores i, every field of it; Invitation and ListInvitations return it."}, needStore,
		func(t *testing.T, s *subject) {
			i := s.addInvitation(t, filledInvitation(orgA, "ann"))
			s.hasInvitation(t, i)
			page := s.listInvitations(t, orgA, time.Time{})
			require.Len(t, page, 1)
			sameInvitation(t, i, page[0])
		}},

	{Rule{"invitations/unset-stays-unset", "No roles come back as none, and zero times as zero."}, needStore,
		func(t *testing.T, s *subject) {
			s.hasInvitation(t, s.addInvitation(t, newInvitation(orgA, "ann", 0)))
			empty := newInvitation(orgA, "bea", 0)
			empty.Roles = []access.Role{}
			s.hasInvitation(t, s.addInvitation(t, empty))
		}},

	{Rule{"invitations/times-keep-microseconds", "Times of invitations keep microseconds, and are UTC; Lifetime is kept in whole microseconds."}, needStore,
		func(t *testing.T, s *subject) {
			for n, at := range exactTimes {
				i := newInvitation(orgA, fmt.Sprint("i", n), 0)
				i.CreatedAt, i.ExpiresAt, i.CancelledAt, i.AcceptedAt, i.GrantedAt, i.GrantDue = at, at, at, at, at, at
				i.Lifetime = []time.Duration{time.Microsecond, 30 * day, day + 999_999*time.Microsecond, 123_457 * time.Microsecond}[n%4]
				s.addInvitation(t, i)
				s.hasInvitation(t, i)
			}
		}},

	{Rule{"invitations/names-are-apart", "An invitation is named by its organization and its ID: what reads the same when the two are joined is another invitation."}, needStore,
		func(t *testing.T, s *subject) {
			conformance.Apart(t,
				func(pair [2]string) { s.addInvitation(t, newInvitation(pair[0], pair[1], 0)) },
				func(pair [2]string) bool {
					_, err := s.Store.Invitation(t.Context(), pair[0], pair[1])
					return err == nil
				}, nil)
		}},

	{Rule{"invitations/longest", "Every text of an invitation comes back whole, as long as it can be."}, needStore,
		func(t *testing.T, s *subject) {
			i := filledInvitation(orgA, "ann")
			mutate.Stretch(&i)
			s.addInvitation(t, i)
			s.hasInvitation(t, i)
			sameInvitation(t, i, s.listInvitations(t, i.Organization, time.Time{})[0])
			short := s.addInvitation(t, newInvitation(orgB, "ann", 0))
			short.Name, short.AcceptedBy = i.Name, i.AcceptedBy
			s.updateInvitation(t, short, func(left *authmgmt.Invitation) { left.Name, left.AcceptedBy = i.Name, i.AcceptedBy })
			s.hasInvitation(t, short)
		}},

	{Rule{"invitations/strings-keep-every-byte", "Strings keep every byte, those of an invitation: the email address as it was written."}, needStore,
		func(t *testing.T, s *subject) {
			for _, text := range hard {
				i := newInvitation(text, text, 0)
				i.Inviter, i.InvitedBy, i.Email, i.Name, i.AcceptedBy = text, text, text+"@Example.COM", text, text
				i.Roles = []access.Role{{ID: text, Resource: access.ResourceType(text), ResourceInstance: text}}
				s.addInvitation(t, i)
				s.hasInvitation(t, i)
				s.updateInvitation(t, i, func(i *authmgmt.Invitation) { i.Name += text })
				i.Name += text
				s.hasInvitation(t, i)
			}
		}},

	{Rule{"invitations/names-are-bytes", "Organizations and IDs of invitations are compared as bytes."}, needStore,
		func(t *testing.T, s *subject) {
			byOrg, byID := make(map[string]authmgmt.Invitation), make(map[string]authmgmt.Invitation)
			for _, text := range hard {
				byOrg[text] = s.addInvitation(t, newInvitation(text, "ann", 0))
				byID[text] = s.addInvitation(t, newInvitation(orgA, text, 0))
			}
			for _, text := range hard {
				s.hasInvitation(t, byOrg[text])
				s.hasInvitation(t, byID[text])
				require.Equal(t, 1, len(s.listInvitations(t, text, time.Time{})), "invitations of %q", text)
			}
			s.noInvitation(t, orgA, "Acme")
		}},

	{Rule{"invitations/generation-is-exact", "Generation is kept as it is, whatever its size."}, needStore,
		func(t *testing.T, s *subject) {
			for n, generation := range []int64{0, 1, 1<<53 + 1, 1<<62 - 1, 1<<63 - 1} {
				i := newInvitation(orgA, fmt.Sprint("i", n), 0)
				i.Generation = generation
				s.addInvitation(t, i)
				s.hasInvitation(t, i)
			}
		}},

	{Rule{"invitations/copies", "Arguments and results are the receiver's own: invitations and the events stored with them are copies."}, needStore,
		func(t *testing.T, s *subject) {
			i, e := filledInvitation(orgA, "ann"), filledEvent(orgA, "ann")
			mine, event := i.Clone(), e.Clone()
			require.NoError(t, s.Store.CreateInvitation(t.Context(), mine, false, event))
			spoilRoles(mine.Roles)
			spoilSnapshot(event.Before)
			s.hasInvitation(t, i)
			s.HasEvent(t, e)
			got, err := s.Store.Invitation(t.Context(), orgA, "ann")
			require.NoError(t, err)
			spoilRoles(got.Roles)
			s.hasInvitation(t, i)
			spoilRoles(s.listInvitations(t, orgA, time.Time{})[0].Roles)
			s.hasInvitation(t, i)
			var kept *authmgmt.Invitation
			s.updateInvitation(t, i, func(i *authmgmt.Invitation) { kept = i })
			spoilRoles(kept.Roles)
			s.hasInvitation(t, i)
			mine = i.Clone()
			s.updateInvitation(t, i, func(i *authmgmt.Invitation) { i.Roles = mine.Roles })
			spoilRoles(mine.Roles)
			s.hasInvitation(t, i)
		}},

	{Rule{"invitations/create-refuses-an-id-that-is-taken", "CreateInvitation is ErrExists if the organization has an invitation with the ID, in whatever state."}, needStore,
		func(t *testing.T, s *subject) {
			pending, expired := newInvitation(orgA, "pending", 0), newInvitation(orgA, "expired", -10*day)
			cancelled, accepted := newInvitation(orgA, "cancelled", 0), filledInvitation(orgA, "accepted")
			cancelled.CancelledAt = moment(time.Minute)
			for _, i := range []authmgmt.Invitation{pending, expired, cancelled, accepted} {
				s.addInvitation(t, i)
				for _, exclusive := range []bool{false, true} {
					twin := newInvitation(orgA, i.ID, time.Hour)
					twin.Email = "other@example.com"
					s.refusesInvitation(t, twin, exclusive, mortise.ErrExists)
					s.hasInvitation(t, i)
				}
			}
		}},

	{Rule{"invitations/id-is-of-its-organization", "An invitation's ID is unique within its organization: another one can have the same, and neither sees the other's."}, needStore,
		func(t *testing.T, s *subject) {
			a, b := s.addInvitation(t, filledInvitation(orgA, "ann")), s.addInvitation(t, newInvitation(orgB, "ann", 0))
			s.updateInvitation(t, b, func(i *authmgmt.Invitation) { i.CancelledAt = moment(time.Hour) })
			b.CancelledAt = moment(time.Hour)
			s.hasInvitation(t, a)
			s.hasInvitation(t, b)
		}},

	{Rule{"invitations/get-unknown", "An unknown invitation, and one of another organization, is ErrNotFound."}, needStore,
		func(t *testing.T, s *subject) {
			s.noInvitation(t, orgA, "ann")
			s.addInvitation(t, newInvitation(orgA, "ann", 0))
			s.addInvitation(t, newInvitation(orgB, "bea", 0))
			for _, where := range [][2]string{{orgA, "bea"}, {orgB, "ann"}, {orgA, ""}, {"", "ann"}, {"", ""}} {
				s.noInvitation(t, where[0], where[1])
			}
		}},

	{Rule{"invitations/get-in-whatever-state", "Invitation returns an invitation in whatever state."}, needStore,
		func(t *testing.T, s *subject) {
			i := s.addInvitation(t, newInvitation(orgA, "ann", -10*day)) // expired
			s.hasInvitation(t, i)
			i.CancelledAt = moment(0)
			s.updateInvitation(t, i, func(stored *authmgmt.Invitation) { stored.CancelledAt = i.CancelledAt })
			s.hasInvitation(t, i)
			i.AcceptedAt = moment(0)
			s.updateInvitation(t, i, func(stored *authmgmt.Invitation) { stored.AcceptedAt = i.AcceptedAt })
			s.hasInvitation(t, i)
		}},

	{Rule{"invitations/update-stores-what-it-leaves", "UpdateInvitation calls update with what is stored and stores what it leaves, but for the fixed fields."}, needStore,
		func(t *testing.T, s *subject) {
			plain, filled := newInvitation(orgA, "ann", 0), filledInvitation(orgA, "ann")
			filled.Inviter, filled.InvitedBy, filled.Name = "Cleo", "user:cleo", "Anna"
			s.addInvitation(t, plain)
			bystander := s.addInvitation(t, filledInvitation(orgA, "bea"))
			for _, step := range []struct{ before, after authmgmt.Invitation }{{plain, filled}, {filled, plain}} {
				var seen authmgmt.Invitation
				s.updateInvitation(t, plain, func(i *authmgmt.Invitation) { seen, *i = i.Clone(), step.after.Clone() })
				sameInvitation(t, step.before, seen)
				s.hasInvitation(t, step.after)
				s.hasInvitation(t, bystander)
			}
		}},

	{Rule{"invitations/update-ignores-fixed-fields", "Organization, ID, Email and CreatedAt of an invitation cannot change; such changes are ignored."}, needStore,
		func(t *testing.T, s *subject) {
			i := s.addInvitation(t, newInvitation(orgA, "ann", 0))
			s.updateInvitation(t, i, func(i *authmgmt.Invitation) {
				i.Organization, i.ID, i.Email, i.CreatedAt = orgB, "moved", "mallory@example.com", moment(time.Hour)
				i.GrantAttempts = 7
			})
			i.GrantAttempts = 7
			s.hasInvitation(t, i)
			for _, where := range [][2]string{{orgA, "moved"}, {orgB, "moved"}, {orgB, "ann"}} {
				s.noInvitation(t, where[0], where[1])
			}
			require.Zero(t, len(s.listInvitations(t, orgB, time.Time{})))
			twin := newInvitation(orgA, "twin", time.Minute)
			twin.Email = i.Email
			s.refusesInvitation(t, twin, true, authmgmt.ErrPendingInvitation)
			twin.Email = "mallory@example.com"
			require.NoError(t, s.createInvitation(t, twin, true))
		}},
}

// refusesInvitation requires that CreateInvitation returns the sentinel and stores no
// event.
func (s *subject) refusesInvitation(t *testing.T, i authmgmt.Invitation, exclusive bool, sentinel error) {
	t.Helper()
	e := newEvent(i.Organization, mortise.KindInvited, i.ID, 0)
	require.ErrorIs(t, s.Store.CreateInvitation(t.Context(), i.Clone(), exclusive, e), sentinel)
	s.NoEvent(t, e)
}
