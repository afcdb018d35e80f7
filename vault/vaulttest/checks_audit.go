package vaulttest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// newEvent returns an audit event without tokens and schema.
func newEvent(org string, kind vault.Kind, id string, at time.Duration) vault.AuditEvent {
	return vault.AuditEvent{ID: uuid.New(), Organization: org, At: moment(at), Kind: kind, Actor: "somebody", Vault: id}
}

// filledEvent returns an audit event whose every field is set.
func filledEvent(org, id string) vault.AuditEvent {
	e := newEvent(org, vault.KindDetokenized, id, 7*time.Microsecond)
	e.Actor = "user:bob"
	e.Tokens = []vault.AuditToken{
		{Token: "tok-2", Scope: "persons.email", Redaction: vault.Masked}, {Token: "tok-1", Scope: "emails", Redaction: vault.PlainText},
		{Token: "tok-3", Scope: "persons.phone"}, {Token: "tok-2", Scope: "persons.email", Redaction: vault.Redacted},
	}
	s := filledSchema()
	e.Schema = &s
	return e
}

// record stores audit events.
func (s *subject) record(t *testing.T, events ...vault.AuditEvent) {
	t.Helper()
	for _, e := range events {
		require.NoError(t, s.Store.AddAuditEvent(t.Context(), e.Clone()), "AddAuditEvent")
	}
}

// everything is an AuditQuery that shows a whole trail of the suite's size.
var everything = vault.AuditQuery{Limit: vault.MaxPageSize}

// audit returns a page of the trail.
func (s *subject) audit(t *testing.T, org string, q vault.AuditQuery) mortise.Page[vault.AuditEvent] {
	t.Helper()
	page, err := s.Store.ListAuditEvents(t.Context(), org, q)
	require.NoError(t, err, "ListAuditEvents")
	return page
}

// trail returns all events of an organization.
func (s *subject) trail(t *testing.T, org string) []vault.AuditEvent {
	t.Helper()
	page := s.audit(t, org, everything)
	require.True(t, page.Next.IsZero(), "more events than a page holds")
	return page.Items
}

// hasEvent requires that the event is in its organization's trail as it is here, once.
func (s *subject) hasEvent(t *testing.T, want vault.AuditEvent) {
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
func (s *subject) noEvent(t *testing.T, e vault.AuditEvent) {
	t.Helper()
	require.NotContains(t, eventIDs(s.trail(t, e.Organization)), e.ID)
}

// sameEvent compares all fields.
func sameEvent(t *testing.T, want, got vault.AuditEvent) {
	t.Helper()
	want, got = want.Clone(), got.Clone()
	sameTime(t, "At", want.At, &got.At)
	require.Equal(t, want.Schema == nil, got.Schema == nil, "whether there is a schema")
	if want.Schema != nil {
		sameSchema(t, *want.Schema, got.Schema)
	}
	if len(want.Tokens) == 0 { // the contract does not tell none from nil
		require.Empty(t, got.Tokens)
		want.Tokens, got.Tokens = nil, nil
	}
	require.Equal(t, want, got)
}

// eventIDs returns the IDs of audit events, in their order.
func eventIDs(events []vault.AuditEvent) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(events))
	for i := range events {
		ids = append(ids, events[i].ID)
	}
	return ids
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
