package vaulttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
	"github.com/seed-6363c74e/mortise/vault"
)

// auditRules say what the audit trail keeps, in which order, and what an AuditQuery
// selects: what every trail does, and what just this one does.
var auditRules = slices.Concat(audited(auditEvents.Rules()), []rule{
	{Rule{"audit/stores-every-field", "An audit event is stored with all its fields, its tokens in their order and its schema included; the schema is nil if there was none, which an empty one is not."}, 0,
		func(t *testing.T, s *subject) {
			both, tokens, schema, empty := filledEvent(orgA, "both"), filledEvent(orgA, "tokens"), filledEvent(orgA, "schema"), filledEvent(orgA, "empty")
			tokens.Schema, schema.Tokens = nil, nil
			empty.Tokens, empty.Schema = []vault.AuditToken{}, &vault.Schema{}
			events := []vault.AuditEvent{both, tokens, schema, empty, newEvent(orgA, mortise.KindDetokenized, "plain", 0)}
			s.Record(t, events...)
			for _, e := range events {
				s.HasEvent(t, e)
			}
		}},

	{Rule{"audit/many-tokens", "An audit event names 1000 tokens, as long as they can be."}, 0,
		func(t *testing.T, s *subject) {
			e := newEvent(orgA, mortise.KindDetokenized, "customers", 0)
			for i := range 1000 {
				e.Tokens = append(e.Tokens, vault.AuditToken{Token: fmt.Sprintf("%0255d", i), Scope: strings.Repeat("s", 511), Redaction: vault.PlainText})
			}
			s.Record(t, e)
			s.HasEvent(t, e)
		}},
})

// pruneRules are the rules of PruneAudit.
func pruneRules() []rule {
	rules := audited(auditEvents.PruneRules("audit/prune"))
	events := rules[0].check
	rules[0].check = func(t *testing.T, s *subject) {
		v := s.customers(t)
		s.adds(t, v, row("t1", email, "ann", 1))
		s.Prunes(t, 1, -999*time.Hour) // the vault's
		events(t, s)
		s.hasVault(t, v)
		s.hasRow(t, v, row("t1", email, "ann", 1))
	}
	return rules
}

// audited tries rules of every trail on that of the vault.
func audited(rules []audittest.Rule[vault.AuditEvent]) (all []rule) {
	for _, r := range rules {
		all = append(all, rule{Rule{r.ID, r.Text}, 0, func(t *testing.T, s *subject) { r.Check(t, &s.trail) }})
	}
	return all
}
