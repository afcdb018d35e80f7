package audiosearch_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
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
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// hookedStore calls functions around methods of a Store.
type hookedStore struct {
	audiosearch.Store
	scoring func(ctx context.Context) error // before Scorings
	video   func(ctx context.Context)       // before Videos, which returns one at a time then
	ranked  func()                          // after Search
}

func (h *hookedStore) Scorings(
	ctx context.Context, org, dataset, model string, videos []string,
) (map[string]audiosearch.Scoring, error) {
	if h.scoring != nil {
		if err := h.scoring(ctx); err != nil {
			return nil, err
		}
	}
	return h.Store.Scorings(ctx, org, dataset, model, videos)
}

func (h *hookedStore) Videos(ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
	if h.video != nil {
		h.video(ctx)
		ids = ids[:min(len(ids), 1)]
	}
	return h.Store.Videos(ctx, org, dataset, ids)
}

func (h *hookedStore) Search(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
	hits, err := h.Store.Search(ctx, org, dataset, q)
	if h.ranked != nil {
		h.ranked()
	}
	return hits, err
}

// TestStoreHangs: that is not the fault of a video, and does not end in a success without
// results.
func TestStoreHangs(t *testing.T) {
	db := newMemory(t)
	store := &hookedStore{Store: db.AudioSearch().Store, scoring: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	r := newRigOn(t, db, store, func(o *audiosearch.Options, w *audiosearch.WorkerOptions) {
		o.Stall, w.MaxAttempts = 50*time.Millisecond, 2
	})
	r.video("a", 3000, nil, nil)
	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, []any{audiosearch.InternalError, 2}, []any{run.Termination, run.Attempts}, run.Message)
}

// TestLargeVideosAreReadInTurns: searches that find much metadata leave processors to
// others; those that find little wait for nobody.
func TestLargeVideosAreReadInTurns(t *testing.T) {
	places := max(1, runtime.GOMAXPROCS(0)/2)
	searches := places + 10
	for text, want := range map[string]int{"little": searches, strings.Repeat("much", 15_000): places} {
		synctest.Test(t, func(t *testing.T) {
			type readKey struct{}
			var second atomic.Int32 // searches at their second video
			proceed := make(chan struct{})
			db := newMemory(t)
			store := &hookedStore{Store: db.AudioSearch().Store}
			r := newRigOn(t, db, store, nil)
			for _, id := range []string{"a", "b"} {
				r.video(id, 3000, map[int]byte{0: 200}, metadata.Map{"text": metadata.String(text)})
			}
			r.ingest()
			store.video = func(ctx context.Context) {
				if read, ok := ctx.Value(readKey{}).(*atomic.Int32); ok && read.Add(1) == 2 {
					second.Add(1)
					<-proceed
				}
			}
			var all sync.WaitGroup
			for range searches {
				all.Go(func() {
					ctx := context.WithValue(t.Context(), readKey{}, new(atomic.Int32))
					found, err := r.Search(ctx, org, "", audiosearch.Query{Dataset: "d", Class: loud, Limit: 10})
					assert.NoError(t, err)
					assert.Len(t, found.Results, 4)
				})
			}
			synctest.Wait()
			assert.EqualValues(t, want, second.Load())
			close(proceed)
			all.Wait()
			assert.EqualValues(t, searches, second.Load())
		})
	}
}

// TestSearchSaysUnavailable: whatever the scorer does.
func TestSearchSaysUnavailable(t *testing.T) {
	for name, hook := range map[string]func(ctx context.Context) error{
		"hangs":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"panics": func(context.Context) error { panic("oh") },
		"fails":  func(context.Context) error { return errBroken },
	} {
		r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Stall = 50 * time.Millisecond })
		r.video("a", 3000, nil, nil)
		r.scorer.hook.Store(&hook)
		_, err := r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
		require.ErrorIs(t, err, mortise.ErrUnavailable, name)
		_, err = r.Ingest(t.Context(), org, "", "d")
		require.ErrorIs(t, err, mortise.ErrUnavailable, name)
	}
}

// fixedModel is a Scorer of a given model.
type fixedModel struct {
	volume
	model sound.Model
	err   error
}

func (f *fixedModel) Model(context.Context) (sound.Model, error) { return f.model, f.err }

// TestModelTooBig: a model whose batches fit into no memory is refused before it is
// tried.
func TestModelTooBig(t *testing.T) {
	db := newMemory(t)
	big := &fixedModel{model: sound.Model{ID: "big", Family: "big", SampleRate: 384_000, Window: 10 * time.Minute, Hop: 10 * time.Minute,
		Classes: []sound.Class{loud}, Batch: 1024}} // a terabyte
	s, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{big}})
	require.NoError(t, err)
	require.ErrorContains(t, s.PingScorers(t.Context()), "too much for one batch")
}

// TestInvalidWhileScorerIsDown: what is wrong with the query itself counts first.
func TestInvalidWhileScorerIsDown(t *testing.T) {
	db := newMemory(t)
	s, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{&fixedModel{err: errBroken}}})
	require.NoError(t, err)
	_, err = s.CreateDataset(t.Context(), org, "", "d")
	require.NoError(t, err)
	var invalid *mortise.ValidationError
	_, err = s.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud, Limit: 5000})
	require.ErrorAs(t, err, &invalid)
	_, err = s.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
}

// TestFiltersHoldOfResults: also if metadata change between the ranking and the reading.
func TestFiltersHoldOfResults(t *testing.T) {
	db := newMemory(t)
	store := &hookedStore{Store: db.AudioSearch().Store}
	r := newRigOn(t, db, store, nil)
	r.video("a", 3000, nil, metadata.Map{"show": metadata.String("news")})
	r.video("b", 3000, nil, metadata.Map{"show": metadata.String("news")})
	r.ingest()
	var once sync.Once
	store.ranked = func() {
		once.Do(func() {
			require.NoError(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: "a", Metadata: metadata.Map{"show": metadata.String("secret")}}))
		})
	}
	run := r.search(audiosearch.Query{Class: loud, Filters: []metadata.Filter{{Key: "show", Value: "news"}}})
	require.NotEmpty(t, run.Results)
	for _, result := range run.Results {
		assert.Equal(t, "news", result.Metadata["show"].Text(), result.VideoID)
	}
}

// TestGoneDuringRanking: a video that is deleted between the ranking and the reading
// costs nothing but its place.
func TestGoneDuringRanking(t *testing.T) {
	db := newMemory(t)
	store := &hookedStore{Store: db.AudioSearch().Store}
	r := newRigOn(t, db, store, nil)
	for _, id := range []string{"a", "b", "c"} {
		r.video(id, 3000, nil, nil)
	}
	r.ingest()
	var n atomic.Int64
	store.ranked = func() {
		if n.Add(1) == 1 {
			require.NoError(t, r.DeleteVideo(t.Context(), org, "", "d", "a"))
		}
	}
	found, err := r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud, Limit: 4})
	require.NoError(t, err)
	assert.Len(t, found.Results, 4, "of the others")
	assert.EqualValues(t, 2, n.Load())

	// A video that gets shorter, always.
	n.Store(0)
	store.ranked = func() {
		length := 9000
		if n.Add(1); n.Load()%2 == 1 {
			length = 3000
		}
		r.video("b", length, nil, nil)
		r.ingest()
	}
	r.video("b", 9000, nil, nil)
	r.ingest()
	found, err = r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud, Limit: 100})
	require.NoError(t, err)
	for _, result := range found.Results {
		assert.Less(t, result.Start, result.End)
	}
}

// pickyQueue refuses one job; at first, all of them.
type pickyQueue struct {
	mortise.Queue
	refused atomic.Int64
	picky   atomic.Bool
}

func (q *pickyQueue) Enqueue(ctx context.Context, j mortise.Job) error {
	if !q.picky.Load() || j.ID == strconv.FormatInt(q.refused.Load(), 10) {
		return errBroken
	}
	return q.Queue.Enqueue(ctx, j)
}

// TestSweepPassesOver: one run that cannot be queued does not keep the others waiting.
func TestSweepPassesOver(t *testing.T) {
	r := newRig(t, nil)
	now := time.Now()
	queue := &pickyQueue{Queue: r.db.Queue(nil)}
	s, err := audiosearch.New(audiosearch.Backend{Store: r.db.AudioSearch().Store, Queue: queue}, &audiosearch.Options{Scorers: []sound.Scorer{r.scorer}, Env: mortise.Env{Now: func() time.Time { return now }}})
	require.NoError(t, err)
	w, err := audiosearch.NewSweeper(s, nil)
	require.NoError(t, err)
	for range 3 {
		run, err := s.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
		require.NoError(t, err)
		if queue.refused.Load() == 0 {
			queue.refused.Store(run.ID)
		}
		now = now.Add(time.Millisecond)
	}
	now = now.Add(2 * time.Minute)
	queue.picky.Store(true)
	n, err := w.RunOnce(t.Context())
	require.Error(t, err)
	assert.Equal(t, 2, n)
}

// TestSweepEnds: also if there is always more to tidy up, as while much is ingested: runs
// wait for the next sweep.
func TestSweepEnds(t *testing.T) {
	db := newMemory(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steps := 0
	tables := db.AudioSearch().Store.(*memory.AudioSearch)
	store := &prunedStore{tables, tables, func() bool {
		if steps++; steps == 1_000_000 {
			cancel()
		}
		return true
	}}
	r := newRigOn(t, db, store, func(_ *audiosearch.Options, w *audiosearch.WorkerOptions) { w.Sweep.Every = time.Millisecond })
	_, err := r.sweeper.RunOnce(ctx)
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "it goes on for ever")
}

// TestRunsOfDeletedDataset: what was found in a dataset that is gone is not shown in a
// new one of the same ID.
func TestRunsOfDeletedDataset(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, nil, metadata.Map{"name": metadata.String("Ada")})
	id := r.search(audiosearch.Query{Class: loud}).ID
	require.NoError(t, r.DeleteDataset(t.Context(), org, "", "d"))
	_, err := r.CreateDataset(t.Context(), org, "", "d")
	require.NoError(t, err)
	_, err = r.Results(t.Context(), org, "d", id)
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
}

// TestFirstMediaDoesNotBeginAgain: once there was sound, what the next Media reads would
// come twice.
func TestFirstMediaDoesNotBeginAgain(t *testing.T) {
	half := &fakeMedia{pcm: func(yield func([]float32, error) bool) {
		if yield([]float32{1, 2}, nil) {
			yield(nil, sound.ErrFormat)
		}
	}}
	whole := &fakeMedia{pcm: func(yield func([]float32, error) bool) { yield([]float32{1, 2, 3}, nil) }}
	var samples []float32
	var last error
	for block, err := range sound.FirstMedia(half, whole).PCM(t.Context(), "", 1) {
		samples, last = append(samples, block...), err
	}
	assert.Equal(t, []float32{1, 2}, samples)
	require.Error(t, last)
}

// TestObserverEndsItsGoroutine: nobody waits for ever.
func TestObserverEndsItsGoroutine(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Observer = func(_ context.Context, o mortise.Observation) {
			if o.Kind == mortise.KindIngested {
				panicOrExit()
			}
		}
	})
	r.video("a", 3000, nil, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := r.Ingest(ctx, org, "", "d")
		ended <- err
	}()
	select {
	case err := <-ended:
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
	case <-time.After(10 * time.Second):
		t.Error("Ingest hangs, beyond the end of its context")
	}
}

var errUnused = errors.New("unused")

func panicOrExit() {
	if os.Getenv("REVIEW_PANIC") != "" {
		panic(errUnused) // today: ends the process
	}
	runtime.Goexit()
}

// TestDeletedDuringIngestion: it is neither scored nor a problem.
func TestDeletedDuringIngestion(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, nil, nil)
	var once sync.Once
	hook := func(ctx context.Context) (err error) {
		once.Do(func() { err = r.DeleteVideo(ctx, org, "", "d", "a") })
		return err
	}
	r.media.hook.Store(&hook)
	in := r.ingest()
	assert.Zero(t, in.Scored)
	assert.Empty(t, in.Problems)
}
