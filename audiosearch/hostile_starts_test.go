package audiosearch_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestMoreThanAPage: of datasets' videos, to be looked at and to be scored.
func TestMoreThanAPage(t *testing.T) {
	const n = 501
	r := newRig(t, nil)
	r.video("file", 10, nil, nil)
	videos := make([]audiosearch.Video, n)
	for i := range videos {
		videos[i] = audiosearch.Video{ID: fmt.Sprintf("v%04d", i), Path: "file"}
	}
	require.NoError(t, r.DeleteVideo(t.Context(), org, "", "d", "file"))
	require.NoError(t, r.PutVideos(t.Context(), org, "", "d", videos...))
	count := 0
	for v, err := range r.Videos(t.Context(), org, "d") {
		require.NoError(t, err)
		assert.Equal(t, videos[count].ID, v.ID)
		count++
	}
	assert.Equal(t, n, count)
	run := r.search(audiosearch.Query{Class: loud, Limit: 1000})
	assert.Len(t, run.Results, n)
	assert.Equal(t, []int{n, n}, []int{run.Done, run.Total})
	assert.Equal(t, audiosearch.Ingested{Unchanged: n}, r.ingest())
	for len(videos) <= mortise.MaxPageSize {
		videos = append(videos, audiosearch.Video{ID: fmt.Sprintf("v%04d", len(videos)), Path: "file"})
	}
	var invalid *mortise.ValidationError
	require.ErrorAs(t, r.PutVideos(t.Context(), org, "", "d", videos...), &invalid)
	require.NoError(t, r.PutVideos(t.Context(), org, "", "d", videos[1:]...))
}

// TestSeparateScorings: videos of the same ID are scored one by one, if anything else
// differs.
func TestSeparateScorings(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Ingesting = 2 })
	r.video("a", 1000, nil, nil)
	r.video("b", 1000, nil, nil)
	require.NoError(t, r.DeleteVideo(t.Context(), org, "", "d", "b"))
	for _, d := range [][2]string{{"other", "d"}, {org, "e"}} {
		_, err := r.CreateDataset(t.Context(), d[0], "", d[1])
		require.NoError(t, err)
		require.NoError(t, r.PutVideos(t.Context(), d[0], "", d[1], audiosearch.Video{ID: "a", Path: "a"}))
	}
	for name, second := range map[string]func() (org, dataset string){
		"organization": func() (string, string) { return "other", "d" },
		"dataset":      func() (string, string) { return org, "e" },
		"path": func() (string, string) {
			require.NoError(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: "b"}))
			return org, "d"
		},
		"model": func() (string, string) {
			id := "volume/other"
			r.scorer.id.Store(&id)
			return org, "d"
		},
	} {
		r.scorer.id.Store(&name)
		require.NoError(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: "a"}))
		var arrived atomic.Int64
		go_ := make(chan struct{})
		hook := func(context.Context) error {
			arrived.Add(1)
			<-go_
			return nil
		}
		r.media.hook.Store(&hook)
		var both sync.WaitGroup
		ingest := func(org, dataset string) {
			both.Go(func() { _, _ = r.Ingest(t.Context(), org, "", dataset) })
		}
		ingest(org, "d")
		require.Eventually(t, func() bool { return arrived.Load() == 1 }, time.Minute, time.Millisecond)
		ingest(second())
		assert.Eventually(t, func() bool { return arrived.Load() == 2 }, time.Minute, time.Millisecond, name)
		close(go_)
		both.Wait()
	}
}

// TestOneFailureCutsOffTheOthers: a scorer that fails for one video is not waited for
// with another, and videos are scored side by side.
func TestOneFailureCutsOffTheOthers(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Ingesting = 2 })
	r.video("a", 1000, nil, nil)
	r.video("b", 1000, nil, nil)
	var calls atomic.Int64
	waiting := make(chan struct{})
	hook := func(ctx context.Context) error {
		if calls.Add(1) == 1 {
			close(waiting)
			<-ctx.Done()
			return ctx.Err()
		}
		<-waiting
		return errBroken
	}
	r.scorer.hook.Store(&hook)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := r.Ingest(ctx, org, "", "d")
	require.ErrorIs(t, err, errBroken)
	require.NoError(t, ctx.Err(), "the other one was waited for")
}

// TestProgressIsSeen: while the run goes on.
func TestProgressIsSeen(t *testing.T) {
	db := newMemory(t)
	store := &failingUpdate{Store: db.AudioSearch().Store}
	r := newRigOn(t, db, store, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Ingesting = 1 })
	r.video("0", 1000, nil, nil)
	r.ingest()
	r.video("a", 1000, nil, nil)
	r.video("b", 1000, nil, nil)
	id := r.start(audiosearch.Query{Class: loud})
	var calls atomic.Int64
	hook := func(context.Context) error {
		want := []int{int(calls.Add(1)), 3}
		assert.Eventually(t, func() bool { run := r.results(id); return run.Done == want[0] && run.Total == want[1] }, time.Minute, time.Millisecond, want)
		return nil
	}
	r.scorer.hook.Store(&hook)
	r.drain(1)
	run := r.results(id)
	assert.Equal(t, []any{audiosearch.Success, 3, 3}, []any{run.Termination, run.Done, run.Total})
}

// failingUpdate fails the first time that progress is written.
type failingUpdate struct {
	audiosearch.Store
	failed atomic.Bool
}

func (f *failingUpdate) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	return f.Store.UpdateRun(ctx, org, id, func(run *audiosearch.Run) error {
		if err := update(run); err != nil {
			return err
		}
		if run.State == audiosearch.StateRunning && run.Total > 0 && f.failed.CompareAndSwap(false, true) {
			return errBroken
		}
		return nil
	})
}

// TestQueryIsTheCallers: and what it leaves open is filled in.
func TestQueryIsTheCallers(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.MaxLimit = 10 })
	r.video("a", 1000, nil, metadata.Map{"k": metadata.Int(1)})
	q := audiosearch.Query{Dataset: "d", Class: loud, Filters: []metadata.Filter{{Key: "k", Value: "1"}}}
	run, err := r.Start(t.Context(), org, "", q)
	require.NoError(t, err)
	assert.Equal(t, 10, run.Query.Limit)
	assert.Equal(t, metadata.OpEqual, run.Query.Filters[0].Op)
	assert.Empty(t, q.Filters[0].Op)
	q.MinScore = 1.5
	_, err = r.Start(t.Context(), org, "", q)
	require.ErrorContains(t, err, "min_score")
}

// hookedRuns calls a function after CreateRun.
type hookedRuns struct {
	audiosearch.Store
	created func()
}

func (h hookedRuns) CreateRun(ctx context.Context, r audiosearch.Run, most int) error {
	err := h.Store.CreateRun(ctx, r, most)
	h.created()
	return err
}

// hookedQueue calls a function after Enqueue.
type hookedQueue struct {
	mortise.Queue
	queued func(mortise.Job)
}

func (h hookedQueue) Enqueue(ctx context.Context, j mortise.Job) error {
	err := h.Queue.Enqueue(ctx, j)
	h.queued(j)
	return err
}

// runOf returns the run of a job.
func runOf(t *testing.T, j mortise.Job) int64 {
	t.Helper()
	id, err := strconv.ParseInt(j.ID, 10, 64)
	require.NoError(t, err)
	return id
}

// TestStartAndOthers: a caller that leaves once the run stands leaves it queued; a worker
// that is faster than Start is not set back.
func TestStartAndOthers(t *testing.T) {
	db := newMemory(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := newRigOn(t, db, hookedRuns{db.AudioSearch().Store, cancel}, nil)
	run, err := r.Start(ctx, org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	assert.Equal(t, audiosearch.StateQueued, r.results(run.ID).State)

	queue := hookedQueue{db.Queue(nil), func(j mortise.Job) {
		require.NoError(t, db.AudioSearch().Store.UpdateRun(t.Context(), org, runOf(t, j),
			func(run *audiosearch.Run) error {
				run.State = audiosearch.StateRunning
				return nil
			}))
	}}
	s, err := audiosearch.New(audiosearch.Backend{Store: db.AudioSearch().Store, Queue: queue}, &audiosearch.Options{Scorers: []sound.Scorer{r.scorer}})
	require.NoError(t, err)
	run, err = s.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	assert.Equal(t, []audiosearch.State{audiosearch.StateRunning, audiosearch.StateRunning}, []audiosearch.State{run.State, r.results(run.ID).State})
}

// zeros is a source of randomness that begins with zeros.
type zeros struct{ reads int }

func (z *zeros) Read(b []byte) (int, error) {
	clear(b)
	if z.reads++; z.reads > 1 {
		b[0] = 7
	}
	return len(b), nil
}

// wordy is a Tracer that writes a carrier of a given size.
type wordy int

func (w wordy) Inject(_ context.Context, carrier map[string]string) {
	carrier["k"] = strings.Repeat("x", int(w)-1)
}

func (wordy) Start(ctx context.Context, _ mortise.Work, _ map[string]string) (context.Context, func(error)) {
	return ctx, func(error) {}
}

// TestBoundsOfRuns: no run is 0, and none carries more than 1 KiB for a tracer.
func TestBoundsOfRuns(t *testing.T) {
	for size, want := range map[wordy]int{1024: 1, 1025: 0} {
		r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Tracer, o.Rand = size, new(zeros) })
		id := r.start(audiosearch.Query{Class: loud})
		assert.EqualValues(t, 7, id)
		assert.Len(t, r.results(id).Trace, want, size)
	}
}

// TestTimesStayInOrder: also if the clock is set back, or another machine's is behind.
func TestTimesStayInOrder(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 123456789, time.UTC)
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Now = func() time.Time { now = now.Add(-time.Second); return now }
	})
	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, audiosearch.Success, run.Termination)
	assert.False(t, run.FinishedAt.Before(run.StartedAt) || run.StartedAt.Before(run.CreatedAt) || run.UpdatedAt.Before(run.StartedAt), "%+v", run)
	for _, at := range []time.Time{run.CreatedAt, run.StartedAt, run.FinishedAt, run.UpdatedAt} {
		assert.Zero(t, at.Nanosecond()%1000)
	}
}
