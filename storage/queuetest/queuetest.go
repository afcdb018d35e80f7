// Package queuetest proves queues: whatever delivers jobs by the contracts of package
// [github.com/seed-6363c74e/mortise].
//
// [Run] is the conformance suite. Every testable sentence of [mortise.Leases], of
// [mortise.Queue], and of the optional interfaces that belong to them is a rule with an id
// of its own. A table of leases proves itself in a few lines:
//
//	func TestQueue(t *testing.T) {
//		queuetest.Run(t, queuetest.Harness{Open: func(t *testing.T) queuetest.Backend {
//			var now atomic.Pointer[func() time.Time]
//			setNow := func(f func() time.Time) {
//				if f == nil {
//					f = time.Now
//				}
//				now.Store(&f)
//			}
//			setNow(nil)
//			db := open(t, func() time.Time { return (*now.Load())() }) // and t.Cleanup to close it
//			jobs := db.Jobs()
//			queue := mortise.NewLeaseQueue(jobs, nil)
//			return queuetest.Backend{Leases: jobs, Queue: queue, SetNow: setNow}
//		}})
//	}
//
// A broker has no Leases, only a Queue. What it cannot do, it names in [Harness.Skip] with
// a reason: to serve organizations in turn ("queue/turns", "queue/beside"), to deliver
// later ("queue/at"), or to know of a job that was added before ("queue/enqueue-twice").
// A Cancel that returns errors.ErrUnsupported keeps the contract, and the rules of Cancel
// pass over what they cannot try.
package queuetest

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// Backend is what a backend offers. The rules of a nil field are skipped and counted. Rules
// of optional interfaces apply where a field implements them: [mortise.JobNotifier]
// (Leases), [mortise.StepQueue] (Queue), [mortise.Sharer] and [mortise.LossReporter]
// (either).
type Backend struct {
	Leases mortise.Leases
	Queue  mortise.Queue // runs on the real clock

	// SetNow makes now the clock of Leases, or the real one again if now is nil. It is
	// not called while a call of Leases is under way. Rules of Leases need it for times
	// that are exact.
	SetNow func(now func() time.Time)
}

// Harness tells the suite how to come by a backend.
type Harness struct {
	// Open returns a fresh, empty backend that shares nothing with earlier ones. It cleans
	// up with t.Cleanup.
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

// Run tries every rule on a fresh backend, as a subtest named by the rule's id. A rule that
// is broken prints its text. One that does not end (within minutes) ends the test, and
// prints its text and those of the rules that failed before. At the end, Run logs which
// rules were skipped and why.
func Run(t *testing.T, h Harness) {
	t.Helper()
	suite := conformance.Suite{Name: "queuetest"}
	for _, r := range allRules() {
		suite.Rules = append(suite.Rules, conformance.Rule{ID: r.ID, Text: r.Text,
			Try: func(t *testing.T) string { return r.try(t, &h) }})
	}
	suite.Run(t, h.Skip)
}

// need is what a rule cannot do without.
type need uint

const (
	needLeases need = 1 << iota
	needClock
	needJobNotifier
	needQueue
	needStepQueue
	needSharer
	needLossReporter
	needReopen
	needBreak

	needTable = needLeases | needClock
)

// rule is a Rule with the check that proves it.
type rule struct {
	Rule
	needs need
	check func(t *testing.T, s *subject)
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
	if reason := s.lacks(r.needs); reason != "" {
		return reason
	}
	if r.needs&needClock != 0 {
		s.at(0)
		t.Cleanup(func() { s.SetNow(nil) })
	}
	r.check(t, s)
	return ""
}

// lacks says which of the needs the backend does not meet.
func (s *subject) lacks(needs need) string {
	_, jobNotifier := s.Leases.(mortise.JobNotifier)
	_, stepQueue := s.Queue.(mortise.StepQueue)
	for _, n := range []struct {
		need   need
		met    bool
		reason string
	}{
		{needLeases, s.Leases != nil, "the backend has no Leases"},
		{needClock, s.SetNow != nil, "the backend has no SetNow"},
		{needJobNotifier, jobNotifier, "its Leases are no JobNotifier"},
		{needQueue, s.Queue != nil, "the backend has no Queue"},
		{needStepQueue, stepQueue, "its Queue is no StepQueue"},
		{needSharer, len(are[mortise.Sharer](s)) > 0, "nothing of it is a Sharer"},
		{needLossReporter, len(are[mortise.LossReporter](s)) > 0,
			"nothing of it is a LossReporter"},
	} {
		if needs&n.need != 0 && !n.met {
			return n.reason
		}
	}
	return ""
}

func allRules() []rule {
	return slices.Concat(addRules, distinctRules, cancelRules, claimRules, turnRules,
		claimRaceRules, holderRules, lostRules, notifierRules, queueRules, verdictRules,
		kindRules, queueCancelRules, consumeRules, contextRules, stepQueueRules, optionalRules,
		outageRules, durableRules)
}
