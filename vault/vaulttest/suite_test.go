package vaulttest_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks []string
	mutate func(*mutant)
	reopen func(*testing.T, vault.Backend) vault.Backend
}

func mutants() []broken {
	return slices.Concat(fieldMutants, nameMutants, vaultMutants, scopeMutants, insertMutants, tokenMutants, importMutants, importRaceMutants, listMutants, keyMutants, retireMutants,
		fingerprintMutants, resealMutants, scanMutants, raceMutants, auditMutants, ctxMutants, reopenMutants,
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

// TestFaithful tries every rule on a backend that is right, those of Reopen and Break
// included.
func TestFaithful(t *testing.T) { vaulttest.Run(t, harness(func(*mutant) {})) }

// TestRules: ids are unique and well formed, texts are sentences.
func TestRules(t *testing.T) {
	for _, rules := range [][]vaulttest.Rule{vaulttest.Rules(), vaulttest.KeyringRules()} {
		var ids, texts []string
		for _, r := range rules {
			ids, texts = append(ids, r.ID), append(texts, r.Text)
		}
		conformance.CheckRules(t, ids, texts)
	}
}

// What names the mutant in a process that runs a suite in order to fail.
const (
	envMutant        = "VAULTTEST_MUTANT"
	envKeyringMutant = "VAULTTEST_KEYRING_MUTANT"
)

// TestMutant runs a suite against the mutant that the environment names. It is run by
// TestMutants and TestKeyringMutants.
func TestMutant(t *testing.T) {
	if name := os.Getenv(envMutant); name != "" {
		vaulttest.Run(t, harnesses()[name])
		return
	}
	name := os.Getenv(envKeyringMutant)
	if name == "" {
		t.Skip("run by TestMutants and TestKeyringMutants")
	}
	vaulttest.RunKeyring(t, keyringHarnesses()[name])
}

// proof tries the mutants in processes of their own.
func proof() *conformance.Mutants {
	m := &conformance.Mutants{Env: envMutant, Texts: make(map[string]string), Breaks: make(map[string][]string)}
	for _, r := range vaulttest.Rules() {
		m.Texts[r.ID] = r.Text
	}
	for _, broken := range mutants() {
		m.Breaks[broken.name] = broken.breaks
	}
	return m
}

// TestMutants: each broken backend fails the rules that it breaks, and the failure prints
// the rule. There is one for every rule.
func TestMutants(t *testing.T) { proof().Prove(t) }

// TestSkipping: what is skipped is counted with its reason, and a Skip that makes no
// sense fails the suite.
func TestSkipping(t *testing.T) {
	output, passed := proof().Run(t, "only a store")
	require.True(t, passed, output)
	for _, reason := range []string{"the harness has no Reopen", "the harness has no Break", "no strings today: vaults/strings-keep-every-byte"} {
		require.Contains(t, output, " because "+reason)
	}

	output, passed = proof().Run(t, "no store")
	require.True(t, passed, output)
	require.Contains(t, output, " because the backend has no Store")

	output, passed = proof().Run(t, "bad skip")
	require.False(t, passed)
	require.Contains(t, output, `Skip names "vaults/no-such-rule", which is no rule`)
	require.Contains(t, output, `Skip gives no reason for "vaults/get-unknown"`)
	require.Contains(t, output, "--- PASS: TestMutant/vaults/get-unknown", "a Skip without a reason skips nothing")
}

// harnesses returns the harness of every mutant, and those of TestSkipping.
func harnesses() map[string]vaulttest.Harness {
	all := make(map[string]vaulttest.Harness)
	for _, m := range mutants() {
		h := harness(m.mutate)
		if m.reopen != nil {
			h.Reopen = m.reopen
		}
		all[m.name] = h
	}
	only := vaulttest.Harness{Open: harness(func(*mutant) {}).Open, Skip: map[string]string{"vaults/strings-keep-every-byte": "no strings today"}}
	all["only a store"] = only
	all["no store"] = vaulttest.Harness{Open: func(*testing.T) vault.Backend { return vault.Backend{} }}
	only.Skip = map[string]string{"vaults/no-such-rule": "because", "vaults/get-unknown": " "}
	all["bad skip"] = only
	return all
}
