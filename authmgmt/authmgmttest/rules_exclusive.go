package authmgmttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// invitee returns an invitation of an address, with an ID of its own.
func invitee(org, id, email string, created time.Duration) authmgmt.Invitation {
	i := newInvitation(org, id, created)
	i.Email = email
	return i
}

// exclusiveRules say when CreateInvitation refuses an address.
var exclusiveRules = []rule{
	{Rule{"invitations/exclusive-refuses-a-pending-one", "If exclusive is set, CreateInvitation is ErrPendingInvitation if the organization has an invitation with the same EmailKey that is pending at i.CreatedAt."}, needStore,
		func(t *testing.T, s *subject) {
			first := invitee(orgA, "first", "ann@example.com", 0)
			require.NoError(t, s.createInvitation(t, first, true))
			s.addInvitation(t, invitee(orgA, "imported", "bea@example.com", 0)) // not exclusive itself
			for n, email := range []string{"ann@example.com", "bea@example.com"} {
				second := invitee(orgA, fmt.Sprint("second", n), email, time.Hour)
				s.refusesInvitation(t, second, true, authmgmt.ErrPendingInvitation)
				s.noInvitation(t, orgA, second.ID)
			}
			s.hasInvitation(t, first)
			require.Equal(t, 2, len(s.listInvitations(t, orgA, time.Time{})))
		}},

	{Rule{"invitations/not-exclusive-asks-nobody", "If exclusive is not set, other invitations of the address do not matter."}, needStore,
		func(t *testing.T, s *subject) {
			for n := range 3 {
				s.hasInvitation(t, s.addInvitation(t, invitee(orgA, fmt.Sprint("i", n), "ann@example.com", 0)))
			}
		}},

	{Rule{"invitations/exclusive-in-lower-case", "EmailKey is the address in lower case, of whatever alphabet, and nothing else about it is changed."}, needStore,
		func(t *testing.T, s *subject) {
			for n, pair := range []struct {
				first, second string
				same          bool
			}{
				{"Ann@Example.com", "aNN@eXAMPLE.COM", true},
				{"\u00c4nne@example.com", "\u00e4NNE@example.com", true},
				{"\u0394elta@example.com", "\u03b4ELTA@example.com", true},
				{"\u212aelvin@example.com", "kelvin@example.com", true}, // the sign of the unit
				{"anna@example.com", "\u00e4nna@example.com", false},
				{"\u00e9va@example.com", "e\u0301va@example.com", false},
				{"stra\u00dfe@example.com", "strasse@example.com", false},
				{"long\u017f@example.com", "longs@example.com", false},
				{"ida@example.com", "ida@example.com ", false},
				{"i+a@example.com", "i@example.com", false},
				{"u_a@example.com", "uxa@example.com", false},
				{"u%@example.com", "uxyz@example.com", false},
			} {
				require.NoError(t, s.createInvitation(t, invitee(orgA, fmt.Sprint("first", n), pair.first, 0), true))
				second := invitee(orgA, fmt.Sprint("second", n), pair.second, 0)
				if pair.same {
					s.refusesInvitation(t, second, true, authmgmt.ErrPendingInvitation)
				} else {
					require.NoError(t, s.createInvitation(t, second, true), "%q after %q", pair.second, pair.first)
				}
			}
		}},

	{Rule{"invitations/exclusive-within-the-organization", "A pending invitation of another organization does not block."}, needStore,
		func(t *testing.T, s *subject) {
			require.NoError(t, s.createInvitation(t, invitee(orgA, "ann", "ann@example.com", 0), true))
			require.NoError(t, s.createInvitation(t, invitee(orgB, "ann", "ann@example.com", 0), true))
		}},

	{Rule{"invitations/expired-does-not-block", "An invitation blocks its address while it is pending at i.CreatedAt: from ExpiresAt on it does not."}, needStore,
		func(t *testing.T, s *subject) {
			s.addInvitation(t, invitee(orgA, "first", "ann@example.com", 0))
			s.refusesInvitation(t, invitee(orgA, "early", "ann@example.com", day-time.Microsecond), true, authmgmt.ErrPendingInvitation)
			require.NoError(t, s.createInvitation(t, invitee(orgA, "second", "ann@example.com", day), true))
			s.refusesInvitation(t, invitee(orgA, "third", "ann@example.com", day), true, authmgmt.ErrPendingInvitation)
		}},

	{Rule{"invitations/cancelled-does-not-block", "A cancelled invitation does not block its address."}, needStore,
		func(t *testing.T, s *subject) {
			i := s.addInvitation(t, invitee(orgA, "first", "ann@example.com", 0))
			s.updateInvitation(t, i, func(i *authmgmt.Invitation) { i.CancelledAt = moment(time.Minute) })
			require.NoError(t, s.createInvitation(t, invitee(orgA, "second", "ann@example.com", time.Hour), true))
		}},

	{Rule{"invitations/accepted-does-not-block", "An accepted invitation does not block its address, granted or not."}, needStore,
		func(t *testing.T, s *subject) {
			for n, email := range []string{"ann@example.com", "bea@example.com"} {
				i := s.addInvitation(t, invitee(orgA, fmt.Sprint("first", n), email, 0))
				s.updateInvitation(t, i, func(i *authmgmt.Invitation) {
					i.AcceptedAt = moment(time.Minute)
					if n == 1 {
						i.GrantedAt = moment(time.Minute)
					}
				})
				require.NoError(t, s.createInvitation(t, invitee(orgA, fmt.Sprint("second", n), email, time.Hour), true))
			}
		}},

	{Rule{"invitations/extended-blocks", "An invitation whose ExpiresAt was moved blocks its address until then."}, needStore,
		func(t *testing.T, s *subject) {
			i := s.addInvitation(t, invitee(orgA, "first", "ann@example.com", 0))
			s.updateInvitation(t, i, func(i *authmgmt.Invitation) { i.ExpiresAt = moment(2 * day) })
			s.refusesInvitation(t, invitee(orgA, "early", "ann@example.com", 2*day-time.Microsecond), true, authmgmt.ErrPendingInvitation)
			require.NoError(t, s.createInvitation(t, invitee(orgA, "second", "ann@example.com", 2*day), true))
		}},

	{Rule{"invitations/exclusive-concurrent", "CreateInvitation is atomic: of many at once for one address one is stored, and the others return ErrPendingInvitation."}, needStore,
		func(t *testing.T, s *subject) {
			for round := range 4 {
				var errs [50]error
				id := func(i int) string { return fmt.Sprint("r", round, "i", i) }
				email := func(i int) string { return fmt.Sprint([]string{"ann", "Ann", "ANN"}[i%3], round, "@example.com") }
				events := make([]authmgmt.AuditEvent, len(errs))
				for i := range events {
					events[i] = newEvent(orgA, mortise.KindInvited, id(i), 0)
				}
				conformance.Together(len(errs), func(i int) {
					errs[i] = s.Store.CreateInvitation(t.Context(), invitee(orgA, id(i), email(i), 0), true, events[i])
				})
				winner := conformance.OneWins(t, errs[:], authmgmt.ErrPendingInvitation)
				s.hasInvitation(t, invitee(orgA, id(winner), email(winner), 0))
				s.HasEvent(t, events[winner])
				require.Equal(t, round+1, len(s.listInvitations(t, orgA, time.Time{})))
				require.Len(t, s.Trail(t, orgA), round+1)
			}
		}},
}
