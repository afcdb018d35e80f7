package queuetest

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// Backend is what a backend offers. The rules of a nil field are skipped and counted. Rules
// of optional interfaces apply where a field implements them: [leases.JobNotifier] and
// [mortise.DeadJobs] (Leases), [mortise.StepQueue] (Queue), [mortise.Sharer] and
// [mortise.LossReporter] (either).
type Backend struct {
	Leases mortise.Leases
	Queue  mortise.Queue // runs on the real clock

	// SetNow makes now the clock of Leases, or the real one again if now is nil. It is
	// not called while a call of Leases is under way. Without it the rules of Leases are
	// skipped and counted, for they go by exact times.
	SetNow func(now func() time.Time)
}

// Harness tells the suite how to come by a backend.
type Harness struct {
	// Open returns a fresh, empty backend that shares nothing with earlier ones. It cleans
	// up with t.Cleanup. A rule waits ten seconds for a job to come again, so a queue that
	// does not learn at once of a lost consumer needs leases of less.
	Open func(t *testing.T) Backend

	// Reopen closes b and opens the same data again. Nil if the backend is volatile.
	Reopen func(t *testing.T, b Backend) Backend

	// Break makes the backend fail until heal is called. It is optional.
	Break func(t *testing.T, b Backend) (heal func())

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
	needLeases conformance.Need = 1 << iota
	needClock
	needJobNotifier
	needDead
	needQueue
	needStepQueue
	needSharer
	needLossReporter
	needReopen
	needBreak

	needTable = needLeases | needClock
)

// parts tells which of that the backend has.
func (s *subject) parts(has conformance.Has) {
	has(needReopen, s.h.Reopen != nil, "the harness has no Reopen")
	has(needBreak, s.h.Break != nil, "the harness has no Break")
	has(needLeases, s.Leases != nil, "the backend has no Leases")
	has(needClock, s.SetNow != nil, "the backend has no SetNow")
	has(needJobNotifier, conformance.Is[leases.JobNotifier](s.Leases), "its Leases are no JobNotifier")
	has(needDead, conformance.Is[mortise.DeadJobs](s.Leases), "its Leases are no DeadJobs")
	has(needQueue, s.Queue != nil, "the backend has no Queue")
	has(needStepQueue, conformance.Is[mortise.StepQueue](s.Queue), "its Queue is no StepQueue")
	has(needSharer, len(are[mortise.Sharer](s)) > 0, "nothing of it is a Sharer")
	has(needLossReporter, len(are[mortise.LossReporter](s)) > 0, "nothing of it is a LossReporter")
}

// rule is a Rule with the check that proves it.
type rule struct {
	Rule
	needs conformance.Need
	check func(t *testing.T, s *subject)
}

// try runs the check, with the clock of the table at Moment 0 if it needs that.
func (r *rule) try(t *testing.T, s *subject) {
	if r.needs&needClock != 0 {
		s.at(0)
		t.Cleanup(func() { s.SetNow(nil) })
	}
	r.check(t, s)
}

// suite returns the rules, to be tried on the backends of a harness.
func suite(h *Harness) *conformance.Suite[*subject] {
	s := &conformance.Suite[*subject]{Name: "queuetest", Skip: h.Skip, Open: h.open, Parts: (*subject).parts}
	for _, r := range slices.Concat(addRules, distinctRules, cancelRules, claimRules, turnRules,
		claimRaceRules, holderRules, lostRules, deadRules, deadListRules(), notifierRules, queueRules, verdictRules,
		kindRules, queueCancelRules, consumeRules, contextRules, stepQueueRules, optionalRules,
		outageRules, durableRules) {
		s.Add(r.ID, r.Text, r.needs, r.try)
	}
	return s
}

// subject is the backend that a rule is tried on. Its methods take times as distances from
// [conformance.Moment] 0.
type subject struct {
	Backend
	h *Harness
}

func (h *Harness) open(t *testing.T) *subject { return &subject{h.Open(t), h} }

// reopen makes the backend begin anew, on the same data.
func (s *subject) reopen(t *testing.T) { s.Backend = s.h.Reopen(t, s.Backend) }

// breakIt makes the backend fail until heal is called, or until the test ends.
func (s *subject) breakIt(t *testing.T) (heal func()) {
	return conformance.Break(t, s.h.Break, s.Backend)
}
