package authmgmttest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
)

type trail = audittest.Trail[authmgmt.AuditEvent]

// auditEvents says what the audit events of package authmgmt are.
var auditEvents = audittest.Events[authmgmt.AuditEvent]{
	About: "Target", JSON: "snapshots",
	New: func(e audittest.Event) authmgmt.AuditEvent {
		return authmgmt.AuditEvent{
			ID: e.ID, Organization: e.Organization, At: e.At, Kind: mortise.Kind(e.Kind), Actor: mortise.Actor(e.Actor), Target: e.About,
		}
	},
	Say: func(e *authmgmt.AuditEvent) audittest.Event {
		return audittest.Event{ID: e.ID, Organization: e.Organization, At: e.At, Kind: string(e.Kind), Actor: string(e.Actor), About: e.Target}
	},
	Fill:    fillEvent,
	Clone:   (*authmgmt.AuditEvent).Clone,
	Spoil:   spoilEvent,
	Same:    sameEvent,
	Matches: func(q audittest.Query, e *authmgmt.AuditEvent) bool { own := auditQuery(q); return own.Matches(e) },
}

func auditQuery(q audittest.Query) authmgmt.AuditQuery {
	return authmgmt.AuditQuery{
		Kind: mortise.Kind(q.Kind), Actor: mortise.Actor(q.Actor), Target: q.About, From: q.From, To: q.To, After: q.After, Limit: q.Limit,
	}
}

// newTrail returns the trail of a subject's store. An event is stored with a client that
// is made for it.
func (s *subject) newTrail() trail {
	return trail{
		Events: &auditEvents,
		List: func(ctx context.Context, org string, q audittest.Query) (mortise.Page[authmgmt.AuditEvent], error) {
			return s.Store.ListAuditEvents(ctx, org, auditQuery(q))
		},
		Add: func(t *testing.T, e authmgmt.AuditEvent) {
			t.Helper()
			require.NoError(t, s.Store.CreateClient(t.Context(), newClient(e.Organization, "with "+uuid.NewString(), 0), e))
		},
		Prune: func(ctx context.Context, before time.Time, limit int) (int, bool, error) {
			return s.pruner().PruneAudit(ctx, before, limit)
		},
	}
}

// newEvent returns an audit event without snapshots.
func newEvent(org string, kind mortise.Kind, target string, at time.Duration) authmgmt.AuditEvent {
	return authmgmt.AuditEvent{ID: uuid.New(), Organization: org, At: moment(at), Kind: kind, Actor: "somebody", Target: target}
}

// filledEvent returns an audit event with snapshots whose every field is set.
func filledEvent(org, target string) authmgmt.AuditEvent {
	e := newEvent(org, mortise.KindClientUpdated, target, 7*time.Microsecond)
	e.Actor = "user:bob"
	fillEvent(&e, "dataset")
	return e
}

func fillEvent(e *authmgmt.AuditEvent, text string) {
	e.Before, e.After = filledSnapshot(e.At, text), filledSnapshot(e.At, text)
	rbac := true
	e.After.RBAC = &rbac
}

func filledSnapshot(at time.Time, text string) *authmgmt.Snapshot {
	rbac, revoked := false, at.Add(time.Microsecond)
	return &authmgmt.Snapshot{
		Name: text, Email: text, Subject: text, Client: text, State: authmgmt.InvitationState(text),
		Roles: []access.Role{
			{ID: text, Resource: access.ResourceType(text), ResourceInstance: text}, {ID: "admin"}, {ID: "editor", Resource: "dataset"},
		},
		FullAccess: true, Generation: 1<<62 + 1, RBAC: &rbac,
		Secrets: []uuid.UUID{{2}, {1}, {3}}, ExpiresAt: &at, RevokedAt: &revoked,
	}
}

// sameEvent compares all fields.
func sameEvent(t *testing.T, want, got authmgmt.AuditEvent) {
	t.Helper()
	want, got = want.Clone(), got.Clone()
	conformance.SameTime(t, "At", want.At, &got.At)
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
	conformance.Same(t, want, got)
}

// spoilEvent changes everything in an event that a shallow copy shares.
func spoilEvent(e *authmgmt.AuditEvent) {
	for _, s := range []*authmgmt.Snapshot{e.Before, e.After} {
		if s != nil {
			spoilSnapshot(s)
		}
	}
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
