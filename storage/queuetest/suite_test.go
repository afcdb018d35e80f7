package queuetest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

// TestSuite proves the suite.
func TestSuite(t *testing.T) {
	p := &conformance.Proof[queuetest.Harness]{
		Run:      queuetest.Run,
		Faithful: faithful.harness(),
		Lacking:  lacking(),
	}
	for _, m := range mutants() {
		p.Add(m.name, m.harness(), strings.Fields(m.breaks)...)
	}
	conformance.Prove(t, p)
}

// lacking are backends that lack what they may.
func lacking() map[string]queuetest.Harness {
	unknown := "it knows no organizations"
	return map[string]queuetest.Harness{
		"all parts": {Open: func(*testing.T) queuetest.Backend { return queuetest.Backend{} }},
		"what a broker lacks": {
			Open: func(t *testing.T) queuetest.Backend {
				return queuetest.Backend{Queue: struct{ mortise.Queue }{noCancel{newMutant(t).queue}}}
			},
			Skip: map[string]string{"queue/turns": unknown, "queue/beside": unknown},
		},
		"all but a table": {Open: func(t *testing.T) queuetest.Backend {
			return queuetest.Backend{Leases: struct{ mortise.Leases }{newMutant(t)}}
		}},
		"a table that tells": {Open: func(t *testing.T) queuetest.Backend {
			m := newMutant(t)
			return queuetest.Backend{Leases: struct{ mortise.Leases }{m}, SetNow: m.setNow}
		}},
	}
}

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks string // ids of rules
	mutate func(m *mutant)
	reopen func(t *testing.T, b queuetest.Backend) queuetest.Backend // nil: as it was
}

// mutants returns all of them.
func mutants() []broken {
	return slices.Concat(addMutants, cancelMutants, alikeMutants(), claimMutants, orderMutants,
		holderMutants, deadMutants, deadListMutants(), raceMutants, notifierMutants, queueMutants, consumeMutants)
}

// faithful makes no mistake.
var faithful = broken{mutate: func(*mutant) {}}

// harness opens the mutant. One that is faithful passes every rule: what Reopen returns is the
// same data, and Break makes it fail.
func (b *broken) harness() queuetest.Harness {
	h := queuetest.Harness{
		Open: func(t *testing.T) queuetest.Backend {
			m := newMutant(t)
			b.mutate(m)
			return m.backend()
		},
		Reopen: func(_ *testing.T, b queuetest.Backend) queuetest.Backend { return b },
		Break: func(_ *testing.T, b queuetest.Backend) func() {
			m := b.Leases.(*mutant)
			m.broken.Store(true)
			return func() { m.broken.Store(false) }
		},
	}
	if b.reopen != nil {
		h.Reopen = b.reopen
	}
	return h
}
