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
//				Leases: jobs, Queue: leases.New(jobs, nil),
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
// [New] makes a fake for the tests of a program that uses a service, and [Faults] makes a
// backend fail.
package audiosearchtest

// A map for those who work on this package. Begin with suite.go, then read one file of
// rules, as rules_datasets.go: each rule is an id, a sentence of the contract, what it
// needs, and the check.
//
//	suite.go           Backend, Harness, Run, what a backend may lack, and the list
//	                   of all rules
//	rules_X.go         the rules of datasets, the catalog, scores (scorings, search,
//	                   filters, classes, segments, batches, unscored, conflict,
//	                   compact), parts, models, runs (runs, run_updates, run_lists,
//	                   results, stale, txstore), counts and deletion; and for all of
//	                   them: context, break, reopen
//	checks_X.go        what rules ask of a backend and require of its answers
//	model.go           RunModel; model_X.go has its steps, and model_oracle.go the
//	                   plain model
//	scorer.go          RunScorer; its rules are in rules_scorer.go
//	media.go           RunMedia; its rules are in rules_media.go
//	fake.go            New: the fake; fake_break.go breaks parts of it
//	faults.go          Faults; faults_hooks.go has the hooks that say when
//	internal/delegate  a store of functions, in which faults and mutants stand
//	fake_sounds.go     Sounds: what the fake hears
//	suite_test.go      the proof of the suite, and the backends that lack something
//	mutant_test.go     the backend whose methods mutants replace
//	mutate_test.go     mistakes in many methods at once
//	mutants_X_test.go  the mutants that break the rules of rules_X.go
//	scorer_test.go     the proof of the suite of scorers; media_test.go has that of
//	                   media
//
// What all suites have in common is in internal/conformance, which also tells how a
// suite is made.
