package authmgmttest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// filledEvent returns an audit event with snapshots whose every field is set.
func filledEvent(org, target string) authmgmt.AuditEvent {
	e := newEvent(org, authmgmt.KindClientUpdated, target, 7*time.Microsecond)
	e.Actor = "user:bob"
	e.Before, e.After = filledSnapshot("before"), filledSnapshot("after")
	return e
}

func filledSnapshot(name string) *authmgmt.Snapshot {
	rbac := name == "after"
	expires, revoked := moment(8*time.Microsecond), moment(9*time.Microsecond)
	return &authmgmt.Snapshot{
		Name: name, Email: "Ann@example.com", Subject: "client:build", Client: "build",
		Roles: []access.Role{
			{ID: "viewer", Resource: "dataset", ResourceInstance: "dogs"}, {ID: "admin"}, {ID: "editor", Resource: "dataset"},
		},
		FullAccess: true, State: authmgmt.InvitationAccepted, Generation: 1<<62 + 1, RBAC: &rbac,
		Secrets: []uuid.UUID{{2}, {1}, {3}}, ExpiresAt: &expires, RevokedAt: &revoked,
	}
}

// record stores audit events, each with a change of a client that is there for that.
func (s *subject) record(t *testing.T, events ...authmgmt.AuditEvent) {
	t.Helper()
	const id = "recorder"
	for _, e := range events {
		if _, err := s.Store.Client(t.Context(), e.Organization, id); err != nil {
			c := newClient(e.Organization, id, 0)
			first := newEvent(e.Organization, authmgmt.KindClientCreated, id, -1000*time.Hour) // before all that rules look at
			require.NoError(t, s.Store.CreateClient(t.Context(), c, first))
		}
		require.NoError(t, s.Store.UpdateClient(t.Context(), e.Organization, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
			c.Name += "."
			return e.Clone(), nil
		}))
	}
}

// recorded selects what record stored.
func recorded() authmgmt.AuditQuery {
	return authmgmt.AuditQuery{From: moment(-500 * time.Hour), Limit: authmgmt.MaxPageSize}
}

// audit returns a page of the trail.
func (s *subject) audit(t *testing.T, org string, q authmgmt.AuditQuery) mortise.Page[authmgmt.AuditEvent] {
	t.Helper()
	page, err := s.Store.ListAuditEvents(t.Context(), org, q)
	require.NoError(t, err)
	return page
}

// trail returns all events of an organization.
func (s *subject) trail(t *testing.T, org string) []authmgmt.AuditEvent {
	t.Helper()
	page := s.audit(t, org, authmgmt.AuditQuery{Limit: authmgmt.MaxPageSize})
	require.True(t, page.Next.IsZero(), "more events than a page holds")
	return page.Items
}

// hasEvent requires that the event is in its organization's trail as it is here, once.
func (s *subject) hasEvent(t *testing.T, want authmgmt.AuditEvent) {
	t.Helper()
	found := 0
	for _, e := range s.trail(t, want.Organization) {
		if e.ID == want.ID {
			sameEvent(t, want, e)
			found++
		}
	}
	require.Equal(t, 1, found, "events with the ID in the trail")
}

// noEvent requires that the event is not in its organization's trail.
func (s *subject) noEvent(t *testing.T, e authmgmt.AuditEvent) {
	t.Helper()
	require.NotContains(t, eventIDs(s.trail(t, e.Organization)), e.ID)
}

// sameEvent compares all fields.
func sameEvent(t *testing.T, want, got authmgmt.AuditEvent) {
	t.Helper()
	want, got = want.Clone(), got.Clone()
	sameTime(t, "At", want.At, &got.At)
	for _, side := range []struct{ want, got *authmgmt.Snapshot }{{want.Before, got.Before}, {want.After, got.After}} {
		require.Equal(t, side.want == nil, side.got == nil, "whether there is a snapshot")
		if side.want == nil {
			continue
		}
		samePointer(t, "ExpiresAt of a snapshot", side.want.ExpiresAt, side.got.ExpiresAt)
		samePointer(t, "RevokedAt of a snapshot", side.want.RevokedAt, side.got.RevokedAt)
		noneIsNil(&side.got.Roles)
		noneIsNil(&side.got.Secrets)
	}
	require.Equal(t, want, got)
}

// eventIDs returns the IDs of audit events, in their order.
func eventIDs(events []authmgmt.AuditEvent) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(events))
	for i := range events {
		ids = append(ids, events[i].ID)
	}
	return ids
}

// spoilSnapshot changes everything in a snapshot that a shallow copy shares.
func spoilSnapshot(s *authmgmt.Snapshot) {
	s.Name = "spoiled"
	for i := range s.Roles {
		s.Roles[i] = access.Role{ID: "spoiled", Resource: "spoiled", ResourceInstance: "spoiled"}
	}
	for i := range s.Secrets {
		s.Secrets[i] = uuid.Max
	}
	for _, p := range []*time.Time{s.ExpiresAt, s.RevokedAt} {
		if p != nil {
			*p = moment(1000 * time.Hour)
		}
	}
	if s.RBAC != nil {
		*s.RBAC = !*s.RBAC
	}
}
