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
