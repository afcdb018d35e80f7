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

// exactly is the Count of n things that were counted to the end.
func exactly(n int) mortise.Count { return mortise.Count{N: n} }

// hasStats requires that Stats returns want at a time, where it counts up to most.
func (s *subject) hasStats(t *testing.T, org string, now time.Duration, most int, want authmgmt.Stats) {
	t.Helper()
	at := moment(now).In(time.FixedZone("", -5*3600))
	got, err := s.Store.Stats(t.Context(), org, at, most)
	require.NoError(t, err, "Stats of %q up to %d", org, most)
	conformance.SameTime(t, "OldestWaiting", want.OldestWaiting, &got.OldestWaiting)
	require.Equal(t, want, got, "Stats of %q at %v up to %d", org, now, most)
}

// hasStatsAll is hasStats for StatsAll.
func (s *subject) hasStatsAll(t *testing.T, most int, want authmgmt.AllStats) {
	t.Helper()
	got, err := s.Store.StatsAll(t.Context(), most)
	require.NoError(t, err, "StatsAll up to %d", most)
	conformance.SameTime(t, "OldestWaiting", want.OldestWaiting, &got.OldestWaiting)
	conformance.SameTime(t, "NextDue", want.NextDue, &got.NextDue)
	require.Equal(t, want, got, "StatsAll up to %d", most)
}

// waitingInvitation returns one that was accepted at a time and is due at another one.
func waitingInvitation(org, id string, accepted, due time.Duration) authmgmt.Invitation {
	i := acceptedInvitation(org, id, due)
	i.AcceptedAt = moment(accepted)
	return i
}

// statsRules are the rules of Counter.
var statsRules = []rule{
	{Rule{"counter/nothing", "An organization that has nothing has nothing to count, without an error."}, needStore,
		func(t *testing.T, s *subject) {
			s.hasStats(t, orgA, 0, 10, authmgmt.Stats{})
			s.hasStatsAll(t, 10, authmgmt.AllStats{})
			s.addSample(t)
			s.hasStats(t, "org-c", 0, 10, authmgmt.Stats{})
			s.hasStats(t, "", 0, 10, authmgmt.Stats{})
		}},

	{Rule{"counter/clients", "Stats counts the clients that are not deleted."}, needStore,
		func(t *testing.T, s *subject) {
			for n := range 3 {
				s.addClient(t, newClient(orgA, fmt.Sprint("c", n), 0))
			}
			s.hasStats(t, orgA, 0, 10, authmgmt.Stats{Clients: exactly(3)})
			s.deleteClient(t, authmgmt.Client{Organization: orgA, ID: "c1"})
			s.hasStats(t, orgA, 0, 10, authmgmt.Stats{Clients: exactly(2)})
		}},

	{Rule{"counter/tokens", "Stats counts the tokens that work at the time: neither revoked nor expired, those that never expire and those of clients included."}, needStore,
		func(t *testing.T, s *subject) {
			has := func(now time.Duration, n int) {
				t.Helper()
				s.hasStats(t, orgA, now, 10, authmgmt.Stats{Clients: exactly(1), Tokens: exactly(n)})
			}
			c := s.addClient(t, newClient(orgA, "build", 0))
			s.addToken(t, clientToken(c, 0, 0)) // for an hour
			s.addToken(t, newToken(orgA, 0))    // for ever
			ended := newToken(orgA, 0)
			ended.ExpiresAt = moment(2 * time.Hour)
			s.addToken(t, ended)
			revoked := newToken(orgA, 0)
			revoked.RevokedAt = moment(0)
			s.addToken(t, revoked)
			has(0, 3)
			has(time.Hour-time.Microsecond, 3)
			has(time.Hour, 2)
			has(2*time.Hour, 1)
			has(1000*day, 1)
			s.updateToken(t, ended, func(k *authmgmt.Token) { k.RevokedAt = moment(0) })
			has(0, 2)
			s.updateClient(t, c, func(c *authmgmt.Client) { c.Secrets = nil })
			has(0, 1)
		}},

	{Rule{"counter/invitations", "Stats counts the invitations that are pending at the time, by Invitation.State."}, needStore,
		func(t *testing.T, s *subject) {
			has := func(now time.Duration, n int) {
				t.Helper()
				s.hasStats(t, orgA, now, 10, authmgmt.Stats{Pending: exactly(n)})
			}
			first := s.addInvitation(t, newInvitation(orgA, "first", 0))
			later := newInvitation(orgA, "later", 0)
			later.ExpiresAt = moment(2 * day)
			s.addInvitation(t, later)
			over := newInvitation(orgA, "over", 0)
			over.AcceptedAt, over.GrantedAt = moment(0), moment(0)
			s.addInvitation(t, over)
			has(0, 2)
			has(day-time.Microsecond, 2)
			has(day, 1)
			has(2*day, 0)
			s.updateInvitation(t, first, func(i *authmgmt.Invitation) { i.CancelledAt = moment(0) })
			has(0, 1)
			s.updateInvitation(t, later, func(i *authmgmt.Invitation) { i.ExpiresAt = moment(3 * day) })
			has(2*day, 1)
		}},

	{Rule{"counter/waiting", "Stats counts the invitations that are accepted and not granted yet, those that wait for the person too, and says when the oldest was accepted."}, needStore,
		func(t *testing.T, s *subject) {
			has := func(n int, oldest time.Time) {
				t.Helper()
				s.hasStats(t, orgA, 100*day, 10, authmgmt.Stats{Waiting: exactly(n), OldestWaiting: oldest})
			}
			for n, at := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
				s.addInvitation(t, waitingInvitation(orgA, fmt.Sprint("i", n), at, -at))
			}
			has(3, moment(time.Hour))
			one := authmgmt.Invitation{Organization: orgA, ID: "i1"}
			s.updateInvitation(t, one, func(i *authmgmt.Invitation) { i.AwaitsPerson = true })
			has(3, moment(time.Hour))
			s.updateInvitation(t, one, func(i *authmgmt.Invitation) { i.GrantedAt = moment(day) })
			has(2, moment(2*time.Hour))
			for _, id := range []string{"i0", "i2"} {
				s.updateInvitation(t, authmgmt.Invitation{Organization: orgA, ID: id}, func(i *authmgmt.Invitation) { i.GrantedAt = moment(day) })
			}
			has(0, time.Time{})
		}},

	{Rule{"counter/of-organization", "Stats counts what one organization has, whose name is the same if every byte is."}, needStore,
		func(t *testing.T, s *subject) {
			orgs := []string{"acme", "ACME", "acme ", "acme\x00", "acm", "acme/"}
			fill := func(n int, org string, do func(id string, at time.Duration)) {
				for i := range n {
					do(fmt.Sprint(org, i), time.Duration(n)*time.Hour)
				}
			}
			for n, org := range orgs {
				fill(n, org, func(id string, at time.Duration) {
					s.addClient(t, newClient(org, id, 0))
					s.addToken(t, newToken(org, 0))
					s.addInvitation(t, newInvitation(org, id, 0))
					s.addInvitation(t, waitingInvitation(org, id+"w", at, 0))
				})
			}
			for n, org := range orgs {
				want := authmgmt.Stats{Clients: exactly(n), Tokens: exactly(n), Pending: exactly(n), Waiting: exactly(n)}
				if n > 0 {
					want.OldestWaiting = moment(time.Duration(n) * time.Hour)
				}
				s.hasStats(t, org, 0, 10, want)
			}
		}},

	{Rule{"counter/up-to-most", "A Count is exact up to most, and else it is most and More."}, needStore,
		func(t *testing.T, s *subject) {
			const n = 4
			for i := range n {
				s.addClient(t, newClient(orgA, fmt.Sprint("c", i), 0))
				k := newToken(orgA, 0)
				if i%2 == 0 {
					k.ExpiresAt = moment(day)
				}
				s.addToken(t, k)
				s.addInvitation(t, newInvitation(orgA, fmt.Sprint("i", i), 0))
				s.addInvitation(t, waitingInvitation(orgA, fmt.Sprint("w", i), time.Duration(n-i)*time.Hour, 0))
			}
			for most := 1; most <= n+1; most++ {
				c := mortise.CountUpTo(n, most)
				oldest := moment(time.Hour)
				s.hasStats(t, orgA, 0, most, authmgmt.Stats{Clients: c, Tokens: c, Pending: c, Waiting: c, OldestWaiting: oldest})
				s.hasStatsAll(t, most, authmgmt.AllStats{Waiting: c, OldestWaiting: oldest, NextDue: moment(0)})
			}
		}},

	{Rule{"counter/all", "StatsAll counts the invitations of all organizations that are accepted and not granted yet, and says when the oldest was accepted."}, needStore,
		func(t *testing.T, s *subject) {
			for n, org := range []string{orgB, orgA, "org-c"} {
				s.addInvitation(t, newInvitation(org, "pending", 0))
				s.addInvitation(t, waitingInvitation(org, "i", time.Duration(3-n)*time.Hour, time.Hour))
			}
			s.hasStatsAll(t, 10, authmgmt.AllStats{Waiting: exactly(3), OldestWaiting: moment(time.Hour), NextDue: moment(time.Hour)})
			s.updateInvitation(t, authmgmt.Invitation{Organization: "org-c", ID: "i"}, func(i *authmgmt.Invitation) { i.GrantedAt = moment(day) })
			s.hasStatsAll(t, 10, authmgmt.AllStats{Waiting: exactly(2), OldestWaiting: moment(2 * time.Hour), NextDue: moment(time.Hour)})
		}},

	{Rule{"counter/next-due", "NextDue of StatsAll is the earliest GrantDue of those that wait and do not wait for the person; one that is zero does not count."}, needStore,
		func(t *testing.T, s *subject) {
			for n, due := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
				s.addInvitation(t, waitingInvitation([]string{orgA, orgB}[n%2], fmt.Sprint("i", n), 0, due))
			}
			none := waitingInvitation(orgA, "none", 0, 0)
			none.GrantDue = time.Time{}
			s.addInvitation(t, none)
			has := func(n int, next time.Time) {
				t.Helper()
				s.hasStatsAll(t, 10, authmgmt.AllStats{Waiting: exactly(n), OldestWaiting: moment(0), NextDue: next})
			}
			has(4, moment(time.Hour))
			s.updateInvitation(t, authmgmt.Invitation{Organization: orgB, ID: "i1"}, func(i *authmgmt.Invitation) { i.AwaitsPerson = true })
			has(4, moment(2*time.Hour))
			s.updateInvitation(t, authmgmt.Invitation{Organization: orgA, ID: "i2"}, func(i *authmgmt.Invitation) { i.GrantedAt = moment(day) })
			has(3, moment(3*time.Hour))
			s.updateInvitation(t, authmgmt.Invitation{Organization: orgA, ID: "i0"}, func(i *authmgmt.Invitation) { i.AwaitsPerson = true })
			has(3, time.Time{})
		}},
}
