// Package triggertest proves backends of package trigger, and gives tests of programs
// that use it what they need.
//
// [Run] is the conformance suite: every testable sentence of the contracts of
// [trigger.Store] with its parts, [trigger.Pruner], [trigger.Organizations],
// [trigger.APIKeys] and [trigger.TxStore] is a rule with an id of its own. (Queues and
// leases have a suite of their own, package storage/queuetest.) A backend proves itself
// in a few lines:
//
//	func TestConformance(t *testing.T) {
//		triggertest.Run(t, triggertest.Harness{Open: func(t *testing.T) trigger.Backend {
//			db := open(t) // and t.Cleanup to close it
//			return trigger.Backend{Store: db, Queue: db.Queue(nil), Directory: db, Keys: db}
//		}})
//	}
package triggertest

import (
	"slices"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Harness tells the suite how to come by a backend. The rules of what it lacks are
// skipped and counted. Those of optional interfaces apply where a part implements them:
// [trigger.Pruner] and [trigger.TxStore] (Store), [trigger.Organizations] (Directory),
// [mortise.Sharer] (Queue) and [mortise.JobNotifier] (Leases).
type Harness struct {
	// Open returns a fresh, empty backend that shares nothing with earlier ones. It
	// cleans up with t.Cleanup.
	Open func(t *testing.T) trigger.Backend

	// Leases returns the jobs that the backend's [trigger.TxStore] adds and removes, and
	// that its Queue hands out. Nil if the Store is not one.
	Leases func(b trigger.Backend) mortise.Leases

	// Reopen closes b and opens the same data again. Nil if the backend is volatile.
	Reopen func(t *testing.T, b trigger.Backend) trigger.Backend

	// Break makes the backend fail until heal is called. It is optional.
	Break func(t *testing.T, b trigger.Backend) (heal func())

	// Skip holds the ids of rules that the backend is known to break, each with a reason.
	// An unknown id or an empty reason fails the suite.
	Skip map[string]string
}

// Rule is one sentence of a contract.
type Rule struct {
	ID   string // "interface/what-it-says"; stable
	Text string
}

// Rules returns every rule of the suite, in the order in which Run tries them.
func Rules() []Rule {
	var rules []Rule
	for _, r := range allRules() {
		rules = append(rules, r.Rule)
	}
	return rules
}

// Run tries every rule on a fresh backend, as a subtest named by the rule's id. A rule
// that is broken prints its text. One that does not end (within minutes) ends the test,
// and prints its text and those of the rules that failed before. At the end, Run logs
// which rules were skipped and why.
func Run(t *testing.T, h Harness) {
	t.Helper()
	suite := conformance.Suite{Name: "triggertest"}
	for _, r := range allRules() {
		suite.Rules = append(suite.Rules, conformance.Rule{ID: r.ID, Text: r.Text, Try: func(t *testing.T) string { return r.try(t, &h) }})
	}
	suite.Run(t, h.Skip)
}

// need is what a rule cannot do without.
type need uint

const (
	needStore need = 1 << iota
	needPruner
	needOrganizations
	needKeys
	needTxStore
	needLeases
	needJobNotifier
	needSharer
	needReopen
	needBreak

	needTx = needStore | needTxStore | needLeases
)

// rule is a Rule with the check that proves it.
type rule struct {
	Rule
	needs need
	check func(t *testing.T, s *subject)
}

// subject is the backend that a rule is tried on.
type subject struct {
	trigger.Backend
	Organizations trigger.Organizations // nil: the Directory is not one
	Leases        mortise.Leases
	h             *Harness
}

// use makes b the backend.
func (s *subject) use(b trigger.Backend) {
	s.Backend = b
	s.Organizations, _ = b.Directory.(trigger.Organizations)
	if s.h.Leases != nil {
		s.Leases = s.h.Leases(b)
	}
}

// try runs the check, or returns why it cannot.
func (r *rule) try(t *testing.T, h *Harness) (skipped string) {
	switch {
	case r.needs&needReopen != 0 && h.Reopen == nil:
		return "the harness has no Reopen"
	case r.needs&needBreak != 0 && h.Break == nil:
		return "the harness has no Break"
	}
	s := &subject{h: h}
	s.use(h.Open(t))
	if reason := s.lacks(r.needs); reason != "" {
		return reason
	}
	r.check(t, s)
	return ""
}

// lacks says which of the needs the backend does not meet.
func (s *subject) lacks(needs need) string {
	_, pruner := s.Store.(trigger.Pruner)
	_, txStore := s.Store.(trigger.TxStore)
	_, jobNotifier := s.Leases.(mortise.JobNotifier)
	_, sharer := s.Queue.(mortise.Sharer)
	for _, n := range []struct {
		need   need
		met    bool
		reason string
	}{
		{needStore, s.Store != nil, "the backend has no Store"},
		{needPruner, pruner, "its Store is no Pruner"},
		{needOrganizations, s.Organizations != nil, "the backend has no Organizations"},
		{needKeys, s.Keys != nil, "the backend has no Keys"},
		{needTxStore, txStore, "its Store is not a TxStore"},
		{needLeases, s.Leases != nil, "the harness has no Leases"},
		{needJobNotifier, jobNotifier, "its Leases are not a JobNotifier"},
		{needSharer, sharer, "its Queue is not a Sharer"},
	} {
		if needs&n.need != 0 && !n.met {
			return n.reason
		}
	}
	return ""
}

func allRules() []rule {
	return slices.Concat(createRules, keyRules, nameRules, updateRules, listRules, pageRules,
		unqueuedRules, staleRules, pruneRules, deletionRules, deletionStepRules, statsRules, statsAllRules, organizationRules, apiKeyRules,
		apiKeyListRules, txStoreRules, txEndRules,
		contextRules, leaveRules, breakRules, reopenRules)
}
