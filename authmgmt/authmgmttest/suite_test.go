package authmgmttest_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks []string
	mutate func(*mutant)
	reopen func(*testing.T, authmgmt.Backend) authmgmt.Backend
}

func mutants() []broken {
	return slices.Concat(keptMutants(), fieldMutants, nameMutants, updateMutants, clientMutants, tokenMutants, prunerMutants, invitationMutants, ctxMutants,
		listMutants, pageMutants, statsMutants, deletionMutants(), auditMutants, keyCheckMutants, reopenMutants)
}

// harness opens mutants. One that is faithful passes every rule: what Reopen returns is
// the same data, and Break makes it fail.
func harness(mutate func(*mutant)) authmgmttest.Harness {
	return authmgmttest.Harness{
		Open: func(t *testing.T) authmgmt.Backend {
			m := newMutant(t)
			mutate(m)
			return m.backend()
		},
		Reopen: func(_ *testing.T, b authmgmt.Backend) authmgmt.Backend { return b },
		Break: func(_ *testing.T, b authmgmt.Backend) func() {
			m := b.Store.(*mutant)
			m.broken.Store(true)
			return func() { m.broken.Store(false) }
		},
	}
}

// TestFaithful tries every rule on a backend that is right, those of Reopen and Break
// included.
func TestFaithful(t *testing.T) { authmgmttest.Run(t, harness(func(*mutant) {})) }

// TestRules: ids are unique and well formed, texts are sentences.
func TestRules(t *testing.T) {
	var ids, texts []string
	for _, r := range authmgmttest.Rules() {
		ids, texts = append(ids, r.ID), append(texts, r.Text)
	}
	conformance.CheckRules(t, ids, texts)
}

// envMutant names the mutant in a process that runs the suite in order to fail.
const envMutant = "AUTHMGMTTEST_MUTANT"

// TestMutant runs the suite against the mutant that the environment names. It is run by
// TestMutants.
func TestMutant(t *testing.T) {
	name := os.Getenv(envMutant)
	if name == "" {
		t.Skip("run by TestMutants")
	}
	authmgmttest.Run(t, harnesses()[name])
}

// proof tries the mutants in processes of their own.
func proof() *conformance.Mutants {
	m := &conformance.Mutants{Env: envMutant, Texts: make(map[string]string), Breaks: make(map[string][]string)}
	for _, r := range authmgmttest.Rules() {
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
	for _, reason := range []string{
		"the backend has no Organizations", "the harness has no Reopen", "the harness has no Break", "its Store is no Pruner", "its Store is no KeyChecker",
		"no strings today: clients/strings-keep-every-byte",
	} {
		require.Contains(t, output, " because "+reason)
	}

	output, passed = proof().Run(t, "bad skip")
	require.False(t, passed)
	require.Contains(t, output, `Skip names "clients/no-such-rule", which is no rule`)
	require.Contains(t, output, `Skip gives no reason for "clients/get-unknown"`)
	require.Contains(t, output, "--- PASS: TestMutant/clients/get-unknown", "a Skip without a reason skips nothing")
}

// plainStore hides what a store can do beyond Store.
type plainStore struct{ authmgmt.Store }

// harnesses returns the harness of every mutant, and those of TestSkipping.
func harnesses() map[string]authmgmttest.Harness {
	all := make(map[string]authmgmttest.Harness)
	for _, m := range mutants() {
		h := harness(m.mutate)
		if m.reopen != nil {
			h.Reopen = m.reopen
		}
		all[m.name] = h
	}
	all["only a store"] = authmgmttest.Harness{
		Open: func(t *testing.T) authmgmt.Backend {
			return authmgmt.Backend{Store: plainStore{newMutant(t)}}
		},
		Skip: map[string]string{"clients/strings-keep-every-byte": "no strings today"},
	}
	bad := all["only a store"]
	bad.Skip = map[string]string{"clients/no-such-rule": "because", "clients/get-unknown": " "}
	all["bad skip"] = bad
	return all
}
