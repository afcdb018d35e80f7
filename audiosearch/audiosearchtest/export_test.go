package audiosearchtest

import (
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance/queuetest"
)

// JobDomain says what the jobs of this domain are.
func JobDomain() *queuetest.Domain[audiosearch.Job] { return jobDomain() }

// SharedLeases returns leases as package queuetest knows them.
func SharedLeases(l audiosearch.Leases) queuetest.Leases[audiosearch.Job] { return sharedLeases{l} }

// SharedQueue returns a queue as package queuetest knows it.
func SharedQueue(q audiosearch.Queue) queuetest.Queue[audiosearch.Job] { return sharedQueue{q} }
