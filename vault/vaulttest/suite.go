package vaulttest

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-6363c74e/mortise"
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

	// InTx calls do with a context under which the calls of b are part of a transaction of
	// the host's, which it commits if do returns nil, and rolls back otherwise. It returns
	// do's error. Nil if b has no such thing: the Store is no [mortise.HostTx].
	InTx func(t *testing.T, b vault.Backend, do func(ctx context.Context) error) error

	// Skip holds the ids of rules that the backend is known to break, each with a reason.
	// An unknown id or an empty reason fails the suite.
	Skip map[string]string
}

// Rule is one sentence of a contract.
type Rule struct {
	ID   string // "group/what-it-says"
	Text string
}

// Rules returns every rule of [Run], in the order in which it tries them.
func Rules() []Rule { return conformance.RulesOf[Rule](suite(&Harness{})) }

// Run tries every rule on a fresh backend, as a subtest named by the rule's id. A rule
// that is broken prints its text. One that does not end (within minutes) ends the test,
// and prints its text and those of the rules that failed before. At the end, Run logs
// which rules were skipped and why.
func Run(t *testing.T, h Harness) {
	t.Helper()
	suite(&h).Run(t)
}

// What a rule cannot do without.
const (
	needReopen conformance.Need = 1 << iota
	needBreak
	needInTx
	needRevocations
	needStore // as all do
)

// parts tells which of that the backend has.
func (s *subject) parts(has conformance.Has) {
	has(needReopen, s.h.Reopen != nil, "the harness has no Reopen")
	has(needBreak, s.h.Break != nil, "the harness has no Break")
	has(needInTx, s.h.InTx != nil, "the harness has no InTx")
	has(needRevocations, conformance.Is[mortise.RevocationCounter](s.Store), "its Store has no Revocations")
	has(needStore, s.Store != nil, "the backend has no Store")
}

// rule is a Rule with the check that proves it.
type rule struct {
	Rule
	needs conformance.Need
	check func(t *testing.T, s *subject)
}

// suite returns the rules, to be tried on the backends of a harness.
func suite(h *Harness) *conformance.Suite[*subject] {
	s := &conformance.Suite[*subject]{Name: "vaulttest", Skip: h.Skip, Open: h.open, Parts: (*subject).parts}
	for _, r := range slices.Concat(vaultRules, vaultChangeRules, scopeRules, insertRules, uniqueRules,
		takenRules, keyedInsertRules, importRules, importRaceRules, findRules, rowRules, listRules, deleteRules,
		keyRules, revocationRules, retireRules, usageRules, fingerprintRotationRules, resealRules, scanRules(), concurrentRules,
		rotationRaceRules, auditRules, pruneRules(), contextRules, hostTxRules, breakRules, reopenRules,
		vaultListRules, listsRules(),
		stepRules(), deletionRules, deletionStepRules, deletionRotationRules, deletionRaceRules) {
		s.Add(r.ID, r.Text, r.needs|needStore, r.check)
	}
	return s
}

// subject is the backend that a rule is tried on.
type subject struct {
	vault.Backend
	trail
	h *Harness
}

func (h *Harness) open(t *testing.T) *subject {
	s := &subject{Backend: h.Open(t), h: h}
	s.trail = s.newTrail()
	return s
}

// reopen makes the backend begin anew, on the same data.
func (s *subject) reopen(t *testing.T) { s.Backend = s.h.Reopen(t, s.Backend) }

// breakIt makes the backend fail until heal is called, or until the test ends.
func (s *subject) breakIt(t *testing.T) (heal func()) {
	return conformance.Break(t, s.h.Break, s.Backend)
}
