package authmgmttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// byteOrder are names in the order of their bytes, which is not the order of any language.
var byteOrder = []string{"\x01", "1", "10", "9", "B", "B ", "a", "a\x01", "aB", "ab", "b", "\u00e4", "\ufffd", "\U0001F4DA"}

// invitationListRules are the rules of ListInvitations.
var invitationListRules = []rule{
	{Rule{"invitations/list-newest-first", "ListInvitations returns invitations newest first, by CreatedAt, in whatever state if pendingAt is zero."}, needStore,
		func(t *testing.T, s *subject) {
			want := make([]authmgmt.Invitation, 6)
			for _, i := range []int{3, 0, 5, 4, 1, 2} {
				want[i] = filledInvitation(orgA, fmt.Sprint("i", i%3, i))
				want[i].CreatedAt = moment(-time.Duration(i) * time.Microsecond)
				switch i {
				case 1:
					want[i].AcceptedAt, want[i].CancelledAt = time.Time{}, time.Time{}
				case 2:
					want[i].AcceptedAt = time.Time{}
				case 3:
					want[i].AcceptedAt, want[i].CancelledAt, want[i].ExpiresAt = time.Time{}, time.Time{}, moment(-day)
				}
				s.addInvitation(t, want[i])
			}
			page := s.listInvitations(t, orgA, time.Time{})
			require.Equal(t, invitationIDs(want), invitationIDs(page))
			for i := range want {
				sameInvitation(t, want[i], page[i])
			}
		}},

	{Rule{"invitations/list-pending", "If pendingAt is not zero, ListInvitations returns only those that are pending at that time, by Invitation.State."}, needStore,
		func(t *testing.T, s *subject) {
			var all []authmgmt.Invitation
			for n := range 16 {
				i := newInvitation(orgA, fmt.Sprint("i", n), time.Duration(n)*time.Hour)
				if n&1 != 0 {
					i.AcceptedAt = moment(day)
				}
				if n&2 != 0 {
					i.CancelledAt = moment(day)
				}
				if n&4 != 0 {
					i.ExpiresAt = moment(3 * day)
				}
				if n&8 != 0 { // by a change, not from the beginning
					created := i
					created.AcceptedAt, created.CancelledAt, created.ExpiresAt = time.Time{}, time.Time{}, moment(100*day)
					s.addInvitation(t, created)
					s.updateInvitation(t, i, func(stored *authmgmt.Invitation) { *stored = i })
				} else {
					s.addInvitation(t, i)
				}
				all = append([]authmgmt.Invitation{i}, all...)
			}
			seen := make(map[int]bool)
			for _, at := range []time.Duration{0, day, day + 8*time.Hour - time.Microsecond, day + 8*time.Hour, 3*day - time.Microsecond, 3 * day, 4 * day} {
				want := []string{}
				for _, i := range all {
					if i.State(moment(at)) == authmgmt.InvitationPending {
						want = append(want, i.ID)
					}
				}
				seen[len(want)] = true
				page := s.listInvitations(t, orgA, moment(at).In(time.FixedZone("", -5*3600)))
				require.Equal(t, want, invitationIDs(page), "pending at %v", at)
				require.Len(t, page, len(want))
			}
			require.Greater(t, len(seen), 2, "the times make a difference")
		}},

	{Rule{"invitations/list-by-inviter", "If inviter is not empty, ListInvitations returns only invitations with that Inviter, as bytes, and counts only these."}, needStore,
		func(t *testing.T, s *subject) {
			have := make(map[string][]string)
			for n, inviter := range append(slices.Clone(byteOrder), byteOrder...) {
				i := newInvitation(orgA, fmt.Sprint("i", n), -time.Duration(n)*time.Microsecond)
				if i.Inviter = inviter; n < len(byteOrder) {
					i.CancelledAt = moment(0)
				}
				have[inviter] = append(have[inviter], s.addInvitation(t, i).ID)
				other := newInvitation(orgB, i.ID, 0)
				other.Inviter = inviter
				s.addInvitation(t, other)
			}
			for inviter, want := range have {
				page := s.listOfInviter(t, orgA, time.Time{}, inviter)
				require.ElementsMatch(t, want, invitationIDs(page), "of %q", inviter)
				require.Len(t, page, 2)
				page = s.listOfInviter(t, orgA, moment(0), inviter)
				require.Equal(t, want[1:], invitationIDs(page), "pending, of %q", inviter)
				require.Len(t, page, 1)
			}
			require.Zero(t, s.listOfInviter(t, orgA, time.Time{}, "nobody's name"))
			require.Zero(t, s.listOfInviter(t, orgA, time.Time{}, "user:bob"), "by InvitedBy")
			moved := authmgmt.Invitation{Organization: orgA, ID: have[byteOrder[0]][1]}
			s.updateInvitation(t, moved, func(i *authmgmt.Invitation) { i.Inviter = "Cleo" })
			require.Equal(t, []string{moved.ID}, invitationIDs(s.listOfInviter(t, orgA, moment(0), "Cleo")))
			require.Equal(t, 1, len(s.listOfInviter(t, orgA, time.Time{}, byteOrder[0])))
		}},
}

// grantRules are the rules of DueGrants.
var grantRules = []rule{
	{Rule{"invitations/due-grants", "DueGrants returns the invitations that are accepted, not granted, do not wait for the person, and whose GrantDue is not after now, every field of them."}, needStore,
		func(t *testing.T, s *subject) {
			require.Empty(t, s.due(t, 1000*day, 10))
			due := filledInvitation(orgA, "due")
			due.GrantedAt, due.AwaitsPerson, due.GrantDue = time.Time{}, false, moment(time.Hour)
			s.addInvitation(t, due)
			for id, change := range map[string]func(*authmgmt.Invitation){
				"pending":   func(i *authmgmt.Invitation) { i.AcceptedAt = time.Time{} },
				"cancelled": func(i *authmgmt.Invitation) { i.AcceptedAt, i.CancelledAt = time.Time{}, moment(0) },
				"granted":   func(i *authmgmt.Invitation) { i.GrantedAt = moment(2 * time.Minute) },
				"awaits":    func(i *authmgmt.Invitation) { i.AwaitsPerson = true },
				"later":     func(i *authmgmt.Invitation) { i.GrantDue = moment(time.Hour + time.Microsecond) },
			} {
				i := acceptedInvitation(orgA, id, 0)
				change(&i)
				s.addInvitation(t, i)
			}
			found := s.due(t, time.Hour, 10)
			require.Equal(t, []string{"due"}, invitationIDs(found))
			sameInvitation(t, due, found[0])
			require.Empty(t, s.due(t, time.Hour-time.Microsecond, 10))
		}},

	{Rule{"invitations/due-grants-follow-changes", "DueGrants goes by what is stored now."}, needStore,
		func(t *testing.T, s *subject) {
			i := s.addInvitation(t, newInvitation(orgA, "ann", 0))
			for _, step := range []struct {
				change func(*authmgmt.Invitation)
				want   int
			}{
				{func(i *authmgmt.Invitation) { i.AcceptedAt, i.GrantDue = moment(0), moment(0) }, 1},
				{func(i *authmgmt.Invitation) { i.GrantDue = moment(2 * time.Hour) }, 0},
				{func(i *authmgmt.Invitation) { i.GrantDue = moment(time.Minute) }, 1},
				{func(i *authmgmt.Invitation) { i.AwaitsPerson = true }, 0},
				{func(i *authmgmt.Invitation) { i.AwaitsPerson = false }, 1},
				{func(i *authmgmt.Invitation) { i.GrantedAt = moment(time.Hour) }, 0},
			} {
				s.updateInvitation(t, i, step.change)
				require.Len(t, s.due(t, time.Hour, 10), step.want)
			}
		}},

	{Rule{"invitations/due-grants-without-a-time", "A GrantDue that is zero is not after any time."}, needStore,
		func(t *testing.T, s *subject) {
			i := acceptedInvitation(orgA, "ann", 0)
			i.GrantDue = time.Time{}
			s.addInvitation(t, i)
			s.addInvitation(t, acceptedInvitation(orgA, "bea", -time.Hour))
			require.Equal(t, []string{"ann", "bea"}, invitationIDs(s.due(t, 0, 10)))
		}},

	{Rule{"invitations/due-grants-order", "DueGrants returns at most limit invitations of all organizations, earliest GrantDue first."}, needStore,
		func(t *testing.T, s *subject) {
			const n = 9
			want := make([]string, n)
			for k := range n {
				at := (k * 4) % n
				want[at] = fmt.Sprint("i", k)
				s.addInvitation(t, acceptedInvitation([]string{orgA, orgB, "org-c"}[k%3], want[at], time.Duration(at)*time.Microsecond))
			}
			for limit := 1; limit <= n+1; limit++ {
				require.Equal(t, want[:min(limit, n)], invitationIDs(s.due(t, time.Hour, limit)), "limit %d", limit)
			}
			require.Equal(t, want[:4], invitationIDs(s.due(t, 3*time.Microsecond, n)))
		}},

	{Rule{"invitations/due-grants-copies", "What DueGrants returns is the receiver's own."}, needStore,
		func(t *testing.T, s *subject) {
			i := acceptedInvitation(orgA, "ann", 0)
			i.Roles = someRoles()
			s.addInvitation(t, i)
			spoilRoles(s.due(t, 0, 1)[0].Roles)
			s.hasInvitation(t, i)
			sameInvitation(t, i, s.due(t, 0, 1)[0])
		}},
}
