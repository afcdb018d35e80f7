package authmgmttest

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
)

// auditRules say what the audit trail keeps, in which order, and what an AuditQuery
// selects: what every trail does, and what just this one does.
var auditRules = slices.Concat(audited(needStore, auditEvents.Rules()), []rule{
	{Rule{"audit/stores-every-field", "An audit event is stored with all its fields, those of its snapshots included; a snapshot is nil if there was none, which an empty one is not."}, needStore,
		func(t *testing.T, s *subject) {
			both, after, before, empty := filledEvent(orgA, "both"), filledEvent(orgA, "after"), filledEvent(orgA, "before"), filledEvent(orgA, "empty")
			after.Before, before.After = nil, nil
			empty.Before, empty.After = &authmgmt.Snapshot{}, &authmgmt.Snapshot{}
			events := []authmgmt.AuditEvent{both, after, before, empty, newEvent(orgA, mortise.KindInvited, "plain", 0)}
			s.Record(t, events...)
			for _, e := range events {
				s.HasEvent(t, e)
			}
		}},
})

// pruneAuditRules are the rules of PruneAudit.
func pruneAuditRules() []rule {
	rules := audited(needStore|needPruner, auditEvents.PruneRules("pruner/audit"))
	events := rules[0].check
	rules[0].check = func(t *testing.T, s *subject) {
		c := s.addClient(t, newClient(orgA, "build", 0))
		s.Prunes(t, 1, time.Microsecond) // the client's
		events(t, s)
		s.hasClient(t, c)
	}
	return rules
}

// audited tries rules of every trail on that of the store.
func audited(needs conformance.Need, rules []audittest.Rule[authmgmt.AuditEvent]) (all []rule) {
	for _, r := range rules {
		all = append(all, rule{Rule{r.ID, r.Text}, needs, func(t *testing.T, s *subject) { r.Check(t, &s.trail) }})
	}
	return all
}
