package triggertest

import (
	"slices"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Harness tells the suite how to come by a backend. The rules of what it lacks are
// skipped and counted. Those of optional interfaces apply where a part implements them:
// [trigger.Pruner], [trigger.TxStore] and [mortise.Transactor] (Store),
// [trigger.Organizations] (Directory), [mortise.Sharer] (Queue) and [leases.JobNotifier]
// (Leases).
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
	ID   string // "group/what-it-says"
	Text string
}

// Rules returns every rule of the suite, in the order in which Run tries them.
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
	needStore conformance.Need = 1 << iota
	needPruner
	needOrganizations
	needKeys
	needTxStore
	needTransactor
	needRevocations
	needLeases
	needJobNotifier
	needSharer
	needReopen
	needBreak

	needTx = needStore | needTxStore | needLeases
)

// parts tells which of that the backend has.
func (s *subject) parts(has conformance.Has) {
	has(needReopen, s.h.Reopen != nil, "the harness has no Reopen")
	has(needBreak, s.h.Break != nil, "the harness has no Break")
	has(needStore, s.Store != nil, "the backend has no Store")
	has(needPruner, conformance.Is[trigger.Pruner](s.Store), "its Store is no Pruner")
	has(needOrganizations, s.Organizations != nil, "the backend has no Organizations")
	has(needKeys, s.Keys != nil, "the backend has no Keys")
	has(needTxStore, conformance.Is[trigger.TxStore](s.Store), "its Store is not a TxStore")
	has(needRevocations, conformance.Is[mortise.RevocationCounter](s.Store), "its Store has no Revocations")
	has(needTransactor, conformance.Is[mortise.Transactor](s.Store), "its Store is not a Transactor")
	has(needLeases, s.Leases != nil, "the harness has no Leases")
	has(needJobNotifier, conformance.Is[leases.JobNotifier](s.Leases), "its Leases are not a JobNotifier")
	has(needSharer, conformance.Is[mortise.Sharer](s.Queue), "its Queue is not a Sharer")
}

// rule is a Rule with the check that proves it.
type rule struct {
	Rule
	needs conformance.Need
	check func(t *testing.T, s *subject)
}

// suite returns the rules, to be tried on the backends of a harness.
func suite(h *Harness) *conformance.Suite[*subject] {
	s := &conformance.Suite[*subject]{Name: "triggertest", Skip: h.Skip, Open: h.open, Parts: (*subject).parts}
	for _, r := range slices.Concat(createRules, createManyRules, keyRules, nameRules, updateRules, listRules, listsRules(), pageRules,
		overdueRules, progressRules, allRules, pruneRules, deletionRules, deletionStepRules, stepRules(), sharedCountRules(), countRules,
		organizationRules, apiKeyRules, txStoreRules, txEndRules, transactRules, revocationRules,
		contextRules, leaveRules, breakRules, reopenRules) {
		s.Add(r.ID, r.Text, r.needs, r.check)
	}
	return s
}

// subject is the backend that a rule is tried on.
type subject struct {
	trigger.Backend
	Organizations trigger.Organizations // nil: the Directory is not one
	Leases        mortise.Leases
	h             *Harness
}

func (h *Harness) open(t *testing.T) *subject {
	s := &subject{h: h}
	s.use(h.Open(t))
	return s
}

// use makes b the backend.
func (s *subject) use(b trigger.Backend) {
	s.Backend = b
	s.Organizations, _ = b.Directory.(trigger.Organizations)
	if s.h.Leases != nil {
		s.Leases = s.h.Leases(b)
	}
}

// reopen makes the backend begin anew, on the same data.
func (s *subject) reopen(t *testing.T) { s.use(s.h.Reopen(t, s.Backend)) }

// breakIt makes the backend fail until heal is called, or until the test ends.
func (s *subject) breakIt(t *testing.T) (heal func()) {
	return conformance.Break(t, s.h.Break, s.Backend)
}
