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
//
// [New] makes a fake for the tests of a program that uses a service, and [Faults] makes a
// backend fail.
package triggertest

// A map for those who work on this package. Begin with suite.go, then read one file of
// rules, as rules_create.go: each rule is an id, a sentence of the contract, what it
// needs, and the check.
//
//	suite.go           Harness, Run, what a backend may lack, and the list of all
//	                   rules
//	rules_X.go         the rules: create, key, update, list, page, names, stale,
//	                   maintenance, counts, deletion, organizations, apikeys,
//	                   txstore; and for every interface: context (calls that end),
//	                   leave (callers that go), break, reopen
//	checks.go          what rules ask of a backend and require of its answers
//	fake.go            New: the fake; fake_break.go breaks parts of it
//	faults.go          Faults; faults_hooks.go has the hooks that say when
//	internal/delegate  a store of functions, in which faults and mutants stand
//	suite_test.go      the proof of the suite, and the backends that lack something
//	mutant_test.go     the backend whose methods mutants replace
//	mutate_test.go     mistakes in many methods at once
//	mutants_X_test.go  the mutants that break the rules of rules_X.go
//
// What all suites have in common is in internal/conformance, which also tells how a
// suite is made.
