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
