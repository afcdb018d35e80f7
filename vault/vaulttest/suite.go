// Package vaulttest proves backends and keyrings of package vault, and gives tests of
// programs that use it what they need.
//
// [Run] is the conformance suite of backends: every testable sentence of the contract of
// [vault.Store] is a rule with an id of its own. [RunModel] compares services on a
// backend with a plain model of them, through random sequences of calls and rotations of
// the keys. A backend proves itself in a few lines:
//
//	func TestConformance(t *testing.T) {
//		h := vaulttest.Harness{Open: func(t *testing.T) vault.Backend {
//			db := open(t) // and t.Cleanup to close it
//			return vault.Backend{Store: db}
//		}}
//		vaulttest.Run(t, h)
//		vaulttest.RunModel(t, h, nil)
//	}
//
// [RunKeyring] is the suite of keyrings. [New] makes a fake for the tests of a program
// that uses a service, and [Faults] makes a backend fail.
package vaulttest

import (
	"slices"
	"testing"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
)

// Harness tells the suite how to come by a backend.
type Harness struct {
	// Open returns a fresh, empty backend that shares nothing with earlier ones. It
	// cleans up with t.Cleanup.
	Open func(t *testing.T) vault.Backend

	// Reopen closes b and opens the same data again. Nil if the backend is volatile.
	Reopen func(t *testing.T, b vault.Backend) vault.Backend

	// Break makes the backend fail until heal is called. It is optional.
	Break func(t *testing.T, b vault.Backend) (heal func())

	// Skip holds the ids of rules that the backend is known to break, each with a reason.
	// An unknown id or an empty reason fails the suite.
	Skip map[string]string
}

// Rule is one sentence of a contract.
type Rule struct {
	ID   string // "interface/what-it-says"; stable
	Text string
}

// Rules returns every rule of [Run], in the order in which it tries them.
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
	suite := conformance.Suite{Name: "vaulttest"}
	for _, r := range allRules() {
		suite.Rules = append(suite.Rules, conformance.Rule{ID: r.ID, Text: r.Text, Try: func(t *testing.T) string { return r.try(t, &h) }})
	}
	suite.Run(t, h.Skip)
}

// need is what a rule cannot do without.
type need uint

const (
	needReopen need = 1 << iota
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
	vault.Backend
	h *Harness
}

// try runs the check, or returns why it cannot.
func (r *rule) try(t *testing.T, h *Harness) (skipped string) {
	switch {
	case r.needs&needReopen != 0 && h.Reopen == nil:
		return "the harness has no Reopen"
	case r.needs&needBreak != 0 && h.Break == nil:
		return "the harness has no Break"
	}
	s := &subject{Backend: h.Open(t), h: h}
	if s.Store == nil {
		return "the backend has no Store"
	}
	r.check(t, s)
	return ""
}

func allRules() []rule {
	return slices.Concat(vaultRules, vaultChangeRules, scopeRules, insertRules, uniqueRules, takenRules, keyedInsertRules, importRules, importRaceRules, findRules, rowRules, listRules, deleteRules,
		keyRules, retireRules, usageRules, fingerprintRotationRules, resealRules, scanRules(), concurrentRules, rotationRaceRules,
		auditRules, auditQueryRules, pruneRules, contextRules, breakRules, reopenRules,
		vaultListRules, statsRules, statsAllRules,
		deletionRules, deletionStepRules, deletionRotationRules, deletionRaceRules)
}
