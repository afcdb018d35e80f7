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

// A map for those who work on this package. Begin with suite.go, then read one file of
// rules, as rules_clients.go: each rule is an id, a sentence of the contract, what it
// needs, and the check.
//
//	suite.go           Harness, Run, what a backend may lack, and the list of all
//	                   rules
//	rules_X.go         the rules of clients, tokens, invitations (exclusive: one for
//	                   each address), organizations, keys (those of invitations),
//	                   the audit trail, lists, maintenance and deletion; of
//	                   several kinds: create, update; and for all of them: context,
//	                   concurrent, break, reopen
//	checks_X.go        what rules ask of a backend and require of its answers
//	model.go           RunModel; model_X.go has its steps, and what they are
//	                   compared with
//	fake.go            New: the fake; fake_break.go breaks parts of it
//	faults.go          Faults; faults_hooks.go has the hooks that say when
//	internal/delegate  a store of functions, in which faults and mutants stand
//	suite_test.go      the proof of the suite, and the backends that lack something
//	mutant_test.go     the backend whose methods mutants replace
//	mutate_test.go     mistakes in many methods at once
//	mutants_X_test.go  the mutants that break the rules of rules_X.go
//
// What all suites have in common is in internal/conformance, the rules of audit trails
// in its audittest.
