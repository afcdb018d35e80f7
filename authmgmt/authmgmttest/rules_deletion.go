package authmgmttest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
)

// deletionRules are the rules of Deletion.
var deletionRules = []rule{
	{Rule{"deletion/first-mark-stays", "MarkDeleted marks an organization, which need not have anything, and returns the time of the mark. Marked again, it returns the first time, and stores no event. DeletedAt returns it, too, and the zero time for an organization that is not marked."}, needStore,
		func(t *testing.T, s *subject) {
			x := s.addEstate(t, orgA)
			for _, org := range []string{orgA, orgGone} {
				s.hasMark(t, org, time.Time{})
				e := s.mark(t, org)
				for _, at := range []time.Duration{0, markedAt, 1000 * time.Hour} {
					zone := time.FixedZone("", 3600)
					since, err := s.Store.MarkDeleted(t.Context(), org, moment(at).In(zone), newEvent(org, "again", org, at))
					require.NoError(t, err)
					conformance.SameTime(t, "MarkDeleted again", moment(markedAt), &since)
				}
				s.hasMark(t, org, moment(markedAt))
				s.hasOnlyMark(t, e)
			}
			s.hasMark(t, orgB, time.Time{})
			s.hasMark(t, "", time.Time{})
			s.hidesEstate(t, x)
		}},

	{Rule{"deletion/without-event", "An audit event without ID is none, and is not stored: the trail of such a mark is empty."}, needStore,
		func(t *testing.T, s *subject) {
			s.addEstate(t, orgA)
			_, err := s.Store.MarkDeleted(t.Context(), orgA, moment(markedAt), authmgmt.AuditEvent{Organization: orgA, At: moment(markedAt)})
			require.NoError(t, err)
			require.Empty(t, s.Trail(t, orgA))
			s.removeAll(t, orgA, 40, func() { require.Empty(t, s.Trail(t, orgA)) })
		}},

	{Rule{"deletion/hides-everything", "From the mark on an organization has nothing, for every method that reads: by ID, by digest, in lists and counts, in DueGrants."}, needStore,
		func(t *testing.T, s *subject) {
			x := s.addEstate(t, orgA)
			s.hasEstate(t, x)
			s.mark(t, orgA)
			s.hidesEstate(t, x)
			s.removeAll(t, orgA, 1, func() { s.hidesEstate(t, x) })
		}},

	{Rule{"deletion/hides-from-updates", "From the mark on an update of what an organization had is ErrNotFound, and no update function is called."}, needStore,
		func(t *testing.T, s *subject) {
			x := s.addEstate(t, orgA)
			// A backend may remember it.
			s.updateClient(t, x.client, func(c *authmgmt.Client) { c.Name += "." })
			e := s.mark(t, orgA)
			s.refusesUpdates(t, x)
			s.hasOnlyMark(t, e)
		}},

	{Rule{"deletion/refuses-creations", "From the mark on, whatever would make something in an organization is ErrDeleted, whatever else is wrong with it, during the steps and after them."}, needStore,
		func(t *testing.T, s *subject) {
			x := s.addEstate(t, orgA)
			e := s.mark(t, orgA)
			s.refusesAll(t, x)
			s.removeAll(t, orgA, 3, func() { s.refusesAll(t, x) })
			s.hidesEstate(t, x)
			s.hasOnlyMark(t, e)
		}},

	{Rule{"deletion/trail-has-the-mark", "From the mark on ListAuditEvents shows the event of the mark, and no other, whatever it is asked."}, needStore,
		func(t *testing.T, s *subject) {
			s.addEstate(t, orgA)
			// It looks like a mark, and is none.
			late := newEvent(orgA, mortise.KindOrganizationDeleted, orgA, markedAt+time.Hour)
			s.Record(t, late)
			e := s.mark(t, orgA)
			s.hasOnlyMark(t, e)
			s.removeAll(t, orgA, 2, func() { s.hasOnlyMark(t, e) })
		}},

	{Rule{"deletion/leaves-others", "Deleting an organization changes nothing of another one, though its ID looks alike and what it has has the same IDs."}, needStore,
		func(t *testing.T, s *subject) {
			var kept []*estate
			for _, org := range append([]string{orgA, orgA + "b", orgA + "%", "org-", "ORG-A", "_rg-a", "org-b"}, hard[:12]...) {
				kept = append(kept, s.addEstate(t, org))
			}
			for n := range 3 { // also where it is the first and the last one
				org := kept[n].client.Organization
				s.mark(t, org)
				s.removeAll(t, org, 7, func() {})
				for _, x := range kept[n+1:] {
					s.hasMark(t, x.client.Organization, time.Time{})
				}
			}
			for _, x := range kept[:3] {
				s.hidesEstate(t, x)
			}
			for _, x := range kept[3:] {
				s.hasEstate(t, x)
				require.NotEmpty(t, s.Trail(t, x.client.Organization))
			}
		}},

	{Rule{"deletion/not-marked", "RemoveDeleted is ErrNotFound for an organization that is not marked, and removes nothing."}, needStore,
		func(t *testing.T, s *subject) {
			x := s.addEstate(t, orgA)
			s.mark(t, orgB)
			for _, org := range []string{orgA, "org", "nobody"} {
				_, _, err := s.Store.RemoveDeleted(t.Context(), org, 100)
				require.ErrorIs(t, err, mortise.ErrNotFound)
			}
			s.hasEstate(t, x)
		}},

	{Rule{"deletion/cut-off", "A step that is cut off changes nothing or some of it, and the next one goes on."}, needStore,
		func(t *testing.T, s *subject) {
			x := s.addEstate(t, orgA)
			e := s.mark(t, orgA)
			s.removeAll(t, orgA, 2, func() {
				_, _, err := s.Store.RemoveDeleted(conformance.Ended(t), orgA, 2)
				isFailure(t, "RemoveDeleted", err)
				_, err = s.Store.MarkDeleted(conformance.Ended(t), orgA, moment(0), newEvent(orgA, "x", "x", 0))
				isFailure(t, "MarkDeleted", err)
			})
			s.hidesEstate(t, x)
			s.hasOnlyMark(t, e)
			s.hasMark(t, orgA, moment(markedAt))
		}},

	{Rule{"deletion/concurrent", "What is made or changed while an organization is marked comes before the mark, and is hidden by it, or is refused: with ErrDeleted, or ErrNotFound for a change."}, needStore,
		func(t *testing.T, s *subject) {
			for round := range 4 {
				org := fmt.Sprint("org-", round)
				x := s.addEstate(t, org)
				e := newEvent(org, mortise.KindOrganizationDeleted, org, markedAt)
				var errs [13]error
				conformance.Together(len(errs), func(n int) {
					id := fmt.Sprint("n", n)
					event := newEvent(org, mortise.KindInvited, id, 0)
					switch n % 4 {
					case 0:
						if n == 0 {
							_, errs[n] = s.Store.MarkDeleted(t.Context(), org, moment(markedAt), e)
							return
						}
						errs[n] = s.Store.CreateClient(t.Context(), newClient(org, id, 0), event)
					case 1:
						errs[n] = s.Store.CreateToken(t.Context(), newToken(org, 0), event)
					case 2:
						errs[n] = s.Store.CreateInvitation(t.Context(), newInvitation(org, id, 0), false, event)
					case 3:
						errs[n] = s.Store.UpdateClient(t.Context(), org, x.client.ID, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
							c.Name = id
							return event, nil
						})
					}
				})
				for n, err := range errs {
					refusal := mortise.ErrDeleted
					if n%4 == 3 {
						refusal = mortise.ErrNotFound
					}
					require.True(t, err == nil || n > 0 && errors.Is(err, refusal), "call %d: %v", n, err)
					s.noClient(t, org, fmt.Sprint("n", n))
				}
				s.hidesEstate(t, x)
				s.hasOnlyMark(t, e)
				s.removeAll(t, org, 100, func() { s.hidesEstate(t, x) })
			}
		}},

	{Rule{"deletion/one-mark", "Of many that mark an organization at once one does: all of them get its time, and the trail has its event."}, needStore,
		func(t *testing.T, s *subject) {
			for round := range 4 {
				org := fmt.Sprint("org-", round)
				var events [20]authmgmt.AuditEvent
				var since [20]time.Time
				var errs [20]error
				conformance.Together(len(errs), func(n int) {
					at := time.Duration(n+1) * time.Hour
					events[n] = newEvent(org, mortise.KindOrganizationDeleted, org, at)
					since[n], errs[n] = s.Store.MarkDeleted(t.Context(), org, moment(at), events[n].Clone())
				})
				conformance.NoErrors(t, errs[:])
				trail := s.Trail(t, org)
				require.Len(t, trail, 1)
				for n := range since {
					require.True(t, since[n].Equal(trail[0].At), "the time that call %d got", n)
				}
				s.hasMark(t, org, trail[0].At)
			}
		}},

	{Rule{"deletion/pruned", "A Pruner goes on: it forgets the mark's event as any other, and not the mark."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			x := s.addEstate(t, orgA)
			e := s.mark(t, orgA)
			prunes(t, 0, s.pruner().PruneTokens, -time.Hour)
			steptest.All(t, 100, before(s.pruner().PruneInvitations, 1000*day))
			steptest.All(t, 100, before(s.pruner().PruneAudit, markedAt))
			s.hasOnlyMark(t, e)
			s.Prunes(t, 1, markedAt+time.Microsecond)
			require.Empty(t, s.Trail(t, orgA))
			// What comes later must not take its place.
			s.Record(t, newEvent(orgB, mortise.KindInvited, "x", 0), newEvent(orgB, mortise.KindInvited, "y", 0))
			require.Empty(t, s.Trail(t, orgA))
			s.hasMark(t, orgA, moment(markedAt))
			s.hidesEstate(t, x)
			s.refusesAll(t, x)
			s.removeAll(t, orgA, 3, func() { require.Empty(t, s.Trail(t, orgA)) })
			require.Len(t, s.Trail(t, orgB), 2)
		}},

	{Rule{"deletion/organizations", "From the mark on AccessControl returns ErrNotFound, and UpdateOrganization ErrDeleted, without a call of its function."}, needOrganizations | needOrganizationsDeletion,
		func(t *testing.T, s *subject) {
			d := s.Organizations.(authmgmt.Deletion)
			for _, org := range []string{orgA, orgB, "org"} {
				s.setRBAC(t, org, true)
			}
			for range 2 {
				_, err := d.MarkDeleted(t.Context(), orgA, moment(markedAt), authmgmt.AuditEvent{})
				require.NoError(t, err)
				_, err = d.MarkDeleted(t.Context(), orgGone, moment(markedAt), authmgmt.AuditEvent{})
				require.NoError(t, err)
				for _, org := range []string{orgA, orgGone} {
					s.noOrganization(t, org)
					err := s.Organizations.UpdateOrganization(t.Context(), org, func(*authmgmt.Organization) (authmgmt.AuditEvent, error) {
						return authmgmt.AuditEvent{}, errRefused
					})
					require.ErrorIs(t, err, mortise.ErrDeleted)
					require.NotErrorIs(t, err, errRefused, "the update function was called")
				}
				steptest.All(t, 100, removing(d, orgA))
			}
			s.hasRBAC(t, orgB, true)
			s.hasRBAC(t, "org", true)
		}},

	{Rule{"deletion/durable", "The mark outlives the process, its time and its event with it, and the steps go on from where they were."}, needStore | needReopen,
		func(t *testing.T, s *subject) {
			x := s.addEstate(t, orgA)
			other := s.addEstate(t, orgB)
			e := s.mark(t, orgA)
			s.reopen(t)
			look := func() {
				t.Helper()
				s.hasMark(t, orgA, moment(markedAt))
				s.hidesEstate(t, x)
				s.refusesUpdates(t, x)
				s.refusesAll(t, x)
				s.hasOnlyMark(t, e)
			}
			look()
			s.removeAll(t, orgA, 5, func() {
				s.reopen(t)
				look()
			})
			s.hasEstate(t, other)
		}},
}

// hasMark requires that an organization was marked at a time, or is not if that is zero.
func (s *subject) hasMark(t *testing.T, org string, want time.Time) {
	t.Helper()
	since, err := s.Store.DeletedAt(t.Context(), org)
	require.NoError(t, err, "DeletedAt %q", org)
	require.True(t, since.Equal(want), "DeletedAt %q: want %v, got %v", org, want, since)
	require.Equal(t, want.IsZero(), since.IsZero())
}

// notFree returns those tokens whose digest and ID another organization cannot have yet.
func (s *subject) notFree(t *testing.T, tokens []authmgmt.Token) (taken []authmgmt.Token) {
	t.Helper()
	for _, k := range tokens {
		k.Organization = orgB
		if err := s.createToken(t, k); err != nil {
			require.ErrorIs(t, err, mortise.ErrExists)
			taken = append(taken, k)
		}
	}
	return taken
}

// secretsNotFree is notFree for the digests of secrets.
func (s *subject) secretsNotFree(t *testing.T, digests [][32]byte) (taken [][32]byte) {
	t.Helper()
	for _, digest := range digests {
		c := newClient(orgB, fmt.Sprintf("%x", digest), 0)
		c.Secrets[0].Digest = digest
		if err := s.Store.CreateClient(t.Context(), c, authmgmt.AuditEvent{}); err != nil {
			require.ErrorIs(t, err, mortise.ErrExists)
			taken = append(taken, digest)
		}
	}
	return taken
}
