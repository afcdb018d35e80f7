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
//			queue := leases.New(jobs, nil)
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

// A map for those who work on this package. Begin with suite.go, then read one file of
// rules, as rules_add.go: each rule is an id, a sentence of the contract, what it
// needs, and the check.
//
//	suite.go            Backend, Harness, Run, what a backend may lack, and the list
//	                    of all rules
//	rules_X.go          the rules of a table of leases: add, distinct, claim, races,
//	                    holder, dead, notify; of a queue: queue, kinds, verdicts, consume,
//	                    stepqueue, outage; of either: optional (Sharer,
//	                    LossReporter), durable
//	checks.go           what rules ask of a backend and require of its answers
//	checks_consumer.go  a consumer that tells what it was handed
//	suite_test.go       the proof of the suite, and the backends that lack something
//	mutant_test.go      the backend whose methods mutants replace
//	mutants_X_test.go   the mutants that break the rules of rules_X.go
//
// What all suites have in common is in internal/conformance, which also tells how a
// suite is made.
