package vaulttest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// TestSuite proves the suite.
func TestSuite(t *testing.T) { conformance.Prove(t, proof()) }

func proof() *conformance.Proof[vaulttest.Harness] {
	p := &conformance.Proof[vaulttest.Harness]{
		Run:      vaulttest.Run,
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
	vaulttest.Run(t, halves.harness())
}

// stepMutants are wrong about bounded steps.
func stepMutants() []broken {
	return made(steptest.Mutants(&new(mutant).On, map[string]string{
		"PruneAudit": "steps/prune-audit", "RemoveFingerprints": "steps/remove-fingerprints",
		"RemoveDeleted": "steps/remove-deleted", "RemoveDeletedVault": "steps/remove-deleted-vault",
	})...)
}

// listsMutants are wrong about lists.
func listsMutants() []broken {
	return made(listtest.Mutants(&new(mutant).On, map[string]string{
		"ListVaults": "vaults", "ListRows": "rows", "ListAuditEvents": "audit-events",
	}, scans...)...)
}

// lacking are backends that lack what they may.
func lacking() map[string]vaulttest.Harness {
	return map[string]vaulttest.Harness{
		"all parts":       {Open: func(*testing.T) vault.Backend { return vault.Backend{} }},
		"all but a store": {Open: faithful.harness().Open},
	}
}

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks string // ids of rules
	mutate func(*mutant)
	reopen func(*testing.T, vault.Backend) vault.Backend
}

func mutants() []broken {
	return slices.Concat(keptMutants(), fieldMutants, nameMutants, vaultMutants, scopeMutants, insertMutants, tokenMutants, importMutants, importRaceMutants, listMutants, keyMutants, retireMutants,
		placeMutants, fingerprintMutants, resealMutants, scanMutants, raceMutants, sharedAuditMutants(), stepMutants(), auditMutants, ctxMutants, hostTxMutants, reopenMutants,
		vaultListMutants, listsMutants(), showingMutants, deletionMutants, deletionStepMutants, deletionRaceMutants)
}

// faithful makes no mistake.
var faithful = broken{mutate: func(*mutant) {}}

// harness opens the mutant. One that is faithful passes every rule: what Reopen returns is
// the same data, and Break makes it fail.
func (b *broken) harness() vaulttest.Harness {
	h := vaulttest.Harness{
		Open: func(t *testing.T) vault.Backend {
			m := newMutant(t)
			b.mutate(m)
			return m.backend()
		},
		Reopen: func(_ *testing.T, b vault.Backend) vault.Backend { return b },
		Break: func(_ *testing.T, b vault.Backend) func() {
			m := b.Store.(*mutant)
			m.broken.Store(true)
			return func() { m.broken.Store(false) }
		},
		InTx: func(t *testing.T, b vault.Backend, do func(context.Context) error) error {
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
	nightly.Only(t)
	again := broken{mutate: func(m *mutant) {
		mutate.InTx(&m.On, func(ctx context.Context, do func(context.Context) error) error {
			if m.after(ctx, nil) { // a transaction of the rule
				return do(ctx)
			}
			_ = m.inTx(ctx, func(ctx context.Context) error { return errors.Join(do(ctx), errBroken) })
			return m.inTx(ctx, do)
		})
	}}
	vaulttest.Run(t, again.harness())
}
