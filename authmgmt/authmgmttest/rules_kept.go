package authmgmttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// hasKept requires that CountKept counts so many clients and invitations at a time, up to
// most.
func (s *subject) hasKept(t *testing.T, org string, now time.Duration, most, clients, invitations int) {
	t.Helper()
	at := moment(now).In(time.FixedZone("", -5*3600))
	kept, pending, err := s.Store.CountKept(t.Context(), org, at, most)
	require.NoError(t, err, "CountKept of %q up to %d", org, most)
	require.Equal(t, mortise.CountUpTo(clients, most), kept, "clients of %q up to %d", org, most)
	require.Equal(t, mortise.CountUpTo(invitations, most), pending, "invitations of %q at %v up to %d", org, now, most)
}

// keptRules are the rules of CountKept.
var keptRules = []rule{
	{Rule{"kept/clients", "CountKept counts the clients that are not deleted."}, needStore,
		func(t *testing.T, s *subject) {
			for n := range 3 {
				s.addClient(t, newClient(orgA, fmt.Sprint("c", n), 0))
			}
			s.hasKept(t, orgA, 0, 10, 3, 0)
			s.deleteClient(t, authmgmt.Client{Organization: orgA, ID: "c1"})
			s.hasKept(t, orgA, 0, 10, 2, 0)
		}},

	{Rule{"kept/invitations", "CountKept counts the invitations that are pending at the time, by Invitation.State."}, needStore,
		func(t *testing.T, s *subject) {
			has := func(now time.Duration, n int) {
				t.Helper()
				s.hasKept(t, orgA, now, 10, 0, n)
			}
			first := s.addInvitation(t, newInvitation(orgA, "first", 0))
			later := newInvitation(orgA, "later", 0)
			later.ExpiresAt = moment(2 * day)
			s.addInvitation(t, later)
			over := newInvitation(orgA, "over", 0)
			over.AcceptedAt, over.GrantedAt = moment(0), moment(0)
			s.addInvitation(t, over)
			s.addInvitation(t, acceptedInvitation(orgA, "accepted", 0))
			has(0, 2)
			has(day-time.Microsecond, 2)
			has(day, 1)
			has(2*day, 0)
			s.updateInvitation(t, first, func(i *authmgmt.Invitation) { i.CancelledAt = moment(0) })
			has(0, 1)
			s.updateInvitation(t, later, func(i *authmgmt.Invitation) { i.ExpiresAt = moment(3 * day) })
			has(2*day, 1)
		}},

	{Rule{"kept/of-organization", "CountKept counts the clients and invitations of one organization; names are the same if every byte is. An unknown organization has none."}, needStore,
		func(t *testing.T, s *subject) {
			orgs := []string{"acme", "ACME", "acme ", "acme\x00", "acm", "acme/"}
			for n, org := range orgs {
				for i := range n {
					s.addClient(t, newClient(org, fmt.Sprint(org, i), 0))
					s.addInvitation(t, newInvitation(org, fmt.Sprint(org, i), 0))
				}
			}
			for n, org := range orgs {
				s.hasKept(t, org, 0, 10, n, n)
			}
			s.hasKept(t, "", 0, 10, 0, 0)
		}},

	{Rule{"kept/up-to-most", "A Count of CountKept is exact up to most, and else it is most and More."}, needStore,
		func(t *testing.T, s *subject) {
			const n = 4
			for i := range n {
				s.addClient(t, newClient(orgA, fmt.Sprint("c", i), 0))
				s.addInvitation(t, newInvitation(orgA, fmt.Sprint("i", i), 0))
			}
			for most := 1; most <= n+1; most++ {
				s.hasKept(t, orgA, 0, most, n, n)
			}
		}},
}
