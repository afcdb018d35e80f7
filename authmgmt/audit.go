package authmgmt

import (
	"context"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// AuditEvent is one change: who did what to what, and what was there before and after. It
// never holds a secret, nor a digest of one.
type AuditEvent struct {
	ID           uuid.UUID
	Organization string
	At           time.Time
	Kind         mortise.Kind
	Actor        mortise.Actor // Caller.Actor
	Target       string        // the ID of the client, invitation or token, or the organization
	Before       *Snapshot     // nil: it was not there
	After        *Snapshot     // nil: it is not there any more
}

// Snapshot is what an audit event shows of a thing. Stores keep it as JSON. Fields that
// do not apply are left out.
type Snapshot struct {
	Name       string          `json:"name,omitempty"`
	Email      string          `json:"email,omitempty"`
	Subject    string          `json:"subject,omitempty"`
	Client     string          `json:"client,omitempty"`
	Roles      []access.Role   `json:"roles,omitempty"`
	FullAccess bool            `json:"full_access,omitempty"`
	State      InvitationState `json:"state,omitempty"`
	Generation int64           `json:"generation,omitempty"`
	RBAC       *bool           `json:"rbac,omitempty"`
	Secrets    []uuid.UUID     `json:"secrets,omitempty"` // the IDs of a client's secrets
	ExpiresAt  *time.Time      `json:"expires_at,omitempty"`
	RevokedAt  *time.Time      `json:"revoked_at,omitempty"`
}

// Clone returns a copy that shares nothing with e.
func (e *AuditEvent) Clone() AuditEvent {
	d := *e
	d.Before, d.After = e.Before.clone(), e.After.clone()
	return d
}

func (s *Snapshot) clone() *Snapshot {
	if s == nil {
		return nil
	}
	d := *s
	d.Roles, d.Secrets = cloneList(s.Roles), cloneList(s.Secrets)
	d.RBAC, d.ExpiresAt, d.RevokedAt = clonePointer(s.RBAC), clonePointer(s.ExpiresAt), clonePointer(s.RevokedAt)
	return &d
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// AuditQuery selects audit events of one organization. Zero fields but Limit select
// everything.
type AuditQuery struct {
	Kind   mortise.Kind
	Actor  mortise.Actor
	Target string
	From   time.Time // at or after
	To     time.Time // before
	After  mortise.Cursor
	Limit  int // at most mortise.MaxPageSize; a Service takes 0 for 50
}

// Matches reports whether e is selected by q; After and Limit do not count. It defines what
// Audit.ListAuditEvents must return.
func (q *AuditQuery) Matches(e *AuditEvent) bool {
	return (q.Kind == "" || q.Kind == e.Kind) &&
		(q.Actor == "" || q.Actor == e.Actor) &&
		(q.Target == "" || q.Target == e.Target) &&
		(q.From.IsZero() || !e.At.Before(q.From)) &&
		(q.To.IsZero() || e.At.Before(q.To))
}

// Position returns the event's place in the trail.
func (e *AuditEvent) Position() mortise.Position {
	return mortise.Position{At: e.At, ID: string(e.ID[:])}
}

// ListAuditEvents returns a page of the organization's audit trail, newest first. Limit 0
// means 50.
// The errors are [*mortise.ValidationError], for a Limit outside 0 to
// [mortise.MaxPageSize] or an After that is no cursor, and [mortise.ErrUnavailable].
func (s *Service) ListAuditEvents(ctx context.Context, org string, q AuditQuery) (mortise.Page[AuditEvent], error) {
	var p problems
	q.Limit = failure.Page(&p.Problems, q.After, q.Limit, pages.ByUUID)
	if err := p.Err(); err != nil {
		return mortise.Page[AuditEvent]{}, err
	}
	q.Actor, q.From, q.To = name.Clean(q.Actor), pages.Ceil(q.From), pages.Ceil(q.To)
	page, err := s.store.ListAuditEvents(ctx, org, q)
	if err == nil {
		err = pages.Check(page, q.After, q.Limit)
	}
	return page, unavailable("list audit events", err)
}

// AuditEvents iterates over everything that q selects, newest first, from q.After on, by
// pages of q.Limit. It ends after the first error, which is [mortise.ErrUnavailable] if the
// store returns the cursor again that it was given.
func (s *Service) AuditEvents(ctx context.Context, org string, q AuditQuery) iter.Seq2[AuditEvent, error] {
	return pages.Each(q.After, func(after mortise.Cursor) (mortise.Page[AuditEvent], error) {
		q.After = after
		return s.ListAuditEvents(ctx, org, q)
	})
}

// event begins the audit event of a change; its snapshots are filled in. All events of a
// service begin here. That of a change to something begins within the update function, so
// that the trail has the order in which the changes were made.
func (s *Service) event(org string, kind mortise.Kind, by Caller, target string) (AuditEvent, error) {
	now := s.now()
	id, err := s.newID(now)
	if err != nil {
		return AuditEvent{}, unavailable("read randomness", err)
	}
	return AuditEvent{ID: id, Organization: org, At: now, Kind: kind, Actor: name.Clean(by.Actor), Target: target}, nil
}

func setTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (c *Client) snapshot() *Snapshot {
	s := &Snapshot{Name: c.Name, Roles: cloneList(c.Roles), FullAccess: len(c.Roles) == 0}
	for _, secret := range c.Secrets {
		s.Secrets = append(s.Secrets, secret.ID)
	}
	return s
}

func (t *Token) snapshot() *Snapshot {
	s := &Snapshot{Subject: t.Subject, Client: t.Client, ExpiresAt: setTime(t.ExpiresAt), RevokedAt: setTime(t.RevokedAt)}
	if t.Client == "" {
		s.Roles, s.FullAccess = cloneList(t.Roles), len(t.Roles) == 0
	}
	return s
}

func (i *Invitation) snapshot(now time.Time) *Snapshot {
	return &Snapshot{
		Name: i.Name, Email: i.Email, Roles: cloneList(i.Roles), FullAccess: len(i.Roles) == 0,
		State: i.State(now), Generation: i.Generation, ExpiresAt: setTime(i.ExpiresAt),
	}
}
