package audiosearch_test

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// TestErrorsOfRuns: each is what its name says, and nothing else.
func TestErrorsOfRuns(t *testing.T) {
	r := newRig(t, nil)
	id := r.start(audiosearch.Query{Class: loud})
	_, err := r.Cancel(t.Context(), org, "", "d", id)
	require.NoError(t, err)
	assert.Equal(t, 1, r.kinds()[mortise.KindTerminated])
	_, err = r.Cancel(t.Context(), org, "", "d", id)
	require.ErrorIs(t, err, audiosearch.ErrFinished)
	require.NotErrorIs(t, err, mortise.ErrUnavailable)
	var invalid *mortise.ValidationError
	_, err = r.Start(t.Context(), org, "", audiosearch.Query{Dataset: "none", Class: loud, Limit: -1})
	require.ErrorAs(t, err, &invalid)
}

// TestPruneManyRuns: more than the store takes at a time.
func TestPruneManyRuns(t *testing.T) {
	r := newRig(t, nil)
	at := time.Now().UTC().Truncate(time.Microsecond)
	for id := range int64(501) {
		run := audiosearch.Run{Organization: org, ID: id + 1, State: audiosearch.StateTerminated, FinishedAt: at}
		require.NoError(t, r.db.AudioSearch().Store.CreateRun(t.Context(), run, 1))
	}
	n, err := r.Prune(t.Context(), at.Add(time.Second))
	require.NoError(t, err)
	assert.Equal(t, 501, n)
}

// TestSweepTidiesUp: as long as there is more to do, and forgets what is old enough.
func TestSweepTidiesUp(t *testing.T) {
	db := newMemory(t)
	steps := 0
	tables := db.AudioSearch().Store.(*memory.AudioSearch)
	store := &prunedStore{tables, tables, func() bool { steps++; return steps < 4 }}
	now := time.Now()
	r := newRigOn(t, db, store, func(o *audiosearch.Options, w *audiosearch.WorkerOptions) {
		o.Now, w.Sweep.Retention = func() time.Time { return now }, time.Hour
	})
	id := r.search(audiosearch.Query{Class: loud}).ID
	_, err := r.sweeper.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 4, steps)
	now = now.Add(time.Hour)
	_, err = r.sweeper.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, audiosearch.Success, r.results(id).Termination)
	now = now.Add(time.Second)
	_, err = r.sweeper.RunOnce(t.Context())
	require.NoError(t, err)
	_, err = r.Run(t.Context(), org, "d", id)
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
}

// prunedStore has more to do as long as compact says so.
type prunedStore struct {
	audiosearch.Store
	audiosearch.Pruner
	compact func() (more bool)
}

func (p *prunedStore) Compact(context.Context, audiosearch.CompactOptions, int) (int, bool, error) {
	return 1, p.compact(), nil
}

// wildModerator gives scores as they are.
type wildModerator []float64

func (w wildModerator) Moderate(context.Context, string, []audiosearch.Result) ([]float64, error) {
	return w, nil
}

// TestModerationOutOfRange: what is no score is none.
func TestModerationOutOfRange(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Moderate = wildModerator{-0.1, 1.1, math.NaN(), 1}.Moderate
	})
	r.video("a", 5000, nil, nil)
	results := r.search(audiosearch.Query{Class: loud}).Results
	require.Len(t, results, 4)
	for i, want := range []bool{false, false, false, true} {
		assert.Equal(t, want, results[i].Moderation != nil, i)
	}
}

// TestModeratorHangs: the results come without it.
func TestModeratorHangs(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Stall = 50 * time.Millisecond
		o.Moderate = moderating(func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Second):
			}
			return ctx.Err()
		})
	})
	r.video("a", 1000, nil, nil)
	results := r.search(audiosearch.Query{Class: loud}).Results
	require.Len(t, results, 1)
	assert.Nil(t, results[0].Moderation)
}

// TestResultsShareMetadata: those of one video do, and with nobody else.
func TestResultsShareMetadata(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, nil, metadata.Map{"k": metadata.Int(1)})
	id := r.search(audiosearch.Query{Class: loud}).ID
	ways := map[string]func() []audiosearch.Result{
		"at once": func() []audiosearch.Result {
			found, err := r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
			require.NoError(t, err)
			return found.Results
		},
		"of a run": func() []audiosearch.Result { return r.results(id).Results },
	}
	for name, results := range ways {
		found := results()
		require.Len(t, found, 2)
		copied := audiosearch.Run{Results: found}.Clone().Results
		found[0].Metadata["k"] = metadata.Int(2)
		assert.Equal(t, metadata.Int(2), found[1].Metadata["k"], name)
		for _, others := range [][]audiosearch.Result{copied, results()} {
			assert.Equal(t, metadata.Int(1), others[1].Metadata["k"], name)
		}
	}
}

// TestIngestingAtATime: for all who ask together.
func TestIngestingAtATime(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Ingesting = 2 })
	_, err := r.CreateDataset(t.Context(), org, "", "e")
	require.NoError(t, err)
	for _, id := range []string{"a", "b", "c"} {
		r.video(id, 1000, nil, nil)
		require.NoError(t, r.PutVideos(t.Context(), org, "", "e", audiosearch.Video{ID: id, Path: id}))
	}
	var now, most atomic.Int64
	two := make(chan struct{})
	arrived := sync.OnceFunc(func() { close(two) })
	hook := func(ctx context.Context) error {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 2 {
			arrived()
		}
		select {
		case <-two:
		case <-ctx.Done():
		}
		time.Sleep(20 * time.Millisecond) // in which a third one must not come
		return nil
	}
	r.media.hook.Store(&hook)
	var both sync.WaitGroup
	for _, d := range []string{"d", "e"} {
		both.Go(func() { _, _ = r.Ingest(t.Context(), org, "", d) })
	}
	both.Wait()
	assert.EqualValues(t, 2, most.Load())
}

// TestVideoMovedDuringRanking: its old segments are not results.
func TestVideoMovedDuringRanking(t *testing.T) {
	db := newMemory(t)
	store := &hookedStore{Store: db.AudioSearch().Store}
	r := newRigOn(t, db, store, nil)
	r.video("a", 3000, nil, nil)
	r.video("b", 3000, nil, nil)
	r.ingest()
	var once sync.Once
	store.ranked = func() {
		once.Do(func() {
			require.NoError(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: "elsewhere"}))
		})
	}
	found, err := r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	require.Len(t, found.Results, 2)
	assert.Equal(t, "b", found.Results[0].VideoID)
}

// TestSignOfLifeWithoutProgress: a long attempt is not stale.
func TestSignOfLifeWithoutProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ *audiosearch.Options, w *audiosearch.WorkerOptions) { w.Watch = time.Second })
		r.video("a", 1000, nil, nil)
		var id int64
		hook := func(context.Context) error {
			time.Sleep(100 * time.Second)
			run := r.results(id)
			assert.Less(t, time.Since(run.UpdatedAt), 15*time.Second)
			return nil
		}
		r.scorer.hook.Store(&hook)
		id = r.start(audiosearch.Query{Class: loud})
		_, err := r.worker.RunOnce(t.Context())
		require.NoError(t, err)
		assert.Equal(t, audiosearch.Success, r.results(id).Termination)
	})
}
