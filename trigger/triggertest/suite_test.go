package triggertest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// TestSuite proves the suite.
func TestSuite(t *testing.T) {
	p := &conformance.Proof[triggertest.Harness]{
		Run:      triggertest.Run,
		Faithful: faithful.harness(),
		Lacking:  lacking(),
	}
	for _, m := range mutants() {
		p.Add(m.name, m.harness(), strings.Fields(m.breaks)...)
	}
	conformance.Prove(t, p)
}

// TestHalvesPass: a backend may do less than the limit of a step, and a page may hold less
// than its limit.
func TestHalvesPass(t *testing.T) {
	halves := broken{mutate: func(m *mutant) {
		steptest.Halve(&m.On)
		listtest.Halve(&m.On)
	}}
	triggertest.Run(t, halves.harness())
}

// stepMutants are wrong about bounded steps.
func stepMutants() []mutate.Mutant {
	return steptest.Mutants(&new(mutant).On, map[string]string{
		"Prune": "steps/prune", "RemoveDeleted": "steps/remove-deleted-events steps/remove-deleted-keys",
	})
}

// lacking are backends that lack what they may.
func lacking() map[string]triggertest.Harness {
	return map[string]triggertest.Harness{
		"all parts": {Open: func(*testing.T) trigger.Backend { return trigger.Backend{} }},
		"all but a store": {Open: func(t *testing.T) trigger.Backend {
			return trigger.Backend{Store: struct{ trigger.Store }{newMutant(t)}}
		}},
		"revocations": {Open: func(t *testing.T) trigger.Backend {
			m := newMutant(t)
			return trigger.Backend{Store: struct{ trigger.Store }{m}, Keys: m}
		}},
		"jobs": {Open: func(t *testing.T) trigger.Backend { return trigger.Backend{Store: newMutant(t)} }},
		"jobs that tell": {
			Open:   func(t *testing.T) trigger.Backend { return trigger.Backend{Store: newMutant(t)} },
			Leases: func(b trigger.Backend) mortise.Leases { return struct{ mortise.Leases }{b.Store.(*mutant).jobs} },
		},
	}
}

// faithful makes no mistake.
var faithful = broken{mutate: func(*mutant) {}}

// harness opens the mutant. One that is faithful passes every rule: what Reopen returns is
// the same data, and Break makes it fail.
func (b *broken) harness() triggertest.Harness {
	h := triggertest.Harness{
		Open: func(t *testing.T) trigger.Backend {
			m := newMutant(t)
			b.mutate(m)
			return m.backend()
		},
		Reopen: func(_ *testing.T, b trigger.Backend) trigger.Backend { return b },
		Leases: func(b trigger.Backend) mortise.Leases {
			m := b.Store.(*mutant)
			return mutantJobs{m.jobs, m}
		},
		Break: func(_ *testing.T, b trigger.Backend) func() {
			m := b.Store.(*mutant)
			m.broken.Store(true)
			return func() { m.broken.Store(false) }
		},
	}
	if b.reopen != nil {
		h.Reopen = b.reopen
	}
	return h
}

// TestCallsInTx: a backend keeps its contract if each call is made in a transaction of a
// host's, also if it was made in one before that was rolled back.
func TestCallsInTx(t *testing.T) {
	again := broken{mutate: func(m *mutant) {
		defer func() { m.On.Transact = m.Trigger.Transact }()
		mutate.InTx(&m.On, func(ctx context.Context, do func(context.Context) error) error {
			if m.Trigger.AfterCommit(ctx, nil) { // the transaction of Transact
				return do(ctx)
			}
			_ = m.inTx(ctx, func(ctx context.Context) error { return errors.Join(do(ctx), errBroken) })
			return m.inTx(ctx, do)
		})
	}}
	h := again.harness()
	h.Skip = make(map[string]string)
	for _, r := range triggertest.Rules() {
		if strings.HasPrefix(r.ID, "transactor/") {
			h.Skip[r.ID] = "calls of others would wait for its transaction"
		}
	}
	triggertest.Run(t, h)
}
