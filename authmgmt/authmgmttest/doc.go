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
