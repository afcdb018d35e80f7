package audiosearchtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestSuite proves the suite.
func TestSuite(t *testing.T) { conformance.Prove(t, proof()) }

func proof() *conformance.Proof[audiosearchtest.Harness] {
	p := &conformance.Proof[audiosearchtest.Harness]{
		Run:      audiosearchtest.Run,
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
	audiosearchtest.Run(t, halves.harness())
}

// stepMutants are wrong about bounded steps.
func stepMutants() []mutate.Mutant {
	return steptest.Mutants(&new(mutant).On, map[string]string{
		"PruneRuns": "steps/prune-runs", "TrimRuns": "steps/trim-runs", "Compact": "steps/compact", "RemoveDeleted": "steps/remove-deleted",
	}, "does more than its limit in Compact") // which does one thing at a call
}

// lacking are backends that lack what they may.
func lacking() map[string]audiosearchtest.Harness {
	all := make(map[string]audiosearchtest.Harness)
	for name, with := range map[string]func(m *mutant, b *audiosearchtest.Backend){
		"all parts":           func(*mutant, *audiosearchtest.Backend) {},
		"what needs datasets": func(m *mutant, b *audiosearchtest.Backend) { b.Datasets = m },
		"revocations": func(m *mutant, b *audiosearchtest.Backend) {
			b.Datasets, b.Deletion = struct{ audiosearch.Datasets }{m}, m
		},
		"scores": func(m *mutant, b *audiosearchtest.Backend) { b.Datasets, b.Catalog = m, m },
		"what needs scores": func(m *mutant, b *audiosearchtest.Backend) {
			b.Datasets, b.Catalog, b.Scores = m, m, m
		},
		"results": func(m *mutant, b *audiosearchtest.Backend) { b.Runs = m },
		"optional interfaces": func(m *mutant, b *audiosearchtest.Backend) {
			*b = audiosearchtest.Backend{
				Datasets: m, Catalog: m, Scores: struct{ audiosearch.ScoreStore }{m}, Parts: m, Models: m,
				Runs: struct{ audiosearch.Runs }{m}, Results: m,
				Leases: struct{ mortise.Leases }{mutantLeases{m.jobs, m}}, Queue: struct{ mortise.Queue }{m.queue},
			}
		},
		"jobs": func(m *mutant, b *audiosearchtest.Backend) { b.Runs, b.Results = m, m },
		"jobs that share": func(m *mutant, b *audiosearchtest.Backend) {
			b.Runs, b.Results, b.Leases = m, m, struct{ mortise.Leases }{mutantLeases{m.jobs, m}}
		},
		"a queue that shares": func(m *mutant, b *audiosearchtest.Backend) {
			b.Runs, b.Results, b.Leases, b.Queue = m, m, mutantLeases{m.jobs, m}, struct{ mortise.Queue }{m.queue}
		},
	} {
		all[name] = audiosearchtest.Harness{Open: func(t *testing.T) (b audiosearchtest.Backend) {
			with(newMutant(t), &b)
			return b
		}}
	}
	return all
}

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks string // ids of rules
	mutate func(*mutant)
	reopen func(*testing.T, audiosearchtest.Backend) audiosearchtest.Backend
}

func mutants() []broken {
	return slices.Concat(keptMutants(), datasetMutants, catalogMutants, scoreMutants, searchMutants, filterMutants, unscoredMutants, raceMutants,
		classMutants, batchMutants, partMutants, flipMutants, modelMutants, modelOrderMutants,
		runMutants, runListMutants, countMutants, resultMutants, overdueMutants, pruneMutants, txMutants, blindMutants(), deletionMutants, removalMutants, otherMutants)
}

// faithful makes no mistake.
var faithful = broken{mutate: func(*mutant) {}}

// harness opens the mutant. One that is faithful passes every rule: what Reopen returns is
// the same data, and Break makes it fail.
func (b *broken) harness() audiosearchtest.Harness {
	h := audiosearchtest.Harness{
		Open: func(t *testing.T) audiosearchtest.Backend {
			m := newMutant(t)
			b.mutate(m)
			return m.backend()
		},
		Reopen: func(_ *testing.T, b audiosearchtest.Backend) audiosearchtest.Backend { return b },
		Break: func(_ *testing.T, b audiosearchtest.Backend) func() {
			m := b.Runs.(*mutant)
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
	nightly.Only(t)
	again := broken{mutate: func(m *mutant) {
		mutate.InTx(&m.On, func(ctx context.Context, do func(context.Context) error) error {
			_ = m.inTx(ctx, func(ctx context.Context) error { return errors.Join(do(ctx), errBroken) })
			return m.inTx(ctx, do)
		})
	}}
	audiosearchtest.Run(t, again.harness())
}
