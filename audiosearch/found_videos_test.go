package audiosearch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// putStore sees what is put, and fails so often.
type putStore struct {
	audiosearch.Store
	audiosearch.Pruner

	mu       sync.Mutex
	failures int
	batches  [][]audiosearch.Video
	results  []audiosearch.Result
	sets     map[uuid.UUID]bool
}

func (p *putStore) call(set uuid.UUID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sets == nil {
		p.sets = make(map[uuid.UUID]bool)
	}
	p.sets[set] = true
	if p.failures > 0 {
		p.failures--
		return errors.New("put: connection refused")
	}
	return nil
}

func (p *putStore) PutResultVideos(ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video) error {
	if err := p.call(set); err != nil {
		return err
	}
	p.batches = append(p.batches, videos)
	return p.Store.PutResultVideos(ctx, org, run, set, videos)
}

func (p *putStore) PutResults(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
	if err := p.call(set); err != nil {
		return err
	}
	p.results = results
	return p.Store.PutResults(ctx, org, run, set, results)
}

func newPutRig(t *testing.T, change func(*audiosearch.Options, *audiosearch.WorkerOptions)) (*rig, *putStore) {
	t.Helper()
	db := newMemory(t)
	store := &putStore{Store: db.AudioSearch().Store, Pruner: db.AudioSearch().Store.(*memory.AudioSearch)}
	return newRigOn(t, db, store, change), store
}

// TestResultsComeInPieces: a run has no more than about 1 MiB of metadata in its hands,
// and puts each video once.
func TestResultsComeInPieces(t *testing.T) {
	r, store := newPutRig(t, nil)
	const videos, size = 40, 60_000
	for i := range videos {
		r.video(fmt.Sprint("v", i), 3000, nil, metadata.Map{"k": metadata.String(strings.Repeat("x", size))})
	}
	run := r.search(audiosearch.Query{Class: loud, Limit: 1000})
	require.Len(t, run.Results, 2*videos)
	seen := map[string]bool{}
	for _, batch := range store.batches {
		assert.LessOrEqual(t, (len(batch)-1)*size, 1<<20)
		for _, v := range batch {
			assert.False(t, seen[v.ID], v.ID)
			seen[v.ID] = true
		}
	}
	assert.Len(t, seen, videos)
	for _, result := range store.results {
		assert.Nil(t, result.Metadata)
	}
	for _, result := range run.Results {
		assert.Len(t, result.Metadata["k"].Text(), size)
	}
}

// TestStoreIsAwayWhilePutting: for a moment; the search is not made again. For longer, it
// is, with a set of its own, and nothing of the first attempt is seen.
func TestStoreIsAwayWhilePutting(t *testing.T) {
	t.Parallel() // it waits most of the time
	for failures, attempts := range map[int]int{0: 1, 4: 1, 5: 2} {
		r, store := newPutRig(t, nil)
		r.video("a", 3000, nil, nil)
		store.failures = failures
		run := r.search(audiosearch.Query{Class: loud})
		assert.Equal(t, audiosearch.Success, run.Termination)
		assert.Equal(t, attempts, run.Attempts, failures)
		assert.Len(t, run.Results, 2)
		assert.Len(t, store.sets, attempts)
	}
}

// TestResultsAreRead: a few at a time, while the caller takes them; what goes wrong is
// said, and ends it.
func TestResultsAreRead(t *testing.T) {
	r := newRig(t, nil)
	for i := range 60 {
		r.video(fmt.Sprintf("v%02d", i), 3000, nil, nil)
	}
	id := r.search(audiosearch.Query{Class: loud, Limit: 120}).ID
	run, found, err := r.EachResult(t.Context(), org, "d", id)
	require.NoError(t, err)
	require.Nil(t, run.Results)
	for range 2 { // it may be gone through again
		n := 0
		for result, err := range found {
			require.NoError(t, err)
			require.NotEmpty(t, result.VideoID)
			n++
		}
		require.Equal(t, 120, n)
	}
	var last error
	n := 0
	for _, err := range found {
		if n == 0 { // forgotten in the middle
			_, _, err := r.db.AudioSearch().Store.(*memory.AudioSearch).TrimRuns(t.Context(), 0, 10)
			require.NoError(t, err)
		}
		last = err
		n++
	}
	require.ErrorIs(t, last, audiosearch.ErrRunNotFound)
	require.Less(t, n, 120)
	_, _, err = r.EachResult(t.Context(), org, "d", id)
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
}

// TestTooManyRuns: those that have not ended are bounded when one is started, those that
// have by the sweeper.
func TestTooManyRuns(t *testing.T) {
	now := time.Now()
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.MaxWaiting, o.KeepRuns = 3, 2
		o.Now = func() time.Time { return now }
	})
	var ids []int64
	for range 3 {
		ids = append(ids, r.start(audiosearch.Query{Class: loud}))
	}
	_, err := r.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.ErrorIs(t, err, audiosearch.ErrTooManyRuns)
	require.NotErrorIs(t, err, mortise.ErrUnavailable)
	for range 3 {
		now = now.Add(time.Second)
		r.drain(1)
	}
	ids = append(ids, r.start(audiosearch.Query{Class: loud}))
	_, err = r.sweeper.RunOnce(t.Context())
	require.NoError(t, err)
	for i, id := range ids {
		_, err := r.Run(t.Context(), org, "d", id)
		if i == 0 {
			require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
		} else {
			require.NoError(t, err)
		}
	}
}
