package authmgmttest

import (
	"context"
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

	// InTx calls do with a context under which the calls of b are part of a transaction of
	// the host's, which it commits if do returns nil, and rolls back otherwise. It returns
	// do's error. Nil if b has no such thing: the Store is no [mortise.HostTx].
	InTx func(t *testing.T, b authmgmt.Backend, do func(ctx context.Context) error) error

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
	needKeyChecker
	needRestorable
	needOrganizations
	needOrganizationsDeletion
	needReopen
	needBreak
	needInTx
)

// parts tells which of that the backend has.
func (s *subject) parts(has conformance.Has) {
	has(needReopen, s.h.Reopen != nil, "the harness has no Reopen")
	has(needBreak, s.h.Break != nil, "the harness has no Break")
	has(needInTx, s.h.InTx != nil, "the harness has no InTx")
	has(needStore, s.Store != nil, "the backend has no Store")
	has(needPruner, conformance.Is[authmgmt.Pruner](s.Store), "its Store is no Pruner")
	has(needKeyChecker, conformance.Is[authmgmt.KeyChecker](s.Store), "its Store is no KeyChecker")
	has(needRestorable, conformance.Is[authmgmt.Restorable](s.Store), "its Store is not Restorable")
	has(needOrganizations, s.Organizations != nil, "the backend has no Organizations")
	has(needOrganizationsDeletion, conformance.Is[authmgmt.Deletion](s.Organizations),
		"its Organizations is no Deletion")
}

// rule is a Rule with the check that proves it.
type rule struct {
	Rule
	needs conformance.Need
	check func(t *testing.T, s *subject)
}

// suite returns the rules, to be tried on the backends of a harness.
func suite(h *Harness) *conformance.Suite[*subject] {
	s := &conformance.Suite[*subject]{Name: "authmgmttest", Skip: h.Skip, Open: h.open, Parts: (*subject).parts}
	for _, r := range slices.Concat(clientRules, clientUpdateRules, secretRules, listsRules(), tokenRules,
		tokenLifeRules, tokenListRules, invitationRules, exclusiveRules, invitationListRules,
		grantRules, updateRules(), createRules(), concurrentRules, auditRules,
		deletionRules, pruneRules, revocationRules, stepRules(), keyCheckRules, organizationRules, contextRules, hostTxRules, breakRules, reopenRules) {
		s.Add(r.ID, r.Text, r.needs, r.check)
	}
	return s
}

// subject is the backend that a rule is tried on.
type subject struct {
	authmgmt.Backend
	trail
	Organizations authmgmt.Organizations // nil: the Directory is not one
	h             *Harness
}

func (h *Harness) open(t *testing.T) *subject {
	s := &subject{h: h}
	s.trail = s.newTrail()
	s.use(h.Open(t))
	return s
}

// use makes b the backend.
func (s *subject) use(b authmgmt.Backend) {
	s.Backend = b
	s.Organizations, _ = b.Directory.(authmgmt.Organizations)
}

// reopen makes the backend begin anew, on the same data.
func (s *subject) reopen(t *testing.T) { s.use(s.h.Reopen(t, s.Backend)) }

// breakIt makes the backend fail until heal is called, or until the test ends.
func (s *subject) breakIt(t *testing.T) (heal func()) {
	return conformance.Break(t, s.h.Break, s.Backend)
}
