package authmgmttest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
)

// markedAt is when the suite marks organizations.
const markedAt = 2 * time.Hour

// mark marks an organization that is not marked yet, and returns the event.
func (s *subject) mark(t *testing.T, org string) authmgmt.AuditEvent {
	t.Helper()
	e := newEvent(org, mortise.KindOrganizationDeleted, org, markedAt)
	e.Before = &authmgmt.Snapshot{}
	since, err := s.Store.MarkDeleted(t.Context(), org, moment(markedAt), e.Clone())
	require.NoError(t, err, "MarkDeleted %q", org)
	conformance.SameTime(t, "MarkDeleted", moment(markedAt), &since)
	return e
}

// removing is RemoveDeleted of an organization.
func removing(d authmgmt.Deletion, org string) steptest.Do {
	return func(ctx context.Context, limit int) (int, bool, error) { return d.RemoveDeleted(ctx, org, limit) }
}

// removeAll calls RemoveDeleted until there is no more, and after each step look.
func (s *subject) removeAll(t *testing.T, org string, limit int, look func()) {
	t.Helper()
	steptest.All(t, limit, func(ctx context.Context, limit int) (int, bool, error) {
		n, more, err := s.Store.RemoveDeleted(ctx, org, limit)
		look()
		return n, more, err
	})
}

// estate is what an organization has that is deleted.
type estate struct {
	*sample
	waiting authmgmt.Invitation // for its grant
	pending authmgmt.Invitation
}

// addEstate stores things of every kind in an organization.
func (s *subject) addEstate(t *testing.T, org string) *estate {
	t.Helper()
	x := &estate{sample: &sample{
		client: s.addClient(t, filledClient(org, "build")), own: s.addToken(t, filledToken(org)),
		invitation: s.addInvitation(t, filledInvitation(org, "ann")), event: filledEvent(org, "sample"),
	}}
	x.token = s.addToken(t, clientToken(x.client, 1, 0))
	s.Record(t, x.event)
	s.deleteClient(t, s.addClient(t, newClient(org, "deleted", 0)))
	x.waiting = s.addInvitation(t, acceptedInvitation(org, "bea", time.Hour))
	x.pending = s.addInvitation(t, newInvitation(org, "cleo", 0))
	return x
}

// hasEstate requires that all of it is there as it was.
func (s *subject) hasEstate(t *testing.T, x *estate) {
	t.Helper()
	s.hasSample(t, x.sample)
	s.hasInvitation(t, x.waiting)
	s.hasInvitation(t, x.pending)
	s.refusesClient(t, newClient(x.client.Organization, "deleted", 0))
	require.Contains(t, invitationIDs(s.due(t, time.Hour, 100)), x.waiting.ID)
}

// hidesEstate requires that every way to read any of it shows nothing.
func (s *subject) hidesEstate(t *testing.T, x *estate) {
	t.Helper()
	org := x.client.Organization
	s.noClient(t, org, x.client.ID)
	for _, secret := range x.client.Secrets {
		s.noSecret(t, secret.Digest)
	}
	require.Empty(t, s.listClients(t, org), "ListClients")
	for _, k := range []authmgmt.Token{x.own, x.token} {
		_, err := s.Store.TokenByDigest(t.Context(), k.Digest)
		require.ErrorIs(t, err, mortise.ErrNotFound, "TokenByDigest")
	}
	require.Empty(t, s.listTokens(t, org), "ListTokens")
	for _, i := range []authmgmt.Invitation{x.invitation, x.waiting, x.pending} {
		_, err := s.Store.Invitation(t.Context(), org, i.ID)
		require.ErrorIs(t, err, mortise.ErrNotFound, "Invitation")
	}
	require.Empty(t, s.listInvitations(t, org, time.Time{}), "ListInvitations")
	require.Empty(t, s.listInvitations(t, org, moment(0)), "ListInvitations that are pending")
	for _, i := range s.due(t, 1000*day, 100) {
		require.NotEqual(t, org, i.Organization, "DueGrants")
	}
}

// refusesAll requires that nothing can be made in an organization, whatever else is wrong
// with it.
func (s *subject) refusesAll(t *testing.T, x *estate) {
	t.Helper()
	org := x.client.Organization
	taken, same := newClient(org, x.client.ID, 0), newClient(org, "new", 0)
	same.Secrets = x.client.Secrets
	for name, c := range map[string]authmgmt.Client{"new": newClient(org, "new", 0), "ID": taken, "digest": same} {
		err := s.Store.CreateClient(t.Context(), c, newEvent(org, mortise.KindClientCreated, c.ID, 0))
		require.ErrorIs(t, err, mortise.ErrDeleted, "CreateClient, %s", name)
	}
	twin := newToken(org, 0)
	twin.Digest = x.own.Digest
	for name, k := range map[string]authmgmt.Token{
		"new": newToken(org, 0), "digest": twin, "the client's": clientToken(x.client, 1, 0),
		"no client's": clientToken(newClient(org, "nobody", 0), 0, 0),
	} {
		err := s.Store.CreateToken(t.Context(), k, newEvent(org, mortise.KindTokenIssued, k.ID.String(), 0))
		require.ErrorIs(t, err, mortise.ErrDeleted, "CreateToken, %s", name)
	}
	for _, exclusive := range []bool{true, false} {
		for name, i := range map[string]authmgmt.Invitation{
			"new": newInvitation(org, "dora", 0), "ID": newInvitation(org, x.pending.ID, 0),
			"address": invitee(org, "eve", x.pending.Email, 0),
		} {
			require.ErrorIs(t, s.createInvitation(t, i, exclusive), mortise.ErrDeleted, "CreateInvitation, %s, %v", name, exclusive)
		}
	}
}

// refusesUpdates requires that nothing of it can be changed, and that no update function
// is called.
func (s *subject) refusesUpdates(t *testing.T, x *estate) {
	t.Helper()
	org, called := x.client.Organization, authmgmt.AuditEvent{}
	err := s.Store.UpdateClient(t.Context(), org, x.client.ID, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
		called.Kind, c.Name = "UpdateClient", "changed"
		return called, nil
	})
	require.ErrorIs(t, err, mortise.ErrNotFound, "UpdateClient")
	err = s.Store.UpdateToken(t.Context(), org, x.own.ID, func(*authmgmt.Token) (authmgmt.AuditEvent, error) {
		called.Kind = "UpdateToken"
		return called, nil
	})
	require.ErrorIs(t, err, mortise.ErrNotFound, "UpdateToken")
	err = s.Store.UpdateInvitation(t.Context(), org, x.waiting.ID, func(*authmgmt.Invitation) (authmgmt.AuditEvent, error) {
		called.Kind = "UpdateInvitation"
		return called, nil
	})
	require.ErrorIs(t, err, mortise.ErrNotFound, "UpdateInvitation")
	require.Empty(t, called.Kind, "the update function was called")
}

// hasOnlyMark requires that the trail shows the mark's event, and no other.
func (s *subject) hasOnlyMark(t *testing.T, e authmgmt.AuditEvent) {
	t.Helper()
	s.OnlyEvent(t, e, audittest.Event{Kind: string(mortise.KindClientCreated), Actor: "user:bob", About: "sample"})
}
