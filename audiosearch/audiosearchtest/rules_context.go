package audiosearchtest

import (
	"context"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

const endedText = "A call whose context has ended returns an error that is none of the sentinels."

// contextRules say what a context that has ended does to each method.
var contextRules = []rule{
	{Rule{"datasets/ended-context", endedText}, needDatasets,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			allFail(conformance.Ended(t), t, s.datasetCalls())
			allWork(t, s.datasetCalls())
		}},

	{Rule{"datasets/left-at-any-look", conformance.AnyLook}, needDatasets,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			everyLook(t, func() []call { return s.datasetCalls() })
		}},

	{Rule{"catalog/ended-context", endedText}, needCatalog,
		func(t *testing.T, s *subject) {
			s.withVideos(t, "v")
			allFail(conformance.Ended(t), t, s.catalogCalls())
			allWork(t, s.catalogCalls())
		}},

	{Rule{"catalog/left-at-any-look", conformance.AnyLook}, needCatalog,
		func(t *testing.T, s *subject) {
			s.withVideos(t, "v")
			everyLook(t, func() []call { return s.catalogCalls() })
		}},

	{Rule{"scores/ended-context", endedText}, needScores,
		func(t *testing.T, s *subject) {
			s.withVideos(t, "v")
			allWork(t, s.scoreCalls())
			allFail(conformance.Ended(t), t, s.scoreCalls())
		}},

	{Rule{"scores/left-at-any-look", conformance.AnyLook}, needScores,
		func(t *testing.T, s *subject) {
			s.withVideos(t, "v")
			everyLook(t, func() []call { return s.scoreCalls() })
		}},

	{Rule{"compactor/ended-context", endedText}, needScores | needCompactor,
		func(t *testing.T, s *subject) {
			_, _, err := s.Scores.(audiosearch.Pruner).Compact(conformance.Ended(t), audiosearch.CompactOptions{}, 1000)
			isFailure(t, "Compact", err)
		}},

	{Rule{"runs/ended-context", endedText}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			allFail(conformance.Ended(t), t, s.runCalls(r.ID))
			allWork(t, s.runCalls(r.ID))
		}},

	{Rule{"runs/left-at-any-look", conformance.AnyLook}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			everyLook(t, func() []call { return s.runCalls(r.ID) })
		}},
}

// everyLook is conformance.EveryLook for calls of orgA and setA.
func everyLook(t *testing.T, calls func() []call) {
	t.Helper()
	conformance.EveryLook(t, func() (all []conformance.Call) {
		for _, c := range calls() {
			all = append(all, conformance.Call{Name: c.name, Do: func(ctx context.Context) error { return c.do(ctx, orgA, setA) }})
		}
		return all
	}, isFailure)
}
