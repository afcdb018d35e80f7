// Package audiosearchtest proves backends, scorers and media of package audiosearch, and
// gives tests of programs that use it what they need.
//
// [Run] is the conformance suite of backends: every testable sentence of the contracts of
// [audiosearch.Datasets], [audiosearch.Catalog], [audiosearch.ScoreStore],
// [audiosearch.PartStore], [audiosearch.ModelStore], [audiosearch.Runs],
// [audiosearch.ResultStore], [audiosearch.Counter] and [audiosearch.Deletion], and of the
// optional interfaces that belong to them, is a rule with an id of its own. [RunModel]
// compares a backend with a plain model of it, on random datasets, filters and scores. A
// backend proves itself in a few lines:
//
//	func TestConformance(t *testing.T) {
//		h := audiosearchtest.Harness{Open: func(t *testing.T) audiosearchtest.Backend {
//			db, jobs := open(t) // and t.Cleanup to close it
//			return audiosearchtest.Backend{
//				Datasets: db, Catalog: db, Scores: db, Parts: db, Models: db,
//				Runs: db, Results: db, Counter: db, Deletion: db,
//				Leases: jobs, Queue: mortise.NewLeaseQueue(jobs, nil),
//			}
//		}}
//		audiosearchtest.Run(t, h)
//		audiosearchtest.RunModel(t, h, nil)
//	}
//
// Its jobs are those of all domains: package storage/queuetest has the rules of
// [mortise.Leases] and [mortise.Queue].
//
// [RunScorer] is the suite of scorers, and [RunMedia] that of media which read WAV files.
package audiosearchtest

import (
	"slices"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// Backend is what a backend offers. The rules of a nil field are skipped and counted.
// Those of Catalog need Datasets, and those of Scores need both. Those of Parts and of
// Models need Scores, and where they bear on each other, both. Those of Runs and Results
// need each other, and those of Counter need what it counts: Runs, and Catalog mostly.
// Those of Deletion need Datasets, and what else each of them is about. Rules of optional
// interfaces apply where a field implements them: [audiosearch.Pruner] (Scores for
// Compact, Runs for the rest), [audiosearch.TxStore] (Runs), [mortise.Sharer] (Leases and
// Queue) and [mortise.JobNotifier] (Leases). Those of TxStore need Leases.
type Backend struct {
	Datasets audiosearch.Datasets
	Catalog  audiosearch.Catalog
	Scores   audiosearch.ScoreStore
	Parts    audiosearch.PartStore
	Models   audiosearch.ModelStore
	Runs     audiosearch.Runs
	Results  audiosearch.ResultStore
	Counter  audiosearch.Counter
	Deletion audiosearch.Deletion
	Leases   mortise.Leases // in the same database, and on the real clock
	Queue    mortise.Queue  // over Leases, mostly
}

// Harness tells the suite how to come by a backend.
type Harness struct {
	// Open returns a fresh, empty backend that shares nothing with earlier ones. It
	// cleans up with t.Cleanup.
	Open func(t *testing.T) Backend

	// Reopen closes b and opens the same data again. Nil if the backend is volatile.
	Reopen func(t *testing.T, b Backend) Backend

	// Break makes the backend fail until heal is called. It is optional.
	Break func(t *testing.T, b Backend) (heal func())

	// Skip holds the ids of rules that the backend is known to break, each with a reason.
	// An unknown id or an empty reason fails the suite.
	Skip map[string]string
}

// Rule is one sentence of a contract.
type Rule struct {
	ID   string // "interface/what-it-says"; stable
	Text string
}

// Rules returns every rule of [Run], in the order in which it tries them.
func Rules() []Rule {
	var rules []Rule
	for _, r := range allRules() {
		rules = append(rules, r.Rule)
	}
	return rules
}

// Run tries every rule on a fresh backend, as a subtest named by the rule's id. A rule
// that is broken prints its text. One that does not end (within minutes) ends the test,
// and prints its text and those of the rules that failed before. At the end, Run logs
// which rules were skipped and why.
func Run(t *testing.T, h Harness) {
	t.Helper()
	suite := conformance.Suite{Name: "audiosearchtest"}
	for _, r := range allRules() {
		suite.Rules = append(suite.Rules, conformance.Rule{ID: r.ID, Text: r.Text, Try: func(t *testing.T) string { return r.try(t, &h) }})
	}
	suite.Run(t, h.Skip)
}

// need is what a rule cannot do without.
type need uint

const (
	needDatasets need = 1 << iota
	needCatalogField
	needScoresField
	needPartsField
	needModelsField
	needCompactor
	needRuns
	needRunPruner
	needLeases
	needTxField
	needLeasesSharer
	needQueueSharer
	needJobNotifier
	needReopen
	needBreak
	needCounterField
	needDeletionField

	needCatalog  = needDatasets | needCatalogField
	needScores   = needCatalog | needScoresField
	needParts    = needScores | needPartsField
	needModels   = needScores | needModelsField
	needCounter  = needCatalog | needRuns | needCounterField
	needDeletion = needDatasets | needDeletionField
	needTx       = needRuns | needTxField | needLeases
)

// rule is a Rule with the check that proves it.
type rule struct {
	Rule
	needs need
	check func(t *testing.T, s *subject)
}

// subject is the backend that a rule is tried on.
type subject struct {
	Backend
	h *Harness
}

// try runs the check, or returns why it cannot.
func (r *rule) try(t *testing.T, h *Harness) (skipped string) {
	switch {
	case r.needs&needReopen != 0 && h.Reopen == nil:
		return "the harness has no Reopen"
	case r.needs&needBreak != 0 && h.Break == nil:
		return "the harness has no Break"
	}
	s := &subject{Backend: h.Open(t), h: h}
	if reason := s.lacks(r.needs); reason != "" {
		return reason
	}
	r.check(t, s)
	return ""
}

// lacks says which of the needs the backend does not meet.
func (s *subject) lacks(needs need) string {
	_, compactor := s.Scores.(audiosearch.Pruner)
	_, runPruner := s.Runs.(audiosearch.Pruner)
	_, tx := s.Runs.(audiosearch.TxStore)
	_, leasesSharer := s.Leases.(mortise.Sharer)
	_, queueSharer := s.Queue.(mortise.Sharer)
	_, jobNotifier := s.Leases.(mortise.JobNotifier)
	for _, n := range []struct {
		need   need
		met    bool
		reason string
	}{
		{needDatasets, s.Datasets != nil, "the backend has no Datasets"},
		{needCatalogField, s.Catalog != nil, "the backend has no Catalog"},
		{needScoresField, s.Scores != nil, "the backend has no Scores"},
		{needPartsField, s.Parts != nil, "the backend has no Parts"},
		{needModelsField, s.Models != nil, "the backend has no Models"},
		{needCompactor, compactor, "its Scores are not a Pruner"},
		{needRuns, s.Runs != nil, "the backend has no Runs"},
		{needRuns, s.Results != nil, "the backend has no Results"},
		{needCounterField, s.Counter != nil, "the backend has no Counter"},
		{needDeletionField, s.Deletion != nil, "the backend has no Deletion"},
		{needRunPruner, runPruner, "its Runs are not a Pruner"},
		{needTxField, tx, "its Runs are not a TxStore"},
		{needLeases, s.Leases != nil, "the backend has no Leases"},
		{needLeasesSharer, leasesSharer, "its Leases are not a Sharer"},
		{needJobNotifier, jobNotifier, "its Leases are not a JobNotifier"},
		{needQueueSharer, s.Queue != nil, "the backend has no Queue"},
		{needQueueSharer, queueSharer, "its Queue is not a Sharer"},
	} {
		if needs&n.need != 0 && !n.met {
			return n.reason
		}
	}
	return ""
}

func allRules() []rule {
	return slices.Concat(datasetRules, datasetDeletionRules, catalogRules, catalogListRules, catalogScoringRules, missingKeyRules,
		scoringRules, conflictRules, searchRules, filterRules, unscoredRules, windowRules, compactRules, scoreRaceRules,
		classRules, batchRules, partRules, flipRules, partOtherRules, modelRules, modelOtherRules, modelOrderRules,
		runRules, waitingRules, runUpdateRules, runListRules, statsRules, statsAllRules, counterRules,
		resultRules, resultSetRules, staleRules, pruneRules, trimRules,
		txCreateRules, txUpdateRules, shareRules, deletionRules, deletionRunRules, removalRules, contextRules, breakRules, reopenRules)
}
