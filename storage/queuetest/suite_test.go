package queuetest_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

// harness opens mutants. One that is faithful passes every rule: what Reopen returns is the
// same data, and Break makes it fail.
func harness(mutate func(*mutant)) queuetest.Harness {
	return queuetest.Harness{
		Open: func(t *testing.T) queuetest.Backend {
			m := newMutant(t)
			mutate(m)
			return m.backend()
		},
		Reopen: func(_ *testing.T, b queuetest.Backend) queuetest.Backend { return b },
		Break: func(_ *testing.T, b queuetest.Backend) func() {
			m := b.Leases.(*mutant)
			m.broken.Store(true)
			return func() { m.broken.Store(false) }
		},
	}
}

// TestFaithful tries every rule on a backend that is right, those of Reopen and Break
// included.
func TestFaithful(t *testing.T) { queuetest.Run(t, harness(func(*mutant) {})) }

// TestRules: ids are unique and well formed, texts are sentences.
func TestRules(t *testing.T) {
	var ids, texts []string
	for _, r := range queuetest.Rules() {
		ids, texts = append(ids, r.ID), append(texts, r.Text)
	}
	conformance.CheckRules(t, ids, texts)
}

// envMutant names the mutant in a process that runs the suite in order to fail.
const envMutant = "QUEUETEST_MUTANT"

// TestMutant runs the suite against the mutant that the environment names. It is run by
// TestMutants.
func TestMutant(t *testing.T) {
	name := os.Getenv(envMutant)
	if name == "" {
		t.Skip("run by TestMutants")
	}
	h, ok := harnesses()[name]
	require.True(t, ok, "no mutant %q", name)
	queuetest.Run(t, h)
}

// proof tries the mutants in processes of their own.
func proof() *conformance.Mutants {
	m := &conformance.Mutants{Env: envMutant}
	m.Texts, m.Breaks = make(map[string]string), make(map[string][]string)
	for _, r := range queuetest.Rules() {
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

// TestSkipping: what is skipped is counted with its reason, and a Skip that makes no sense
// fails the suite.
func TestSkipping(t *testing.T) {
	output, passed := proof().Run(t, "broker", "queue/turns", "queue/beside", "queue/cancel",
		"queue/failure", "queue/durable", "leases/extend", "stepqueue/kinds", "sharer/strangers",
		"lossreporter/steady")
	require.True(t, passed, output)
	for _, reason := range []string{
		"the backend has no Leases", "the harness has no Reopen", "the harness has no Break",
		"its Queue is no StepQueue", "nothing of it is a Sharer", "nothing of it is a LossReporter",
		"it knows no organizations: ",
	} {
		require.Contains(t, output, " because "+reason)
	}
	require.Contains(t, output, "the Queue cannot cancel jobs")

	output, passed = proof().Run(t, "only a table", "queue/done", "leases/extend", "jobnotifier/add")
	require.True(t, passed, output)
	for _, reason := range []string{
		"the backend has no Queue", "the backend has no SetNow", "its Leases are no JobNotifier",
	} {
		require.Contains(t, output, " because "+reason)
	}

	output, passed = proof().Run(t, "bad skip", "queue/turns")
	require.False(t, passed)
	require.Contains(t, output, `Skip names "queue/no-such-rule", which is no rule`)
	require.Contains(t, output, `Skip gives no reason for "queue/turns"`)
	require.Contains(t, output, "--- PASS: TestMutant/queue/turns", "nothing is skipped")
}

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks []string
	mutate func(m *mutant)
	reopen func(t *testing.T, b queuetest.Backend) queuetest.Backend // nil: as it was
}

// mutants returns all of them.
func mutants() []broken {
	return slices.Concat(addMutants, cancelMutants, alikeMutants(), claimMutants, orderMutants,
		holderMutants, raceMutants, notifierMutants, queueMutants, consumeMutants)
}

// plainQueue hides what a queue can do beyond Queue.
type plainQueue struct{ mortise.Queue }

// harnesses returns the harness of every mutant, and those of TestSkipping.
func harnesses() map[string]queuetest.Harness {
	all := make(map[string]queuetest.Harness)
	for _, m := range mutants() {
		h := harness(m.mutate)
		if m.reopen != nil {
			h.Reopen = m.reopen
		}
		all[m.name] = h
	}
	unknown := "it knows no organizations"
	all["broker"] = queuetest.Harness{
		Open: func(t *testing.T) queuetest.Backend {
			return queuetest.Backend{Queue: plainQueue{noCancel{newMutant(t).queue}}}
		},
		Skip: map[string]string{"queue/turns": unknown, "queue/beside": unknown},
	}
	all["only a table"] = queuetest.Harness{Open: func(t *testing.T) queuetest.Backend {
		return queuetest.Backend{Leases: struct{ mortise.Leases }{newMutant(t)}}
	}}
	bad := all["broker"]
	bad.Skip = map[string]string{"queue/no-such-rule": "because", "queue/turns": " "}
	all["bad skip"] = bad
	return all
}
