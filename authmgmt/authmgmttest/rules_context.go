package authmgmttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// call is one method of a backend, called so that it would succeed if nothing were wrong,
// and could be called again.
type call struct {
	name string
	do   func(ctx context.Context) error
}

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
	e := func() authmgmt.AuditEvent { return newEvent(orgB, authmgmt.KindInvited, "x", 0) }
	calls := []call{
		{"CreateClient", func(ctx context.Context) error {
			return s.Store.CreateClient(ctx, newClient(orgB, uuid.NewString(), 0), e())
		}},
		{"Client", func(ctx context.Context) error { _, err := s.Store.Client(ctx, orgA, x.client.ID); return err }},
		{"ClientBySecret", func(ctx context.Context) error {
			_, err := s.Store.ClientBySecret(ctx, x.client.Secrets[0].Digest)
			return err
		}},
		{"UpdateClient", func(ctx context.Context) error {
			return s.Store.UpdateClient(ctx, orgA, x.client.ID, nothing[authmgmt.Client])
		}},
		{"ListClients", func(ctx context.Context) error { _, err := s.Store.ListClients(ctx, orgA, everything); return err }},
		{"CreateToken", func(ctx context.Context) error { return s.Store.CreateToken(ctx, newToken(orgB, 0), e()) }},
		{"TokenByDigest", func(ctx context.Context) error { _, err := s.Store.TokenByDigest(ctx, x.token.Digest); return err }},
		{"UpdateToken", func(ctx context.Context) error {
			return s.Store.UpdateToken(ctx, orgA, x.token.ID, nothing[authmgmt.Token])
		}},
		{"ListTokens", func(ctx context.Context) error { _, err := s.Store.ListTokens(ctx, orgA, everything); return err }},
		{"CreateInvitation", func(ctx context.Context) error {
			return s.Store.CreateInvitation(ctx, newInvitation(orgB, uuid.NewString(), 0), true, e())
		}},
		{"Invitation", func(ctx context.Context) error { _, err := s.Store.Invitation(ctx, orgA, x.invitation.ID); return err }},
		{"UpdateInvitation", func(ctx context.Context) error {
			return s.Store.UpdateInvitation(ctx, orgA, x.invitation.ID, nothing[authmgmt.Invitation])
		}},
		{"ListInvitations", func(ctx context.Context) error {
			_, err := s.Store.ListInvitations(ctx, orgA, time.Time{}, everything)
			return err
		}},
		{"DueGrants", func(ctx context.Context) error { _, err := s.Store.DueGrants(ctx, moment(0), 10); return err }},
		{"Stats", func(ctx context.Context) error { _, err := s.Store.Stats(ctx, orgA, moment(0), 10); return err }},
		{"StatsAll", func(ctx context.Context) error { _, err := s.Store.StatsAll(ctx, 10); return err }},
		{"ListAuditEvents", func(ctx context.Context) error {
			_, err := s.Store.ListAuditEvents(ctx, orgA, authmgmt.AuditQuery{Limit: 10})
			return err
		}},
		{"MarkDeleted", func(ctx context.Context) error {
			_, err := s.Store.MarkDeleted(ctx, orgGone, moment(0), newEvent(orgGone, authmgmt.KindOrganizationDeleted, orgGone, 0))
			return err
		}},
		{"DeletedAt", func(ctx context.Context) error { _, err := s.Store.DeletedAt(ctx, orgGone); return err }},
		{"RemoveDeleted", func(ctx context.Context) error { _, err := s.Store.RemoveDeleted(ctx, orgGone, 10); return err }},
	}
	long := moment(-100_000 * time.Hour) // before everything
	if p, ok := s.Store.(authmgmt.Pruner); ok {
		calls = append(calls,
			call{"PruneAudit", func(ctx context.Context) error { _, err := p.PruneAudit(ctx, long, 10); return err }},
			call{"PruneTokens", func(ctx context.Context) error { _, err := p.PruneTokens(ctx, long, 10); return err }},
			call{"PruneInvitations", func(ctx context.Context) error { _, err := p.PruneInvitations(ctx, long, 10); return err }},
		)
	}
	if k, ok := s.Store.(authmgmt.KeyChecker); ok {
		calls = append(calls, call{"UpdateKeyChecks", func(ctx context.Context) error {
			return k.UpdateKeyChecks(ctx, func(noted [][32]byte) ([][32]byte, error) { return noted, nil })
		}})
	}
	return calls
}

func (s *subject) organizationCalls() []call {
	return []call{
		{"AccessControl", func(ctx context.Context) error { _, err := s.Organizations.AccessControl(ctx, orgA); return err }},
		{"UpdateOrganization", func(ctx context.Context) error {
			return s.Organizations.UpdateOrganization(ctx, orgA, nothing[authmgmt.Organization])
		}},
	}
}

// allFail makes the calls and requires that each is a failure.
func allFail(ctx context.Context, t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		isFailure(t, c.name, c.do(ctx))
	}
}

// allWork makes the calls and requires that none fails.
func allWork(t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		require.NoError(t, c.do(t.Context()), c.name)
	}
}

const endedText = "A call whose context has ended returns an error that is none of the sentinels."

// contextRules say what a context that has ended does to each method.
var contextRules = []rule{
	{Rule{"store/ended-context", endedText}, needStore,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			allFail(conformance.Ended(t), t, s.storeCalls(x))
			_, err := s.Store.Client(conformance.Ended(t), orgA, "unknown")
			isFailure(t, "Client that is not there", err)
			isFailure(t, "CreateClient that is there", s.Store.CreateClient(conformance.Ended(t), x.client, newEvent(orgA, "", "", 0)))
			s.hasSample(t, x)
			allWork(t, s.storeCalls(x))
		}},

	{Rule{"organizations/ended-context", endedText}, needOrganizations,
		func(t *testing.T, s *subject) {
			s.setRBAC(t, orgA, true)
			allFail(conformance.Ended(t), t, s.organizationCalls())
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
