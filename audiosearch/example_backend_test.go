package audiosearch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// The examples of this file are for those who write a backend: what its interfaces do,
// shown on memory.

// noon is when the examples happen.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newStore is an empty store with a dataset "d" of a video "v".
func newStore() *memory.AudioSearch {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	store := db.AudioSearch().Store.(*memory.AudioSearch)
	ctx := context.Background()
	check(store.CreateDataset(ctx, audiosearch.Dataset{Organization: "acme", ID: "d", CreatedAt: noon}))
	check(store.PutVideos(ctx, "acme", "d", []audiosearch.Video{{ID: "v", Path: "v.mp4", Metadata: metadata.Map{"season": metadata.Int(3)}}}))
	return store
}

// putScores stores the scores of a video's three segments.
func putScores(store audiosearch.ScoreStore, column ...uint16) error {
	return store.PutScoring(context.Background(), "acme", "d", "v", "v.mp4", audiosearch.Scoring{
		Model: "m/1", At: noon, Duration: 14 * time.Second, Window: 10 * time.Second, Hop: 2 * time.Second, Windows: 3, Classes: []sound.Class{"0"},
	}, [][]uint16{column})
}

func ExampleDatasets() {
	var datasets audiosearch.Datasets = newStore()
	ctx := context.Background()
	fmt.Println(datasets.CreateDataset(ctx, audiosearch.Dataset{Organization: "acme", ID: "d"}))
	_, err := datasets.Dataset(ctx, "another", "d")
	fmt.Println(err)
	// Output:
	// mortise: already exists
	// audiosearch: no such dataset
}

// Where the path of a video changes, its scores go.
func ExampleCatalog() {
	store := newStore()
	var catalog audiosearch.Catalog = store
	ctx := context.Background()
	check(putScores(store, 1, 2, 3))
	missing, err := catalog.MissingKeys(ctx, "acme", "d", []string{"season", "episode"})
	fmt.Println(missing, err)
	check(catalog.PutVideos(ctx, "acme", "d", []audiosearch.Video{{ID: "v", Path: "moved.mp4"}}))
	scorings, err := store.Scorings(ctx, "acme", "d", "m/1", []string{"v"})
	fmt.Println(len(scorings), err)
	// Output:
	// [episode] <nil>
	// 0 <nil>
}

func ExampleScoreStore() {
	var scores audiosearch.ScoreStore = newStore()
	ctx := context.Background()
	u, err := scores.Unscored(ctx, "acme", "d", audiosearch.UnscoredQuery{Model: "m/1", Limit: 10})
	fmt.Println(len(u.Videos), u.Matched, err)
	check(putScores(scores, 100, 65535, 100))
	hits, err := scores.Search(ctx, "acme", "d", audiosearch.ScoreQuery{
		Model: "m/1", Class: "0", Limit: 2, Filters: []metadata.Filter{{Key: "season", Op: metadata.OpGreater, Value: "2.5"}},
	})
	fmt.Println(hits, err)
	// Output:
	// 1 1 <nil>
	// [{v 1 65535} {v 0 100}] <nil>
}

// An update that returns an error changes nothing.
func ExampleRuns() {
	var runs audiosearch.Runs = newStore()
	ctx := context.Background()
	pending := audiosearch.Run{Organization: "acme", ID: 7, State: audiosearch.StatePending, CreatedAt: noon, UpdatedAt: noon}
	check(runs.CreateRun(ctx, pending, 1))
	fmt.Println(runs.CreateRun(ctx, audiosearch.Run{Organization: "acme", ID: 8}, 1))
	fmt.Println(runs.UpdateRun(ctx, "acme", 7, func(r *audiosearch.Run) error {
		r.State = audiosearch.StateTerminated
		return audiosearch.ErrFinished
	}))
	r, err := runs.Run(ctx, "acme", 7)
	fmt.Println(r.State, err)
	open, err := runs.ListRuns(ctx, "acme", audiosearch.RunQuery{Open: true, Limit: 10})
	fmt.Println(len(open.Items), open.Items[0].ID, err)
	// Output:
	// audiosearch: too many runs have not ended
	// audiosearch: the run has ended
	// PENDING <nil>
	// 1 7 <nil>
}

// Results are put before a run ends, and seen when it names their set.
func ExampleResultStore() {
	store := newStore()
	var results audiosearch.ResultStore = store
	ctx := context.Background()
	check(store.CreateRun(ctx, audiosearch.Run{Organization: "acme", ID: 7, State: audiosearch.StateRunning}, 1))
	set := uuid.New()
	videos, _, err := store.Videos(ctx, "acme", "d", []string{"v"})
	check(err)
	check(results.PutResultVideos(ctx, "acme", 7, set, videos))
	check(results.PutResults(ctx, "acme", 7, set, []audiosearch.Result{{VideoID: "v", Start: 2 * time.Second}}))
	page, err := results.RunResults(ctx, "acme", 7, 0)
	fmt.Println(len(page), err)

	check(store.UpdateRun(ctx, "acme", 7, func(r *audiosearch.Run) error {
		r.State, r.Termination, r.ResultSet = audiosearch.StateTerminated, audiosearch.Success, set
		return nil
	}))
	page, err = results.RunResults(ctx, "acme", 7, 0)
	fmt.Println(page[0].Path, page[0].Metadata["season"].Text(), page[0].Start, err)
	fmt.Println(results.PutResults(ctx, "acme", 7, set, nil))
	// Output:
	// 0 <nil>
	// v.mp4 3 2s <nil>
	// audiosearch: the run has ended
}

func ExamplePruner() {
	store := newStore()
	ctx := context.Background()
	check(store.CreateRun(ctx, audiosearch.Run{Organization: "acme", ID: 7, State: audiosearch.StateTerminated, FinishedAt: noon}, 9))
	check(store.CreateRun(ctx, audiosearch.Run{Organization: "acme", ID: 8, State: audiosearch.StateRunning}, 9))
	var pruner audiosearch.Pruner = store
	fmt.Println(pruner.PruneRuns(ctx, noon.Add(time.Hour), 100))
	// Output:
	// 1 false <nil>
}

// Parts follow each other, and nobody sees them. PutScoring brings the last segments, and
// the parts before them become scores without being copied.
func ExamplePartStore() {
	store := newStore()
	var parts audiosearch.PartStore = store
	ctx := context.Background()
	part := audiosearch.Part{Video: "v", Path: "v.mp4", Model: "m/1", Digest: [32]byte{1},
		Window: 10 * time.Second, Hop: 2 * time.Second, Classes: []sound.Class{"Bark"}, At: noon}
	fmt.Println(parts.PutPart(ctx, "acme", "d", part, [][]uint16{{100, 200}}))
	fmt.Println(parts.Parts(ctx, "acme", "d", part)) // what a process asks that begins again

	part.First = 3
	_, err := parts.PutPart(ctx, "acme", "d", part, [][]uint16{{400}})
	fmt.Println(err)
	q := audiosearch.ScoreQuery{Model: "m/1", Class: "Bark", Limit: 3}
	fmt.Println(store.Search(ctx, "acme", "d", q))

	check(store.PutScoring(ctx, "acme", "d", "v", "v.mp4", audiosearch.Scoring{
		Model: "m/1", At: noon, Digest: part.Digest, Duration: 14 * time.Second,
		Window: part.Window, Hop: part.Hop, Windows: 3, Classes: part.Classes,
	}, [][]uint16{{300}})) // the third of three segments
	fmt.Println(store.Search(ctx, "acme", "d", q))
	fmt.Println(parts.Parts(ctx, "acme", "d", part))
	// Output:
	// 2 <nil>
	// 2 <nil>
	// audiosearch: the video was changed meanwhile
	// [] <nil>
	// [{v 2 300} {v 1 200} {v 0 100}] <nil>
	// 0 <nil>
}

// A model takes the place of another one when it has scored what that one has.
func ExampleModelStore() {
	store := newStore()
	var models audiosearch.ModelStore = store
	ctx := context.Background()
	check(models.SetModel(ctx, "acme", "d", audiosearch.ModelChange{Family: "m", To: "m/1", At: noon}))
	check(putScores(store, 1, 2, 3)) // by m/1

	next := audiosearch.ModelChange{Family: "m", From: "m/1", To: "m/2", At: noon.Add(time.Hour)}
	err := models.SetModel(ctx, "acme", "d", next)
	fmt.Println(errors.Is(err, audiosearch.ErrConflict)) // m/2 has not scored the video
	next.Incomplete = true
	check(models.SetModel(ctx, "acme", "d", next))

	known, err := models.Models(ctx, "acme", "d")
	check(err)
	for _, m := range known {
		fmt.Println(m.ID, m.Family, m.Current, m.ReplacedAt.Format(time.TimeOnly), m.Classes)
	}
	// Output:
	// true
	// m/1 m false 13:00:00 [0]
	// m/2 m true 00:00:00 []
}

// Numbers are counted so far and no further.
func ExampleCounter() {
	store := newStore()
	var counter audiosearch.Counter = store
	ctx := context.Background()
	for id := range int64(3) {
		r := audiosearch.Run{Organization: "acme", ID: 1 + id, State: audiosearch.StatePending}
		check(store.CreateRun(ctx, r, 10))
	}
	for _, most := range []int{2, 3} {
		counts, err := counter.Counts(ctx, "acme", most)
		fmt.Println(counts.Waiting, err)
	}
	// Output:
	// 2+ <nil>
	// 3 <nil>
}

// Compact tidies up in steps, and changes no answer.
func ExamplePruner_compact() {
	store := newStore()
	check(putScores(store, 1, 2, 3))
	var pruner audiosearch.Pruner = store
	for more := true; more; {
		var err error
		_, more, err = pruner.Compact(context.Background(), audiosearch.CompactOptions{}, 1000)
		check(err)
	}
	hits, err := store.Search(context.Background(), "acme", "d", audiosearch.ScoreQuery{Model: "m/1", Class: "0", Limit: 1})
	fmt.Println(hits, err)
	// Output:
	// [{v 2 3}] <nil>
}

// Run and job are one step: a run that is refused adds no job, and one that ends takes
// its job along.
func ExampleTxStore() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	var store audiosearch.TxStore = db.AudioSearch().Store.(*memory.AudioSearch)
	ctx := context.Background()
	run := audiosearch.Run{Organization: "acme", ID: 7, State: audiosearch.StateQueued,
		CreatedAt: noon, UpdatedAt: noon}
	check(store.CreateRunAndAdd(ctx, run, 1, run.Job()))
	fmt.Println(store.CreateRunAndAdd(ctx, run, 1, run.Job()))

	claim := func() []mortise.Lease {
		kinds := []string{audiosearch.JobKind}
		leases, err := db.Jobs().Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: kinds, Limit: 10,
			TTL: time.Minute})
		check(err)
		return leases
	}
	held := claim()
	fmt.Println(len(held), held[0].Job)
	check(store.UpdateRunAndJobs(ctx, "acme", 7, func(r *audiosearch.Run) ([]mortise.Job, error) {
		r.State = audiosearch.StateTerminated
		return nil, nil
	}, held[0]))
	fmt.Println(db.Jobs().Remove(ctx, held[0], false))
	// Output:
	// mortise: already exists
	// 1 audiosearch/"acme"/7
	// mortise: the lease is lost
}

// A queue of any kind will do. Each run has a job of its own.
func ExampleQueue() {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	var queue mortise.Queue = db.Queue(nil)
	ctx, cancel := context.WithCancel(context.Background())
	run := audiosearch.Run{Organization: "acme", ID: 7}
	check(queue.Enqueue(ctx, run.Job()))
	opts := mortise.ConsumeOptions{Kinds: []string{audiosearch.JobKind}, Workers: 2}
	check(queue.Consume(ctx, opts, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		fmt.Println("run", d.Job.ID, "delivery", d.Deliveries)
		cancel()
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}))
	// Output:
	// run 7 delivery 1
}
