package authmgmttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// reopenRules say what outlives a process.
var reopenRules = []rule{
	{Rule{"store/durable", "A call that returned without error is durable: clients, tokens, invitations and audit events outlive the process, as they were, every field of them."}, needStore | needReopen,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			revoked := s.addToken(t, newToken(orgA, 0))
			s.updateToken(t, revoked, func(k *authmgmt.Token) { k.RevokedAt = moment(time.Hour) })
			revoked.RevokedAt = moment(time.Hour)
			changed := s.addInvitation(t, newInvitation(orgA, "bea", 0))
			s.updateInvitation(t, changed, func(i *authmgmt.Invitation) { i.Generation, i.GrantAttempts = 1<<61+1, 4 })
			changed.Generation, changed.GrantAttempts = 1<<61+1, 4
			s.manyThings(t, 5)
			trail := s.Trail(t, orgA)

			s.reopen(t)
			s.hasSample(t, x)
			s.hasToken(t, revoked)
			s.hasInvitation(t, changed)
			got := s.Trail(t, orgA)
			require.Equal(t, s.IDs(trail), s.IDs(got))
			for i := range trail {
				sameEvent(t, trail[i], got[i])
			}
			require.Equal(t, 5, len(s.listClients(t, orgB)))
			require.Equal(t, 5, len(s.listTokens(t, orgB)))
			require.Equal(t, 5, len(s.listInvitations(t, orgB, time.Time{})))
		}},

	{Rule{"store/durable-absence", "What is gone stays gone after the process: deleted clients, whose IDs stay taken, removed secrets, and the tokens of both."}, needStore | needReopen,
		func(t *testing.T, s *subject) {
			deleted, rotated := s.addClient(t, filledClient(orgA, "deleted")), s.addClient(t, filledClient(orgA, "rotated"))
			tokens := []authmgmt.Token{s.addToken(t, clientToken(deleted, 0, 0)), s.addToken(t, clientToken(rotated, 0, 0))}
			s.deleteClient(t, deleted)
			s.updateClient(t, rotated, func(c *authmgmt.Client) { c.Secrets = c.Secrets[1:] })
			s.reopen(t)
			s.noClient(t, orgA, "deleted")
			s.refusesClient(t, newClient(orgA, "deleted", 0))
			s.noSecret(t, deleted.Secrets[0].Digest)
			s.noSecret(t, rotated.Secrets[0].Digest)
			for _, k := range tokens {
				s.noToken(t, k)
			}
			require.Len(t, s.client(t, orgA, "rotated").Secrets, 2)
		}},

	{Rule{"store/durable-constraints", "What is taken stays taken after the process: digests, IDs, addresses with a pending invitation; and what is due stays due."}, needStore | needReopen,
		func(t *testing.T, s *subject) {
			c, k := s.addClient(t, filledClient(orgA, "build")), s.addToken(t, newToken(orgA, 0))
			require.NoError(t, s.createInvitation(t, invitee(orgA, "ann", "Ann@example.com", 0), true))
			s.addInvitation(t, acceptedInvitation(orgA, "due", time.Hour))
			s.reopen(t)
			twin := newClient(orgB, "twin", 0)
			twin.Secrets[0].Digest = c.Secrets[1].Digest
			s.refusesClient(t, twin)
			s.refusesToken(t, k, mortise.ErrExists)
			s.refusesInvitation(t, invitee(orgA, "second", "ANN@example.com", 0), true, authmgmt.ErrPendingInvitation)
			require.Empty(t, s.due(t, time.Hour-time.Microsecond, 10))
			require.Equal(t, []string{"due"}, invitationIDs(s.due(t, time.Hour, 10)))
		}},

	{Rule{"pruner/durable", "What was pruned stays so."}, needStore | needPruner | needReopen,
		func(t *testing.T, s *subject) {
			k := newToken(orgA, 0)
			k.ExpiresAt = moment(0)
			s.addToken(t, k)
			s.addInvitation(t, newInvitation(orgA, "ann", -10*day))
			prunes(t, 1, s.pruner().PruneTokens, time.Hour)
			prunes(t, 1, s.pruner().PruneInvitations, time.Hour)
			prunes(t, 2, s.pruner().PruneAudit, time.Hour)
			s.reopen(t)
			s.noToken(t, k)
			s.noInvitation(t, orgA, "ann")
			require.Empty(t, s.Trail(t, orgA))
		}},

	{Rule{"keychecker/durable", "What UpdateKeyChecks has stored outlives the process."}, needStore | needKeyChecker | needReopen,
		func(t *testing.T, s *subject) {
			values := newDigests(3)
			s.notes(t, values...)
			s.reopen(t)
			s.hasNoted(t, values...)
		}},

	{Rule{"organizations/durable", "Organizations outlive the process."}, needOrganizations | needReopen,
		func(t *testing.T, s *subject) {
			s.setRBAC(t, orgA, true)
			s.setRBAC(t, orgB, false)
			s.reopen(t)
			s.hasRBAC(t, orgA, true)
			s.hasRBAC(t, orgB, false)
			s.noOrganization(t, "org-c")
		}},
}
