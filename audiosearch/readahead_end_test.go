package audiosearch_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

const (
	testStall = time.Minute
	testGrace = 5 * time.Second
)

// endRig has a Media of one function, which sees its context. It notes in order when the
// decoder ends, and when the file is released.
type endRig struct {
	*rig
	began time.Time
	noted chan string
	errs  chan error
	cut   context.CancelFunc
}

type pcmFunc func(ctx context.Context, yield func([]float32, error) bool)

type endMedia struct {
	fakeMedia
	pcm   pcmFunc
	noted chan string
}

func (m *endMedia) PCM(ctx context.Context, _ string, _ int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		defer func() { m.noted <- "the decoder ended" }()
		m.pcm(ctx, yield)
	}
}

type endFiles struct {
	sound.Files
	noted chan string
}

func (f *endFiles) Local(ctx context.Context, org, path string) (string, func(), error) {
	file, release, err := f.Files.Local(ctx, org, path)
	return file, func() { f.noted <- "released"; release() }, err
}

// newEndRig begins to ingest a file that pcm decodes and score scores.
func newEndRig(t *testing.T, pcm pcmFunc, score func(ctx context.Context) error) *endRig {
	t.Helper()
	r := &endRig{noted: make(chan string, 10), errs: make(chan error, 1), began: time.Now()}
	r.rig = newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Stall, o.Grace = testStall, testGrace
		o.Media = &endMedia{pcm: pcm, noted: r.noted}
		o.Files = &endFiles{o.Files, r.noted}
	})
	r.scorer.hook.Store(&score)
	r.video("a", 10, nil, nil)
	var ctx context.Context
	ctx, r.cut = context.WithCancel(t.Context())
	go func() {
		in, err := r.Ingest(ctx, org, "", "d")
		if err == nil && len(in.Problems) > 0 {
			err = errors.New("problem: " + in.Problems[0].Message)
		}
		r.errs <- err
	}()
	return r
}

// ends checks how it ended, and when, and that the file was released after its decoder.
func (r *endRig) ends(want string, after time.Duration) {
	r.t.Helper()
	err := <-r.errs
	assert.Equal(r.t, after, time.Since(r.began))
	if want == "" {
		require.NoError(r.t, err)
	} else {
		require.ErrorContains(r.t, err, want)
	}
	r.cut()
	assert.Equal(r.t, "the decoder ended", <-r.noted)
	assert.Equal(r.t, "released", <-r.noted)
}

func yields(yield func([]float32, error) bool, samples int) bool {
	return yield(make([]float32, samples), nil)
}

func hears(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func takes(d time.Duration) func(context.Context) error {
	return func(context.Context) error { time.Sleep(d); return nil }
}

// TestWhoStandsStill: the decoder is not blamed for the scorer's time, nor the scorer for
// the decoder's.
func TestWhoStandsStill(t *testing.T) {
	const long = testStall * 9 / 10
	const stalled, away = "problem: reading it showed no progress", "the scorer failed"
	for name, test := range map[string]struct {
		pcm   pcmFunc
		score func(ctx context.Context) error
		want  string
		after time.Duration
	}{
		"a decoder that is far enough ahead": {func(_ context.Context, yield func([]float32, error) bool) {
			for range 40 {
				yields(yield, 1000)
			}
		}, takes(long), "", 13 * long},
		"a decoder while the scorer works, and then": {func(ctx context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			_ = hears(ctx)
		}, takes(long), stalled, long + testStall},
		"a decoder while the scorer works": {func(_ context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			time.Sleep(long + testStall - 1)
			yields(yield, 1000)
		}, takes(long), "", 2*long + testStall - 1},
		"a decoder that hears nothing": {func(_ context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			time.Sleep(time.Hour)
		}, takes(long), stalled, long + testStall + testGrace},
		"the scorer while blocks come": {func(_ context.Context, yield func([]float32, error) bool) {
			for yields(yield, batchSamples) {
				time.Sleep(testStall / 3)
			}
		}, hears, away, testStall},
		"the scorer while small blocks come": {func(ctx context.Context, yield func([]float32, error) bool) {
			for yields(yield, batchSamples/2) && ctx.Err() == nil {
				time.Sleep(testStall / 3)
			}
		}, hears, away, testStall + testStall/3},
		"both": {func(ctx context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			_ = hears(ctx)
		}, hears, away, testStall},
		"both, and neither hears": {func(_ context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			time.Sleep(time.Hour)
		}, takes(time.Hour), away, testStall + testGrace},
		"both, and the scorer hears": {func(_ context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			time.Sleep(time.Hour)
		}, hears, away, testStall + testGrace},
		"the scorer panics meanwhile": {func(ctx context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			_ = hears(ctx)
		}, func(context.Context) error { time.Sleep(time.Second); panic("oh") }, away, time.Second},
		"the scorer fails, and the decoder hears": {func(ctx context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			_ = hears(ctx)
		}, func(context.Context) error { return errBroken }, errBroken.Error(), 0},
		"the scorer fails, and the decoder hears late": {func(_ context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			time.Sleep(testGrace - 1)
		}, func(context.Context) error { return errBroken }, errBroken.Error(), testGrace - 1},
		"the scorer fails, and the decoder hears nothing": {func(_ context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			time.Sleep(time.Hour)
		}, func(context.Context) error { return errBroken }, stalled, 2 * testGrace},
		"the scorer fails, and the decoder panics": {func(ctx context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			_ = hears(ctx)
			panic("oh")
		}, func(context.Context) error { return errBroken }, errBroken.Error(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(3 * time.Hour) // what was left behind ends
				newEndRig(t, test.pcm, test.score).ends(test.want, test.after)
			})
		})
	}
}

// TestCancelledMeanwhile: wherever the two are, both end, and then the file is released.
func TestCancelledMeanwhile(t *testing.T) {
	const late = testGrace - 1
	quick := func(context.Context) error { return nil }
	waits := func(ctx context.Context, yield func([]float32, error) bool) {
		yields(yield, batchSamples)
		_ = hears(ctx)
		yield(nil, ctx.Err())
	}
	endless := func(_ context.Context, yield func([]float32, error) bool) {
		for yields(yield, 1000) {
		}
	}
	for name, test := range map[string]struct {
		pcm   pcmFunc
		score func(ctx context.Context) error
		after time.Duration
	}{
		"the scorer works, the decoder does":         {waits, hears, 0},
		"the scorer works, the decoder is far ahead": {endless, hears, 0},
		"the scorer works, the decoder has ended": {func(_ context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
		}, hears, 0},
		"the scorer waits, the decoder works": {waits, quick, 0},
		"the decoder hears late": {func(ctx context.Context, yield func([]float32, error) bool) {
			_ = hears(ctx)
			time.Sleep(late)
			yields(yield, 1000)
		}, quick, late},
		"the decoder hears nothing": {func(_ context.Context, yield func([]float32, error) bool) {
			yields(yield, batchSamples)
			time.Sleep(time.Hour)
		}, hears, testGrace},
		"the scorer hears late": {endless, func(ctx context.Context) error {
			_ = hears(ctx)
			time.Sleep(late)
			return nil
		}, late},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(3 * time.Hour) // what was left behind ends
				r := newEndRig(t, test.pcm, test.score)
				synctest.Wait()
				r.cut()
				r.ends(context.Canceled.Error(), test.after)
				assert.LessOrEqual(t, r.scorer.clips.Load(), int64(3), "no batch after the first")
			})
		})
	}
}
