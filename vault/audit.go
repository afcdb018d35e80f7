package vault

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/steps"
)

// AuditEvent says who did what to a vault. It never holds a value.
type AuditEvent struct {
	ID           uuid.UUID // no two have one; callers see to it
	Organization string
	At           time.Time
	Kind         mortise.Kind
	Actor        mortise.Actor
	Vault        string
	Tokens       []AuditToken // those that were imported, shown or deleted
	Schema       *Schema      // as it is after a change of it
}

// AuditToken is a token in an event, and how much of its value was shown.
type AuditToken struct {
	Token     string    `json:"token"`
	Scope     string    `json:"scope"`
	Redaction Redaction `json:"redaction,omitempty"`
}

// Clone returns a copy that shares nothing with e.
func (e *AuditEvent) Clone() AuditEvent {
	c := *e
	c.Tokens = slices.Clone(e.Tokens)
	if e.Schema != nil {
		s := e.Schema.Clone()
		c.Schema = &s
	}
	return c
}

// AuditQuery selects audit events of one organization. Zero fields but Limit select
// everything.
type AuditQuery struct {
	Kind  mortise.Kind
	Actor mortise.Actor
	Vault string
	From  time.Time // at or after
	To    time.Time // before
	After mortise.Cursor
	Limit int // at most mortise.MaxPageSize; a Service takes 0 for 50
}

// Matches reports whether e is selected by q; After and Limit do not count. It defines what
// Audit.ListAuditEvents must return.
func (q *AuditQuery) Matches(e *AuditEvent) bool {
	return (q.Kind == "" || q.Kind == e.Kind) &&
		(q.Actor == "" || q.Actor == e.Actor) &&
		(q.Vault == "" || q.Vault == e.Vault) &&
		(q.From.IsZero() || !e.At.Before(q.From)) &&
		(q.To.IsZero() || e.At.Before(q.To))
}

// Position returns the event's place in the trail.
func (e *AuditEvent) Position() mortise.Position {
	return mortise.Position{At: e.At, ID: string(e.ID[:])}
}

// ListAuditEvents returns a page of the organization's audit trail, newest first. Limit 0
// means 50. Once the organization was deleted, its trail has just the event that says so.
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

// Prune forgets audit events from before the given time, of all organizations, and
// returns how many. Run calls it if Options.Retention is set, and nothing is ever forgotten
// without it. Tokens have no retention: they live until they are deleted.
func (s *Service) Prune(ctx context.Context, before time.Time) (int, error) {
	const limit = 1000
	before = pages.Ceil(before)
	n, err := steps.Run(ctx, "PruneAudit", limit, func(ctx context.Context, limit int) (int, bool, error) {
		return s.store.PruneAudit(ctx, before, limit)
	})
	return n, unavailable("prune", err)
}

// event begins the audit event of what an actor does now.
func (s *Service) event(org, vault string, kind mortise.Kind, by mortise.Actor) (AuditEvent, error) {
	now := s.now()
	id, err := s.ids.New(s.opts.Rand, now)
	if err != nil {
		return AuditEvent{}, unavailable("read randomness", err)
	}
	return AuditEvent{ID: id, Organization: org, At: now, Kind: kind, Actor: name.Clean(by), Vault: vault}, nil
}
