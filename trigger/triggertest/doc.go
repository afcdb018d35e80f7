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
package triggertest
