package vaulttest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// TestSuite proves the suite.
func TestSuite(t *testing.T) {
	p := &conformance.Proof[vaulttest.Harness]{
		Suite:    vaulttest.Suite,
		Faithful: harness(func(*mutant) {}),
		Lacking:  lacking(),
	}
	for _, m := range mutants() {
		p.Add(m.name, m.harness(), strings.Fields(m.breaks)...)
	}
	conformance.Prove(t, p)
}

// lacking are backends that lack what they may.
func lacking() map[string]vaulttest.Harness {
	return map[string]vaulttest.Harness{
		"all parts":       {Open: func(*testing.T) vault.Backend { return vault.Backend{} }},
		"all but a store": {Open: harness(func(*mutant) {}).Open},
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
		fingerprintMutants, resealMutants, scanMutants, raceMutants, sharedAuditMutants(), auditMutants, ctxMutants, reopenMutants,
		vaultListMutants, statsMutants, showingMutants, deletionMutants, deletionStepMutants, deletionRaceMutants)
}

// harness opens mutants. One that is faithful passes every rule: what Reopen returns is
// the same data, and Break makes it fail.
func harness(mutate func(*mutant)) vaulttest.Harness {
	return vaulttest.Harness{
		Open: func(t *testing.T) vault.Backend {
			m := newMutant(t)
			mutate(m)
			return m.backend()
		},
		Reopen: func(_ *testing.T, b vault.Backend) vault.Backend { return b },
		Break: func(_ *testing.T, b vault.Backend) func() {
			m := b.Store.(*mutant)
			m.broken.Store(true)
			return func() { m.broken.Store(false) }
		},
	}
}

// harness opens the mutant.
func (b *broken) harness() vaulttest.Harness {
	h := harness(b.mutate)
	if b.reopen != nil {
		h.Reopen = b.reopen
	}
	return h
}

// harnesses returns the harness of every mutant, by its name.
func harnesses() map[string]vaulttest.Harness {
	all := make(map[string]vaulttest.Harness)
	for _, m := range mutants() {
		all[m.name] = m.harness()
	}
	return all
}
