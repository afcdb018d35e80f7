package authmgmttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

type call = conformance.Call

// sample is one thing of each kind that is stored.
type sample struct {
	client     authmgmt.Client
	token      authmgmt.Token // the client's
	own        authmgmt.Token
	invitation authmgmt.Invitation
	event      authmgmt.AuditEvent
}

// addSample stores one thing of each kind in orgA.
func (s *subject) addSample(t *testing.T) *sample {
	t.Helper()
	x := &sample{
		client: s.addClient(t, filledClient(orgA, "build")), own: s.addToken(t, filledToken(orgA)),
		invitation: s.addInvitation(t, filledInvitation(orgA, "ann")),
	}
	x.token = s.addToken(t, clientToken(x.client, 1, 0))
	x.event = filledEvent(orgA, "sample")
	s.Record(t, x.event)
	return x
}

// hasSample requires that all of it is there as it was.
func (s *subject) hasSample(t *testing.T, x *sample) {
	t.Helper()
	s.hasClient(t, x.client)
	s.hasToken(t, x.token)
	s.hasToken(t, x.own)
	s.hasInvitation(t, x.invitation)
	s.HasEvent(t, x.event)
}

// nothing is an update function that changes nothing.
func nothing[T any](*T) (authmgmt.AuditEvent, error) { return authmgmt.AuditEvent{}, nil }

// storeCalls calls every method of Store, and of its optional interfaces.
func (s *subject) storeCalls(x *sample) []call {
	e := func() authmgmt.AuditEvent { return newEvent(orgB, mortise.KindInvited, "x", 0) }
	calls := []call{
		conformance.CallOf("CreateClient", s.Store.CreateClient, newClient(orgB, uuid.NewString(), 0), e()),
		conformance.CallOf("Client", s.Store.Client, orgA, x.client.ID),
		conformance.CallOf("ClientBySecret", s.Store.ClientBySecret, x.client.Secrets[0].Digest),
		conformance.CallOf("UpdateClient", s.Store.UpdateClient, orgA, x.client.ID, nothing[authmgmt.Client]),
		conformance.CallOf("ListClients", s.Store.ListClients, orgA, mortise.Cursor(""), 10),
		conformance.CallOf("CreateToken", s.Store.CreateToken, newToken(orgB, 0), e()),
		conformance.CallOf("TokenByDigest", s.Store.TokenByDigest, x.token.Digest),
		conformance.CallOf("UpdateToken", s.Store.UpdateToken, orgA, x.token.ID, nothing[authmgmt.Token]),
		conformance.CallOf("ListTokens", s.Store.ListTokens, orgA, mortise.Cursor(""), 10),
		conformance.CallOf("CreateInvitation", s.Store.CreateInvitation, newInvitation(orgB, uuid.NewString(), 0), true, e()),
		conformance.CallOf("Invitation", s.Store.Invitation, orgA, x.invitation.ID),
		conformance.CallOf("UpdateInvitation", s.Store.UpdateInvitation, orgA, x.invitation.ID, nothing[authmgmt.Invitation]),
		conformance.CallOf("ListInvitations", s.Store.ListInvitations, orgA, time.Time{}, "", mortise.Cursor(""), 10),
		conformance.CallOf("DueGrants", s.Store.DueGrants, moment(0), 10),
		conformance.CallOf("CountClients", s.Store.CountClients, orgA, 10),
		conformance.CallOf("CountTokens", s.Store.CountTokens, orgA, 10),
		conformance.CallOf("CountInvitations", s.Store.CountInvitations, orgA, moment(0), "", 10),
		conformance.CallOf("ListAuditEvents", s.Store.ListAuditEvents, orgA, authmgmt.AuditQuery{Limit: 10}),
		conformance.CallOf("MarkDeleted", s.Store.MarkDeleted, orgGone, moment(0), newEvent(orgGone, mortise.KindOrganizationDeleted, orgGone, 0)),
		conformance.CallOf("DeletedAt", s.Store.DeletedAt, orgGone),
		conformance.CallOf("RemoveDeleted", s.Store.RemoveDeleted, orgGone, 10),
	}
	long := moment(-100_000 * time.Hour) // before everything
	if p, ok := s.Store.(authmgmt.Pruner); ok {
		calls = append(calls,
			conformance.CallOf("PruneAudit", p.PruneAudit, long, 10),
			conformance.CallOf("PruneTokens", p.PruneTokens, long, 10),
			conformance.CallOf("PruneInvitations", p.PruneInvitations, long, 10),
		)
	}
	if k, ok := s.Store.(authmgmt.KeyChecker); ok {
		calls = append(calls, conformance.CallOf("UpdateKeyChecks", k.UpdateKeyChecks, func(noted [][32]byte) ([][32]byte, error) { return noted, nil }))
	}
	return calls
}

func (s *subject) organizationCalls() []call {
	return []call{
		conformance.CallOf("AccessControl", s.Organizations.AccessControl, orgA),
		conformance.CallOf("UpdateOrganization", s.Organizations.UpdateOrganization, orgA, nothing[authmgmt.Organization]),
	}
}

const endedText = "A call whose context has ended returns an error that is none of the sentinels."

// contextRules say what a context that has ended does to each method.
var contextRules = []rule{
	{Rule{"store/ended-context", endedText}, needStore,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			conformance.AllFail(conformance.Ended(t), t, s.storeCalls(x), isFailure)
			_, err := s.Store.Client(conformance.Ended(t), orgA, "unknown")
			isFailure(t, "Client that is not there", err)
			isFailure(t, "CreateClient that is there", s.Store.CreateClient(conformance.Ended(t), x.client, newEvent(orgA, "", "", 0)))
			s.hasSample(t, x)
			conformance.AllWork(t, s.storeCalls(x))
		}},

	{Rule{"store/left-at-any-look", conformance.AnyLook}, needStore,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			conformance.EveryLook(t, func() []call { return s.storeCalls(x) }, isFailure)
			s.hasSample(t, x)
		}},

	{Rule{"organizations/ended-context", endedText}, needOrganizations,
		func(t *testing.T, s *subject) {
			s.setRBAC(t, orgA, true)
			conformance.AllFail(conformance.Ended(t), t, s.organizationCalls(), isFailure)
			_, err := s.Organizations.AccessControl(conformance.Ended(t), orgB)
			isFailure(t, "Organization that is not there", err)
			s.hasRBAC(t, orgA, true)
		}},
}

// manyThings stores what reopenRules look for in great number, so that it is more than
// one page of anything.
func (s *subject) manyThings(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		s.addClient(t, newClient(orgB, fmt.Sprint("c", i), time.Duration(i)*time.Hour))
		s.addToken(t, newToken(orgB, time.Duration(i)*time.Hour))
		s.addInvitation(t, newInvitation(orgB, fmt.Sprint("i", i), time.Duration(i)*time.Hour))
	}
}
