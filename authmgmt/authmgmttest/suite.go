// Package authmgmttest proves backends of package authmgmt, and gives tests of programs
// that use it what they need.
//
// [Run] is the conformance suite: every testable sentence of the contracts of
// [authmgmt.Store], [authmgmt.Organizations], and of the optional interfaces
// [authmgmt.Pruner] and [authmgmt.KeyChecker], is a rule with an id of its own.
// [RunModel] compares the service on a backend with a plain model of it, through random
// sequences of calls. A backend proves itself in a few lines:
//
//	func TestConformance(t *testing.T) {
//		h := authmgmttest.Harness{Open: func(t *testing.T) authmgmt.Backend {
//			db := open(t) // and t.Cleanup to close it
//			return authmgmt.Backend{Store: db, Directory: db}
//		}}
//		authmgmttest.Run(t, h)
//		authmgmttest.RunModel(t, h, nil)
//	}
//
// [New] makes a fake for the tests of a program that uses a service, and [Faults] makes a
// backend fail.
package authmgmttest

import (
	"slices"
	"testing"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// Harness tells the suite how to come by a backend. Rules of [authmgmt.Organizations]
// apply if the Directory is one, that of its [authmgmt.Deletion] if it has that, those of
// [authmgmt.Pruner] and [authmgmt.KeyChecker] if the Store is one; the others are skipped
// and counted. Organizations share the Store's audit trail.
type Harness struct {
	// Open returns a fresh, empty backend that shares nothing with earlier ones. It
	// cleans up with t.Cleanup.
	Open func(t *testing.T) authmgmt.Backend

	// Reopen closes b and opens the same data again. Nil if the backend is volatile.
	Reopen func(t *testing.T, b authmgmt.Backend) authmgmt.Backend

	// Break makes the backend fail until heal is called. It is optional.
	Break func(t *testing.T, b authmgmt.Backend) (heal func())

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
	suite := conformance.Suite{Name: "authmgmttest"}
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
	needKeyChecker
	needOrganizations
	needOrganizationsDeletion
	needReopen
	needBreak
)

// rule is a Rule with the check that proves it.
type rule struct {
	Rule
	needs need
	check func(t *testing.T, s *subject)
}

// subject is the backend that a rule is tried on.
type subject struct {
	authmgmt.Backend
	Organizations authmgmt.Organizations // nil: the Directory is not one
	h             *Harness
}

// use makes b the backend.
func (s *subject) use(b authmgmt.Backend) {
	s.Backend = b
	s.Organizations, _ = b.Directory.(authmgmt.Organizations)
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
	_, pruner := s.Store.(authmgmt.Pruner)
	_, keyChecker := s.Store.(authmgmt.KeyChecker)
	_, deletion := s.Organizations.(authmgmt.Deletion)
	for _, n := range []struct {
		need   need
		met    bool
		reason string
	}{
		{needStore, s.Store != nil, "the backend has no Store"},
		{needPruner, pruner, "its Store is no Pruner"},
		{needKeyChecker, keyChecker, "its Store is no KeyChecker"},
		{needOrganizations, s.Organizations != nil, "the backend has no Organizations"},
		{needOrganizationsDeletion, deletion, "its Organizations is no Deletion"},
	} {
		if needs&n.need != 0 && !n.met {
			return n.reason
		}
	}
	return ""
}

func allRules() []rule {
	return slices.Concat(clientRules, clientUpdateRules, secretRules, clientListRules, tokenRules, tokenLifeRules, tokenListRules,
		invitationRules, exclusiveRules, invitationListRules, pageRules(), grantRules, updateRules(), createRules(), concurrentRules,
		auditRules, auditQueryRules, statsRules, deletionRules, pruneRules, keyCheckRules, organizationRules, contextRules, breakRules, reopenRules)
}
