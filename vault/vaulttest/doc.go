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

// A map for those who work on this package. Begin with suite.go, then read one file of
// rules, as rules_insert.go: each rule is an id, a sentence of the contract, what it
// needs, and the check.
//
//	suite.go           Harness, Run, what a backend may lack, and the list of all
//	                   rules
//	rules_X.go         the rules of vaults (vaults, vault_lists, scopes), tokens
//	                   (insert, find, list, unique, import), keys (keys, rotation,
//	                   reseal, scan), the audit trail and deletion; and for
//	                   all of them: context, concurrent, break, reopen
//	checks_X.go        what rules ask of a backend and require of its answers
//	model.go           RunModel; model_X.go has its steps, and what they are
//	                   compared with
//	keyring.go         RunKeyring and the list of its rules; keyring_X.go has the
//	                   rules
//	fake.go            New: the fake; fake_break.go breaks parts of it
//	faults.go          Faults; faults_hooks.go has the hooks that say when
//	internal/delegate  a store of functions, in which faults and mutants stand
//	fake_keys.go       the keys of the fake, which rotate
//	suite_test.go      the proof of the suite, and the backends that lack something
//	mutant_test.go     the backend whose methods mutants replace
//	mutate_test.go     mistakes in many methods at once
//	mutants_X_test.go  the mutants that break the rules of rules_X.go
//	keyring_test.go    the proof of the suite of keyrings
//
// What all suites have in common is in internal/conformance, the rules of audit trails
// in its audittest.
