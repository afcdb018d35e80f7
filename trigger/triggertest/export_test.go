package triggertest

import (
	"github.com/seed-6363c74e/mortise/internal/conformance/queuetest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// JobDomain says what the jobs of this domain are.
func JobDomain() *queuetest.Domain[trigger.Job] { return jobDomain() }

// SharedLeases returns leases as package queuetest knows them.
func SharedLeases(l trigger.Leases) queuetest.Leases[trigger.Job] { return sharedLeases{l} }

// SharedQueue returns a queue as package queuetest knows it.
func SharedQueue(q trigger.Queue) queuetest.Queue[trigger.Job] { return sharedQueue{q} }
