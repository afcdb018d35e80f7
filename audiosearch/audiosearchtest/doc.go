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
