package vaulttest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
	"github.com/seed-6363c74e/mortise/vault"
)

type trail = audittest.Trail[vault.AuditEvent]

// auditEvents says what the vault's audit events are.
var auditEvents = audittest.Events[vault.AuditEvent]{
	About: "Vault", JSON: "tokens and schemas",
	New: func(e audittest.Event) vault.AuditEvent {
		return vault.AuditEvent{ID: e.ID, Organization: e.Organization, At: e.At, Kind: mortise.Kind(e.Kind), Actor: mortise.Actor(e.Actor), Vault: e.About}
	},
	Say: func(e *vault.AuditEvent) audittest.Event {
		return audittest.Event{ID: e.ID, Organization: e.Organization, At: e.At, Kind: string(e.Kind), Actor: string(e.Actor), About: e.Vault}
	},
	Fill:    fillEvent,
	Clone:   (*vault.AuditEvent).Clone,
	Spoil:   spoilEvent,
	Same:    sameEvent,
	Matches: func(q audittest.Query, e *vault.AuditEvent) bool { own := auditQuery(q); return own.Matches(e) },
}

func auditQuery(q audittest.Query) vault.AuditQuery {
	return vault.AuditQuery{
		Kind: mortise.Kind(q.Kind), Actor: mortise.Actor(q.Actor), Vault: q.About, From: q.From, To: q.To, After: q.After, Limit: q.Limit,
	}
}

// newTrail returns the trail of a subject's store.
func (s *subject) newTrail() trail {
	return trail{
		Events: &auditEvents,
		List: func(ctx context.Context, org string, q audittest.Query) (mortise.Page[vault.AuditEvent], error) {
			return s.Store.ListAuditEvents(ctx, org, auditQuery(q))
		},
		Add: func(t *testing.T, e vault.AuditEvent) {
			t.Helper()
			require.NoError(t, s.Store.AddAuditEvent(t.Context(), e), "AddAuditEvent")
		},
		Prune: func(ctx context.Context, before time.Time, limit int) (int, bool, error) {
			return s.Store.PruneAudit(ctx, before, limit)
		},
	}
}

// newEvent returns an audit event without tokens and schema.
func newEvent(org string, kind mortise.Kind, id string, at time.Duration) vault.AuditEvent {
	return vault.AuditEvent{ID: uuid.New(), Organization: org, At: moment(at), Kind: kind, Actor: "somebody", Vault: id}
}

// filledEvent returns an audit event whose every field is set.
func filledEvent(org, id string) vault.AuditEvent {
	e := newEvent(org, mortise.KindDetokenized, id, 7*time.Microsecond)
	e.Actor = "user:bob"
	fillEvent(&e, "persons.email")
	return e
}

func fillEvent(e *vault.AuditEvent, text string) {
	e.Tokens = []vault.AuditToken{
		{Token: "tok-2", Scope: "persons.email", Redaction: vault.Masked}, {Token: text, Scope: text, Redaction: vault.Redaction(text)},
		{Token: "tok-1", Scope: "emails", Redaction: vault.PlainText}, {Token: "tok-3", Scope: "persons.phone"},
		{Token: "tok-2", Scope: "persons.email", Redaction: vault.Redacted},
	}
	s := filledSchema()
	s.Tables[0].Name = text
	e.Schema = &s
}

// sameEvent compares all fields.
func sameEvent(t *testing.T, want, got vault.AuditEvent) {
	t.Helper()
	want, got = want.Clone(), got.Clone()
	conformance.SameTime(t, "At", want.At, &got.At)
	require.Equal(t, want.Schema == nil, got.Schema == nil, "whether there is a schema")
	if want.Schema != nil {
		sameSchema(t, *want.Schema, got.Schema)
	}
	if len(want.Tokens) == 0 { // the contract does not tell none from nil
		require.Empty(t, got.Tokens)
		want.Tokens, got.Tokens = nil, nil
	}
	conformance.Same(t, want, got)
}

// spoilEvent changes everything in an event that a shallow copy shares.
func spoilEvent(e *vault.AuditEvent) {
	for i := range e.Tokens {
		e.Tokens[i] = vault.AuditToken{Token: "spoiled", Scope: "spoiled", Redaction: "spoiled"}
	}
	if e.Schema != nil {
		spoilSchema(e.Schema)
		e.Schema.Tables = append(e.Schema.Tables[:0], vault.Table{Name: "spoiled"})
	}
}
