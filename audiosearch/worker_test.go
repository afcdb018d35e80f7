package audiosearch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

var errBroken = errors.New("broken at /secret/place")

// TestScorerFails: other attempts follow, and the last one ends the run; or there is a
// good one, and nothing is lost.
func TestScorerFails(t *testing.T) {
	for name, test := range map[string]struct {
		failures int64
		err      error
		attempts int
		how      audiosearch.Termination
	}{
		"once":          {1, errBroken, 2, audiosearch.Success},
		"always":        {1000, errBroken, 8, audiosearch.InternalError},
		"for good":      {1, sound.Permanent(errBroken), 1, audiosearch.InternalError},
		"by a panic":    {1, nil, 2, audiosearch.Success},
		"always panics": {1000, nil, 8, audiosearch.InternalError},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.video("a", 5000, map[int]byte{2500: 255}, nil)
			var calls atomic.Int64
			hook := func(context.Context) error {
				if calls.Add(1) > test.failures {
					return nil
				}
				if test.err == nil {
					panic(errBroken)
				}
				return test.err
			}
			r.scorer.hook.Store(&hook)
			run := r.search(audiosearch.Query{Class: loud})
			assert.Equal(t, []any{audiosearch.StateTerminated, test.how, test.attempts}, []any{run.State, run.Termination, run.Attempts})
			if test.how == audiosearch.Success {
				assert.Len(t, run.Results, 4)
				assert.EqualValues(t, 1, run.Results[0].Score)
			} else {
				assert.Empty(t, run.Results)
				assert.Contains(t, run.Message, "log", "it says what to do")
				assert.NotContains(t, run.Message, "secret", "what the scorer says is for the operator")
			}
			assert.Equal(t, test.attempts-1, r.kinds()[mortise.KindRetrying])
		})
	}
}

// wrongScorer breaks the contract of Score in some way.
type wrongScorer struct {
	volume
	rows []sound.Scores
}

func (w *wrongScorer) Score(context.Context, [][]float32) ([]sound.Scores, error) {
	return w.rows, nil
}

// TestScorerBreaksItsContract: nothing wrong is stored.
func TestScorerBreaksItsContract(t *testing.T) {
	nan := float32(0)
	nan /= nan
	for _, rows := range [][]sound.Scores{nil, {{0, 0}, {0, 0}}, {{0}}, {{0, 0, 0}}, {{0, 2}}, {{-1, 0}}, {{0, nan}}} {
		r := newRig(t, nil)
		r.video("a", 1000, nil, nil)
		s, err := audiosearch.New(r.db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{&wrongScorer{rows: rows}}, Media: r.media, Files: mustFolder(t, r.dir)})
		require.NoError(t, err)
		_, err = s.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		_, err = s.Scoring(t.Context(), org, "d", "a")
		require.ErrorIs(t, err, audiosearch.ErrNotScored)
	}
}

func mustFolder(t *testing.T, dir string) *folder.Folder {
	t.Helper()
	f, err := folder.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// TestHangs: a scorer that hangs costs an attempt, a file that hangs costs a video.
func TestHangs(t *testing.T) {
	patient := func(o *audiosearch.Options, w *audiosearch.WorkerOptions) {
		o.Stall, o.Grace, w.MaxAttempts = 50*time.Millisecond, 10*time.Millisecond, 2
	}
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	deafen := make(chan struct{})
	defer close(deafen)
	deaf := func(context.Context) error {
		<-deafen
		return nil
	}
	for name, hook := range map[string]func(context.Context) error{"hears": hang, "deaf": deaf} {
		r := newRig(t, patient)
		r.video("a", 5000, nil, nil)
		r.scorer.hook.Store(&hook)
		run := r.search(audiosearch.Query{Class: loud})
		assert.Equal(t, []any{audiosearch.InternalError, 2}, []any{run.Termination, run.Attempts}, name)

		r = newRig(t, patient)
		r.video("a", 5000, nil, nil)
		r.media.hook.Store(&hook)
		run = r.search(audiosearch.Query{Class: loud})
		assert.Equal(t, []any{audiosearch.Success, 1}, []any{run.Termination, run.Attempts}, name)
		assert.Contains(t, run.Message, `1 of 1 videos could not be searched. "a": reading it showed no progress for too long`, name)
	}
}

// TestWorkerDies: attempts are counted when they begin, so a run that kills its workers
// is given up.
func TestWorkerDies(t *testing.T) {
	r := newRig(t, nil)
	id := r.start(audiosearch.Query{Class: loud})
	require.NoError(t, r.db.AudioSearch().Store.UpdateRun(t.Context(), org, id, func(run *audiosearch.Run) error {
		run.State, run.Attempts = audiosearch.StateRunning, 8
		return nil
	}))
	r.drain(1)
	run := r.results(id)
	assert.Equal(t, []any{audiosearch.StateTerminated, audiosearch.InternalError, 8}, []any{run.State, run.Termination, run.Attempts})
	assert.Contains(t, run.Message, "worker died")
}

// TestShutdown: an attempt that a shutdown cuts off does not count, and the next worker
// carries on.
func TestShutdown(t *testing.T) {
	r := newRig(t, func(_ *audiosearch.Options, w *audiosearch.WorkerOptions) { w.Drain = time.Millisecond })
	r.video("a", 5000, nil, nil)
	reached := make(chan struct{}, 1)
	hook := func(ctx context.Context) error {
		reached <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	r.media.hook.Store(&hook)
	id := r.start(audiosearch.Query{Class: loud})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.worker.Run(ctx) }()
	<-reached
	cancel()
	require.NoError(t, <-ended)
	run := r.results(id)
	assert.Equal(t, []any{audiosearch.StateQueued, 0}, []any{run.State, run.Attempts})
	r.media.hook.Store(nil)
	r.drain(10)
	assert.Len(t, r.results(id).Results, 4)
}

// TestDatasetDeletedMeanwhile: the run ends, and says so.
func TestDatasetDeletedMeanwhile(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 5000, nil, nil)
	id := r.start(audiosearch.Query{Class: loud})
	require.NoError(t, r.DeleteDataset(t.Context(), org, "", "d"))
	r.drain(10)
	run, err := r.db.AudioSearch().Store.Run(t.Context(), org, id)
	require.NoError(t, err)
	assert.Equal(t, []any{audiosearch.ClientError, "The dataset was deleted while the search ran."}, []any{run.Termination, run.Message})
}

// TestModelChangedMeanwhile: searches read the old scores until the new model has scored
// all that the old one has.
func TestModelChangedMeanwhile(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 5000, map[int]byte{10: 255}, nil)
	r.search(audiosearch.Query{Class: loud})
	calls := r.scorer.calls.Load()
	other := "volume/2"
	r.scorer.id.Store(&other)
	run := r.search(audiosearch.Query{Class: loud})
	assert.Len(t, run.Results, 4)
	assert.Empty(t, run.Message, "nothing is left out")
	assert.Equal(t, calls, r.scorer.calls.Load(), "by the old model, at once")
	_, err := r.sweeper.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2*calls, r.scorer.calls.Load())
	assert.Equal(t, map[string]bool{"volume/1": false, "volume/2": true}, r.models())
	assert.Len(t, r.search(audiosearch.Query{Class: loud}).Results, 4)
	assert.Equal(t, 2*calls, r.scorer.calls.Load())
}

// TestRunsShareTheWork: runs that need the same videos share the work.
func TestRunsShareTheWork(t *testing.T) {
	r := newRig(t, nil)
	for _, id := range []string{"a", "b", "c"} {
		r.video(id, 5000, nil, nil)
	}
	for range 4 {
		r.start(audiosearch.Query{Class: loud})
	}
	all := make(chan struct{})
	hook := func(ctx context.Context) error { // nobody gets on before all four run
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.media.hook.Store(&hook)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.worker.Run(ctx) }()
	require.Eventually(t, func() bool { return r.kinds()[mortise.KindStarted] == 4 }, time.Minute, time.Millisecond)
	close(all)
	require.Eventually(t, func() bool { return r.kinds()[mortise.KindTerminated] == 4 }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	assert.Equal(t, 3, r.kinds()[mortise.KindIngested])
}
