package audiosearch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// moderate is how a service asks for moderation scores.
type moderate = func(ctx context.Context, org string, results []audiosearch.Result) ([]float64, error)

// moderating returns one that calls f.
func moderating(f func(ctx context.Context) error) moderate {
	return func(ctx context.Context, _ string, results []audiosearch.Result) ([]float64, error) {
		return make([]float64, len(results)), f(ctx)
	}
}

// TestEndDuringModeration: a run that is cancelled, or cut off by a shutdown, while its
// results are moderated did not succeed.
func TestEndDuringModeration(t *testing.T) {
	var r *rig
	var id int64
	r = newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Moderate = moderating(func(ctx context.Context) error {
			_, err := r.Cancel(t.Context(), org, "ada", "d", id)
			require.NoError(t, err)
			<-ctx.Done()
			return ctx.Err()
		})
	})
	r.video("a", 3000, nil, nil)
	id = r.start(audiosearch.Query{Class: loud})
	r.drain(1)
	run := r.results(id)
	assert.Equal(t, []any{audiosearch.ClientError, "The run was cancelled."}, []any{run.Termination, run.Message})

	ctx, shutdown := context.WithCancel(t.Context())
	r = newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Moderate = moderating(func(ctx context.Context) error {
			shutdown()
			<-ctx.Done()
			return ctx.Err()
		})
	})
	r.video("a", 3000, nil, nil)
	id = r.start(audiosearch.Query{Class: loud})
	_, err := r.worker.RunOnce(ctx)
	require.NoError(t, err)
	run = r.results(id)
	assert.Equal(t, []any{audiosearch.StateQueued, 0}, []any{run.State, run.Attempts}, "it has to be made again, with moderation")
}

// hangingModel is a Scorer whose Model hangs from the second call on.
type hangingModel struct {
	volume
	asked atomic.Int64
}

func (h *hangingModel) Model(ctx context.Context) (sound.Model, error) {
	if h.asked.Add(1) > 1 {
		<-ctx.Done()
		return sound.Model{}, ctx.Err()
	}
	return h.volume.Model(ctx)
}

// TestModelHangs: a scorer that does not say what it is costs an attempt, not for ever.
func TestModelHangs(t *testing.T) {
	r := newRig(t, nil)
	s, err := audiosearch.New(r.db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{new(hangingModel)}, Media: r.media, Files: mustFolder(t, r.dir), Stall: 20 * time.Millisecond, Grace: 10 * time.Millisecond})
	require.NoError(t, err)
	run, err := s.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	w, err := audiosearch.NewWorker(s, &audiosearch.WorkerOptions{MaxAttempts: 1})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _, _ = w.RunOnce(ctx) })
	defer running.Wait()
	defer cancel()
	assert.Eventually(t, func() bool {
		run, err := s.Run(t.Context(), org, "d", run.ID)
		return err == nil && run.Termination == audiosearch.InternalError
	}, 10*time.Second, time.Millisecond)
}

// TestModelChangesDuringIngestion: what another model made is not stored as the first
// one's.
func TestModelChangesDuringIngestion(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Ingesting = 1 })
	r.video("a", 1000, nil, nil)
	r.video("b", 1000, nil, nil)
	other := "volume/2"
	hook := func(context.Context) error {
		r.scorer.id.Store(&other)
		return nil
	}
	r.scorer.hook.Store(&hook)
	_, _ = r.Ingest(t.Context(), org, "", "d")
	for _, video := range []string{"a", "b"} { // of a nobody can tell
		found, err := r.db.AudioSearch().Store.Scorings(t.Context(), org, "d", "volume/1", []string{video})
		require.NoError(t, err)
		require.Empty(t, found, "%s was scored, at least in part, by volume/2", video)
	}
}

// TestMediaPanics: it is the fault of the file, and costs the file.
func TestMediaPanics(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, nil, nil)
	r.video("b", 3000, nil, nil)
	var calls atomic.Int64
	hook := func(context.Context) error {
		if calls.Add(1) == 1 {
			var table []int
			_ = table[calls.Load()] // as a decoder does
		}
		return nil
	}
	r.media.hook.Store(&hook)
	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, []any{audiosearch.Success, 1}, []any{run.Termination, run.Attempts})
	assert.Len(t, run.Results, 2, "of the other one")
	assert.Contains(t, run.Message, "1 of 2 videos could not be searched")
	assert.NotContains(t, run.Message, "index out of range", "it is for the log")
}

// TestFileReplacedDuringIngestion: by renaming another one, as careful programs do. The
// scores are those of the file that is there in the end.
func TestFileReplacedDuringIngestion(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, nil, nil)
	var once sync.Once
	hook := func(context.Context) error {
		var err error
		once.Do(func() {
			next := filepath.Join(r.dir, "next")
			if err = os.WriteFile(next, make([]byte, 5000), 0o600); err == nil {
				err = os.Rename(next, filepath.Join(r.dir, "a"))
			}
		})
		return err
	}
	r.media.hook.Store(&hook)
	assert.Equal(t, audiosearch.Ingested{Scored: 1}, r.ingest())
	scoring, err := r.Scoring(t.Context(), org, "d", "a")
	require.NoError(t, err)
	assert.Equal(t, 5*time.Second, scoring.Duration)
}

// TestVideoMovesDuringRun: it matches still, so it is scored at its new place, or named.
func TestVideoMovesDuringRun(t *testing.T) {
	r := newRig(t, nil)
	r.video("b", 5000, nil, nil)
	require.NoError(t, r.DeleteVideo(t.Context(), org, "", "d", "b"))
	r.video("a", 3000, nil, nil)
	var once sync.Once
	hook := func(ctx context.Context) (err error) {
		once.Do(func() { err = r.PutVideos(ctx, org, "", "d", audiosearch.Video{ID: "a", Path: "b"}) })
		return err
	}
	r.media.hook.Store(&hook)
	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, audiosearch.Success, run.Termination)
	assert.Len(t, run.Results, 4, "message: %q", run.Message)
}

// TestTopBehindTheEnd: the last segment is longer than the sound, and still there is
// nothing behind the end.
func TestTopBehindTheEnd(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 6500, map[int]byte{6400: 255}, nil)
	r.ingest()
	heard, err := r.Top(t.Context(), org, "d", "a", 6500*time.Millisecond, 7*time.Second, 1)
	require.NoError(t, err)
	assert.Equal(t, []audiosearch.TopClass{{Class: loud}}, heard)
}

// fakeMedia is a Media of two functions.
type fakeMedia struct {
	probe func() error
	pcm   iter.Seq2[[]float32, error]
}

func (m *fakeMedia) ID() string { return "fake/1" }

func (m *fakeMedia) Probe(context.Context, string) (sound.Info, error) {
	if m.probe == nil {
		return sound.Info{}, nil
	}
	return sound.Info{}, m.probe()
}

func (m *fakeMedia) PCM(ctx context.Context, _ string, _ int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		for block, err := range m.pcm {
			if ctx.Err() != nil || !yield(block, err) {
				return
			}
		}
	}
}

// TestBlocksWithoutSamples: they are no progress.
func TestBlocksWithoutSamples(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Stall = 500 * time.Millisecond
		o.Media = &fakeMedia{pcm: func(yield func([]float32, error) bool) {
			for yield(nil, nil) {
			}
		}}
	})
	r.video("a", 1000, nil, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	in, err := r.Ingest(ctx, org, "", "d")
	require.NoError(t, err)
	require.Len(t, in.Problems, 1)
	assert.Contains(t, in.Problems[0].Message, "no progress")
}

// deafStore stores scores whatever their context says.
type deafStore struct{ audiosearch.Store }

func (d deafStore) PutScoring(ctx context.Context, org, dataset, video, path string, scoring audiosearch.Scoring, columns [][]uint16) error {
	return d.Store.PutScoring(context.WithoutCancel(ctx), org, dataset, video, path, scoring, columns)
}

// silentMedia stops in the middle, when its context ends.
type silentMedia struct {
	fakeMedia
	interrupt func()
}

func (m *silentMedia) PCM(ctx context.Context, _ string, _ int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		yield(make([]float32, 100), nil)
		m.interrupt()
		<-ctx.Done()
	}
}

// TestPartlyReadIsNotStored: a Media that ends without a word when its context does has
// not read the file.
func TestPartlyReadIsNotStored(t *testing.T) {
	db := newMemory(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := newRigOn(t, db, deafStore{db.AudioSearch().Store}, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Media = &silentMedia{interrupt: cancel}
	})
	r.video("a", 1000, nil, nil)
	_, err := r.Ingest(ctx, org, "", "d")
	require.Error(t, err)
	_, err = r.Scoring(t.Context(), org, "d", "a")
	require.ErrorIs(t, err, audiosearch.ErrNotScored)
}

// TestSamplesThatAreNoNumbers: the file is broken, not the scorer.
func TestSamplesThatAreNoNumbers(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Media = &fakeMedia{pcm: func(yield func([]float32, error) bool) { yield([]float32{0, float32(math.NaN())}, nil) }}
	})
	r.video("a", 1000, nil, nil)
	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, audiosearch.Success, run.Termination, run.Message)
}

// fakeFiles finds each video at the same place.
type fakeFiles string

func (f fakeFiles) Local(context.Context, string, string) (string, func(), error) {
	return string(f), func() {}, nil
}

// TestProbedBeforeRead: a kind of file that nobody reads is refused before all of it is
// read for its digest, again in each search.
func TestProbedBeforeRead(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Files = fakeFiles(t.TempDir()) // a folder cannot be read
		o.Media = &fakeMedia{probe: func() error { return sound.ErrFormat }}
	})
	r.video("a", 1000, nil, nil)
	in := r.ingest()
	require.Len(t, in.Problems, 1)
	assert.Contains(t, in.Problems[0].Message, "files of this kind")
}

// TestMediaNamesFolders: what users see names no folder, whatever a Media says.
func TestMediaNamesFolders(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Media = &fakeMedia{probe: func() error {
			_, err := os.Open("/srv/secret/place/a.mp4")
			return fmt.Errorf("cannot read: %w", err)
		}}
	})
	r.video("a", 1000, nil, nil)
	run := r.search(audiosearch.Query{Class: loud})
	assert.NotContains(t, run.Message, "secret")
}

// TestVideoMessage: a message says nothing of the package, wherever a Media broke its
// line.
func TestVideoMessage(t *testing.T) {
	for _, text := range []string{"it is cut", "audiosearch: it is cut", "\naudiosearch:\n\tit is cut\n"} {
		r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
			o.Media = &fakeMedia{probe: func() error { return errors.New(text) }}
		})
		r.video("a", 1000, nil, nil)
		assert.Equal(t, []audiosearch.VideoProblem{{Video: "a", Message: "it is cut"}}, r.ingest().Problems, "%q", text)
	}
}

// TestFileThatCannotBeRead: its problem names no folder, and may be over the next time.
func TestFileThatCannotBeRead(t *testing.T) {
	folder := t.TempDir() // of which nobody has a digest
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Files = fakeFiles(folder)
		o.Media = &fakeMedia{pcm: func(yield func([]float32, error) bool) { yield(make([]float32, 10), nil) }}
	})
	r.video("a", 1000, nil, nil)
	in := r.ingest()
	require.Len(t, in.Problems, 1)
	assert.Contains(t, in.Problems[0].Message, "the file cannot be read")
	assert.NotContains(t, in.Problems[0].Message, folder)
	_, err := r.Scoring(t.Context(), org, "d", "a")
	assert.ErrorIs(t, err, audiosearch.ErrNotScored, "nothing is kept of it")
}
