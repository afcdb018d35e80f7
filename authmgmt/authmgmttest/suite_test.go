package authmgmttest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
)

// TestSuite proves the suite.
func TestSuite(t *testing.T) { conformance.Prove(t, proof()) }

func proof() *conformance.Proof[authmgmttest.Harness] {
	p := &conformance.Proof[authmgmttest.Harness]{
		Run:      authmgmttest.Run,
		Faithful: faithful.harness(),
		Lacking:  lacking(),
	}
	for _, m := range mutants() {
		p.Add(m.name, m.harness(), strings.Fields(m.breaks)...)
	}
	return p
}

// TestHalvesPass: a backend may do less than the limit of a step, and a page may hold less
// than its limit.
func TestHalvesPass(t *testing.T) {
	halves := broken{mutate: func(m *mutant) {
		steptest.Halve(&m.On)
		listtest.Halve(&m.On)
	}}
	authmgmttest.Run(t, halves.harness())
}

// stepMutants are wrong about bounded steps.
func stepMutants() []mutate.Mutant {
	return steptest.Mutants(&new(mutant).On, map[string]string{
		"PruneAudit": "steps/prune-audit", "PruneTokens": "steps/prune-tokens", "PruneInvitations": "steps/prune-invitations", "RemoveTokens": "steps/remove-tokens",
		"RemoveDeleted": "steps/remove-deleted",
	})
}

// lacking are backends that lack what they may.
func lacking() map[string]authmgmttest.Harness {
	return map[string]authmgmttest.Harness{
		"all parts": {Open: func(*testing.T) authmgmt.Backend { return authmgmt.Backend{} }},
		"all but a store": {Open: func(t *testing.T) authmgmt.Backend {
			return authmgmt.Backend{Store: struct{ authmgmt.Store }{newMutant(t)}}
		}},
		"a deletion": {Open: func(t *testing.T) authmgmt.Backend {
			m := newMutant(t)
			return authmgmt.Backend{Store: m, Directory: struct{ authmgmt.Organizations }{m}}
		}},
	}
}

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks string // ids of rules
	mutate func(*mutant)
	reopen func(*testing.T, authmgmt.Backend) authmgmt.Backend
}

func mutants() []broken {
	return slices.Concat(keptMutants(), fieldMutants, nameMutants, updateMutants, clientMutants, tokenMutants, prunerMutants, invitationMutants, ctxMutants,
		listMutants, deletionMutants(), keyCheckMutants, hostTxMutants, reopenMutants)
}

// faithful makes no mistake.
var faithful = broken{mutate: func(*mutant) {}}

// harness opens the mutant. One that is faithful passes every rule: what Reopen returns is
// the same data, and Break makes it fail.
func (b *broken) harness() authmgmttest.Harness {
	h := authmgmttest.Harness{
		Open: func(t *testing.T) authmgmt.Backend {
			m := newMutant(t)
			b.mutate(m)
			return m.backend()
		},
		Reopen: func(_ *testing.T, b authmgmt.Backend) authmgmt.Backend { return b },
		Break: func(_ *testing.T, b authmgmt.Backend) func() {
			m := b.Store.(*mutant)
			m.broken.Store(true)
			return func() { m.broken.Store(false) }
		},
		InTx: func(t *testing.T, b authmgmt.Backend, do func(context.Context) error) error {
			return b.Store.(*mutant).inTx(t.Context(), do)
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
		mutate.InTx(&m.On, func(ctx context.Context, do func(context.Context) error) error {
			if m.after(ctx, nil) { // a transaction of the rule
				return do(ctx)
			}
			_ = m.inTx(ctx, func(ctx context.Context) error { return errors.Join(do(ctx), errBroken) })
			return m.inTx(ctx, do)
		})
	}}
	h := again.harness()
	h.Skip = map[string]string{"hosttx/tokens": "it looks from outside of an open transaction, which here is a second one that waits for the first"}
	authmgmttest.Run(t, h)
}
