package audiosearchtest

import (
	"slices"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// Backend has the parts of a backend. The rules of a nil field are skipped and counted.
// Rules of Catalog need Datasets, and rules of Scores need both. Rules of Parts and of
// Models need Scores, and where they bear on each other, both. Rules of Runs and of
// Results need both, and rules of Counter need Runs. Rules of Deletion need Datasets,
// and the field that each of them is about. Rules of optional interfaces apply where a
// field implements them: [audiosearch.Pruner] (Scores for Compact, Runs for the rest),
// [audiosearch.TxStore] (Runs), [mortise.Sharer] (Leases and Queue) and
// [leases.JobNotifier] (Leases). Rules of TxStore need Leases.
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
	ID   string // "group/what-it-says"
	Text string
}

// Rules returns every rule of [Run], in the order in which it tries them.
func Rules() []Rule { return conformance.RulesOf[Rule](suite(&Harness{})) }

// Run tries every rule on a fresh backend, as a subtest named by the rule's id. A rule
// that is broken prints its text. One that does not end (within minutes) ends the test,
// and prints its text and those of the rules that failed before. At the end, Run logs
// which rules were skipped and why.
func Run(t *testing.T, h Harness) {
	t.Helper()
	suite(&h).Run(t)
}

// What a rule cannot do without.
const (
	needDatasets conformance.Need = 1 << iota
	needCatalogField
	needScoresField
	needPartsField
	needModelsField
	needCompactor
	needRevocations
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
	needCounter  = needRuns | needCounterField
	needDeletion = needDatasets | needDeletionField
	needTx       = needRuns | needTxField | needLeases
)

// parts tells which of that the backend has.
func (s *subject) parts(has conformance.Has) {
	has(needReopen, s.h.Reopen != nil, "the harness has no Reopen")
	has(needBreak, s.h.Break != nil, "the harness has no Break")
	has(needDatasets, s.Datasets != nil, "the backend has no Datasets")
	has(needCatalogField, s.Catalog != nil, "the backend has no Catalog")
	has(needScoresField, s.Scores != nil, "the backend has no Scores")
	has(needPartsField, s.Parts != nil, "the backend has no Parts")
	has(needModelsField, s.Models != nil, "the backend has no Models")
	has(needRevocations, conformance.Is[mortise.RevocationCounter](s.Datasets), "its Datasets have no Revocations")
	has(needCompactor, conformance.Is[audiosearch.Pruner](s.Scores), "its Scores are not a Pruner")
	has(needRuns, s.Runs != nil, "the backend has no Runs")
	has(needRuns, s.Results != nil, "the backend has no Results")
	has(needCounterField, s.Counter != nil, "the backend has no Counter")
	has(needDeletionField, s.Deletion != nil, "the backend has no Deletion")
	has(needRunPruner, conformance.Is[audiosearch.Pruner](s.Runs), "its Runs are not a Pruner")
	has(needTxField, conformance.Is[audiosearch.TxStore](s.Runs), "its Runs are not a TxStore")
	has(needLeases, s.Leases != nil, "the backend has no Leases")
	has(needLeasesSharer, conformance.Is[mortise.Sharer](s.Leases), "its Leases are not a Sharer")
	has(needJobNotifier, conformance.Is[leases.JobNotifier](s.Leases), "its Leases are not a JobNotifier")
	has(needQueueSharer, s.Queue != nil, "the backend has no Queue")
	has(needQueueSharer, conformance.Is[mortise.Sharer](s.Queue), "its Queue is not a Sharer")
}

// rule is a Rule with the check that proves it.
type rule struct {
	Rule
	needs conformance.Need
	check func(t *testing.T, s *subject)
}

// suite returns the rules, to be tried on the backends of a harness.
func suite(h *Harness) *conformance.Suite[*subject] {
	s := &conformance.Suite[*subject]{Name: "audiosearchtest", Skip: h.Skip, Open: h.open, Parts: (*subject).parts}
	for _, r := range slices.Concat(datasetRules, datasetDeletionRules, catalogRules, catalogListRules,
		catalogScoringRules, missingKeyRules, scoringRules, conflictRules, searchRules, filterRules, unscoredRules,
		windowRules, compactRules, scoreRaceRules, classRules, batchRules, partRules, flipRules, partOtherRules,
		modelRules, modelOtherRules, modelOrderRules, runRules, waitingRules, runUpdateRules, runListRules,
		sharedCountRules(), countRules, counterRules, resultRules, resultSetRules, overdueRules, pruneRules, trimRules, untoldRules, stepRules(), listsRules(),
		txCreateRules, txUpdateRules, shareRules, revocationRules, deletionRules, deletionRunRules, removalRules,
		contextRules, breakRules, reopenRules) {
		s.Add(r.ID, r.Text, r.needs, r.check)
	}
	return s
}

// subject is the backend that a rule is tried on.
type subject struct {
	Backend
	h *Harness
}

func (h *Harness) open(t *testing.T) *subject { return &subject{h.Open(t), h} }

// reopen makes the backend begin anew, on the same data.
func (s *subject) reopen(t *testing.T) { s.Backend = s.h.Reopen(t, s.Backend) }

// breakIt makes the backend fail until heal is called, or until the test ends.
func (s *subject) breakIt(t *testing.T) (heal func()) {
	return conformance.Break(t, s.h.Break, s.Backend)
}
