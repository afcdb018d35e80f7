package audiosearchtest_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks []string
	mutate func(*mutant)
	reopen func(*testing.T, audiosearchtest.Backend) audiosearchtest.Backend
}

func mutants() []broken {
	return slices.Concat(datasetMutants, catalogMutants, scoreMutants, searchMutants, filterMutants, unscoredMutants, raceMutants,
		classMutants, batchMutants, partMutants, flipMutants, modelMutants, modelOrderMutants,
		runMutants, runListMutants, statsMutants, resultMutants, staleMutants, pruneMutants, txMutants, deletionMutants, removalMutants, otherMutants)
}

// harness opens mutants. One that is faithful passes every rule: what Reopen returns is
// the same data, and Break makes it fail.
func harness(mutate func(*mutant)) audiosearchtest.Harness {
	return audiosearchtest.Harness{
		Open: func(t *testing.T) audiosearchtest.Backend {
			m := newMutant(t)
			mutate(m)
			return m.backend()
		},
		Reopen: func(_ *testing.T, b audiosearchtest.Backend) audiosearchtest.Backend { return b },
		Break: func(_ *testing.T, b audiosearchtest.Backend) func() {
			m := b.Runs.(*mutant)
			m.broken.Store(true)
			return func() { m.broken.Store(false) }
		},
	}
}

// TestFaithful tries every rule on a backend that is right, those of Reopen and Break
// included.
func TestFaithful(t *testing.T) { audiosearchtest.Run(t, harness(func(*mutant) {})) }

// TestRules: ids are unique and well formed, texts are sentences.
func TestRules(t *testing.T) {
	for _, rules := range [][]audiosearchtest.Rule{audiosearchtest.Rules(), audiosearchtest.ScorerRules(), audiosearchtest.MediaRules()} {
		var ids, texts []string
		for _, r := range rules {
			ids, texts = append(ids, r.ID), append(texts, r.Text)
		}
		conformance.CheckRules(t, ids, texts)
	}
}

// What names the mutant in a process that runs a suite in order to fail.
const (
	envMutant       = "AUDIOSEARCHTEST_MUTANT"
	envScorerMutant = "AUDIOSEARCHTEST_SCORER_MUTANT"
	envMediaMutant  = "AUDIOSEARCHTEST_MEDIA_MUTANT"
)

// TestMutant runs a suite against the mutant that the environment names. It is run by
// TestMutants, TestScorerMutants and TestMediaMutants.
func TestMutant(t *testing.T) {
	backend, scorer, media := os.Getenv(envMutant), os.Getenv(envScorerMutant), os.Getenv(envMediaMutant)
	switch {
	case backend != "":
		audiosearchtest.Run(t, harnesses()[backend])
	case scorer != "":
		runScorerMutant(t, scorer)
	case media != "":
		runMediaMutant(t, media)
	default:
		t.Skip("run by TestMutants, TestScorerMutants and TestMediaMutants")
	}
}

// proof tries the mutants in processes of their own.
func proof() *conformance.Mutants {
	m := &conformance.Mutants{Env: envMutant, Texts: make(map[string]string), Breaks: make(map[string][]string)}
	for _, r := range audiosearchtest.Rules() {
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
	output, passed := proof().Run(t, "only a catalog")
	require.True(t, passed, output)
	for _, reason := range []string{
		"the backend has no Scores", "the backend has no Runs",
		"the harness has no Reopen", "the harness has no Break", "no strings today: datasets/names-are-exact",
	} {
		require.Contains(t, output, " because "+reason)
	}

	output, passed = proof().Run(t, "only what must be", "compactor/ends", "runpruner/limit",
		"txstore/durable", "txstore/job-is-there", "txstore/leases-share",
		"txstore/queue-shares", "txstore/notifies")
	require.True(t, passed, output)
	for _, reason := range []string{"its Scores are not a Pruner", "its Runs are not a Pruner",
		"its Runs are not a TxStore"} {
		require.Contains(t, output, " because "+reason)
	}

	output, passed = proof().Run(t, "scores and nothing else", "parts/count", "models/list",
		"parts/models-do-not-show", "scores/without")
	require.True(t, passed, output)
	require.Contains(t, output, " because the backend has no Parts")
	require.Contains(t, output, " because the backend has no Models")

	output, passed = proof().Run(t, "runs without jobs", "txstore/lease-lost", "counter/all")
	require.True(t, passed, output)
	require.Contains(t, output, " because the backend has no Leases")
	require.Contains(t, output, " because the backend has no Counter")
	output, passed = proof().Run(t, "a plain table", "txstore/leases-share", "txstore/notifies",
		"txstore/queue-shares")
	require.True(t, passed, output)
	for _, reason := range []string{"its Leases are not a Sharer",
		"its Leases are not a JobNotifier", "the backend has no Queue"} {
		require.Contains(t, output, " because "+reason)
	}
	output, passed = proof().Run(t, "a plain queue", "txstore/queue-shares")
	require.True(t, passed, output)
	require.Contains(t, output, " because its Queue is not a Sharer")

	output, passed = proof().Run(t, "bad skip")
	require.False(t, passed)
	require.Contains(t, output, `Skip names "datasets/no-such-rule", which is no rule`)
	require.Contains(t, output, `Skip gives no reason for "datasets/get-unknown"`)
	require.Contains(t, output, "--- PASS: TestMutant/datasets/get-unknown", "a Skip without a reason skips nothing")
}

// harnesses returns the harness of every mutant, and those of TestSkipping.
func harnesses() map[string]audiosearchtest.Harness {
	all := make(map[string]audiosearchtest.Harness)
	for _, m := range mutants() {
		h := harness(m.mutate)
		if m.reopen != nil {
			h.Reopen = m.reopen
		}
		all[m.name] = h
	}
	all["only a catalog"] = audiosearchtest.Harness{
		Open: func(t *testing.T) audiosearchtest.Backend {
			m := newMutant(t)
			return audiosearchtest.Backend{Datasets: m, Catalog: m}
		},
		Skip: map[string]string{"datasets/names-are-exact": "no strings today"},
	}
	all["only what must be"] = audiosearchtest.Harness{Open: func(t *testing.T) audiosearchtest.Backend {
		m := newMutant(t)
		return audiosearchtest.Backend{
			Datasets: m, Catalog: m, Scores: struct{ audiosearch.ScoreStore }{m}, Parts: m, Models: m,
			Runs: struct{ audiosearch.Runs }{m}, Results: m, Counter: m,
			Leases: struct{ mortise.Leases }{mutantLeases{m}}, Queue: struct{ mortise.Queue }{m.queue},
		}
	}}
	all["scores and nothing else"] = audiosearchtest.Harness{Open: func(t *testing.T) audiosearchtest.Backend {
		m := newMutant(t)
		return audiosearchtest.Backend{Datasets: m, Catalog: m, Scores: m}
	}}
	for name, jobs := range map[string]func(*mutant, *audiosearchtest.Backend){
		"runs without jobs": func(*mutant, *audiosearchtest.Backend) {},
		"a plain table": func(m *mutant, b *audiosearchtest.Backend) {
			b.Leases = struct{ mortise.Leases }{mutantLeases{m}}
		},
		"a plain queue": func(m *mutant, b *audiosearchtest.Backend) {
			b.Leases, b.Queue = mutantLeases{m}, struct{ mortise.Queue }{m.queue}
		},
	} {
		all[name] = audiosearchtest.Harness{Open: func(t *testing.T) audiosearchtest.Backend {
			m := newMutant(t)
			b := audiosearchtest.Backend{Runs: m, Results: m}
			jobs(m, &b)
			return b
		}}
	}
	bad := all["only a catalog"]
	bad.Skip = map[string]string{"datasets/no-such-rule": "because", "datasets/get-unknown": " "}
	all["bad skip"] = bad
	return all
}
