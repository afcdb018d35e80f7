package audiosearch_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// The rig's model: a batch has 4000 samples, and each takes 3000 new ones after the
// first.
const batchSamples, batchStep = 4000, 3000

// held is a hook that says when it is called, and waits until it is let on.
type held struct{ called, on chan struct{} }

func hold(r *rig) *held {
	h := &held{make(chan struct{}), make(chan struct{})}
	hook := func(ctx context.Context) error {
		select {
		case h.called <- struct{}{}:
			<-h.on
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.scorer.hook.Store(&hook)
	return h
}

// noMore lets all calls on, until called is closed.
func (h *held) noMore() {
	for range h.called {
	}
}

// TestDecodesAhead: while the scorer has a batch, as many samples are decoded as one has,
// and no more; they are there when the scorer is done.
func TestDecodesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		const length = 40_000
		r.file("a", noise(length, 1), nil)
		blocks := 0
		hook := func(context.Context) error { blocks++; return nil }
		r.media.hook.Store(&hook)
		h := hold(r)
		came := make(chan audiosearch.Ingested)
		go func() { came <- r.ingest() }()
		for given := batchSamples; given <= length; given += batchStep {
			<-h.called
			synctest.Wait()
			const block = 700
			decoded := min((given+batchSamples)/block+1, (length+block-1)/block)
			require.Equal(t, decoded, blocks, "the one that does not fit is decoded too")
			h.on <- struct{}{}
		}
		close(h.on) // for what is left of the sound
		go h.noMore()
		assert.Equal(t, audiosearch.Ingested{Scored: 1}, <-came)
		close(h.called)
	})
}

// ending is how a Media ends after 6000 samples, and what comes of it.
type ending struct {
	how     func(yield func([]float32, error) bool)
	problem string // "": there is none
	clips   int64  // that are scored before
	err     string // of the service
}

var endings = map[string]ending{
	"the end":     {func(func([]float32, error) bool) {}, "", 5, ""},
	"panic":       {func(func([]float32, error) bool) { panic("oh") }, "it broke the program that reads it", 3, ""},
	"Goexit":      {func(func([]float32, error) bool) { runtime.Goexit() }, "", 3, "goroutine was ended"},
	"bad":         {func(yield func([]float32, error) bool) { yield(nil, errBadFile) }, "the file is broken", 3, ""},
	"an error":    {func(yield func([]float32, error) bool) { yield(nil, errors.New("oh")) }, "oh", 3, ""},
	"incomplete":  {func(yield func([]float32, error) bool) { yield(nil, errCutFile) }, "the file is cut", 5, ""},
	"no numbers":  {func(yield func([]float32, error) bool) { yield([]float32{0, float32(math.Inf(1))}, nil) }, "no numbers", 3, ""},
	"panic after": {func(yield func([]float32, error) bool) { yield(nil, errCutFile); panic("oh") }, "it broke the program", 3, ""},
	"an error that panics": {func(yield func([]float32, error) bool) { yield(nil, (*nilError)(nil)) },
		"it broke the program", 3, ""},
	"yield after": {func(yield func([]float32, error) bool) { yield(nil, errCutFile); yield(nil, nil) }, "it broke the program", 3, ""},
	"too long": {func(yield func([]float32, error) bool) {
		for yield(make([]float32, 500), nil) {
		}
	}, "longer than 8s", 6, ""},
}

// nilError panics when its text is asked of a nil pointer.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// TestDecoderEndsMeanwhile: what becomes of a file does not depend on when its decoder
// ended: while the scorer works, or before it was called at all, or after.
func TestDecoderEndsMeanwhile(t *testing.T) {
	for name, e := range endings {
		for _, meanwhile := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var ended atomic.Bool
					var h *held
					media := &fakeMedia{pcm: func(yield func([]float32, error) bool) {
						defer ended.Store(true)
						for range 6 {
							if !yield(make([]float32, 1000), nil) {
								return
							}
						}
						if !meanwhile {
							time.Sleep(time.Second)
						}
						e.how(yield)
					}}
					r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
						o.Media, o.MaxDuration = media, 8*time.Second
					})
					r.video("a", 10, nil, nil)
					h = hold(r)
					type result struct {
						in  audiosearch.Ingested
						err error
					}
					came := make(chan result, 1)
					go func() {
						in, err := r.Ingest(t.Context(), org, "", "d")
						came <- result{in, err}
					}()
					<-h.called
					if synctest.Wait(); meanwhile {
						assert.Equal(t, name != "too long", ended.Load(), "or else it is held by the bound")
					}
					close(h.on)
					go h.noMore()
					got := <-came
					close(h.called)
					assert.True(t, ended.Load())
					assert.Equal(t, e.clips, r.scorer.clips.Load())
					if e.err != "" {
						require.ErrorContains(t, got.err, e.err)
						return
					}
					require.NoError(t, got.err)
					if e.problem == "" {
						assert.Equal(t, audiosearch.Ingested{Scored: 1}, got.in)
						return
					}
					require.Len(t, got.in.Problems, 1)
					assert.Contains(t, got.in.Problems[0].Message, e.problem)
				})
			})
		}
	}
}

// TestSameBatches: the clips and the batches are those of the sound and of the model,
// whoever is faster, and however long the blocks are, which the Media overwrites.
func TestSameBatches(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			heard := make([]float32, 1+random.IntN(60_000))
			for i := range heard {
				heard[i] = random.Float32()
			}
			decoding, scoring := random.IntN(20), random.IntN(20)
			pace := rand.New(rand.NewPCG(seed, 2)) // of the other goroutine
			media := &fakeMedia{pcm: func(yield func([]float32, error) bool) {
				block := make([]float32, 3*batchSamples)
				for rest := heard; len(rest) > 0; {
					time.Sleep(time.Duration(pace.IntN(1 + decoding)))
					n := copy(block[:1+pace.IntN(1<<(1+pace.IntN(13)))], rest)
					if rest = rest[n:]; !yield(block[:n], nil) || pace.IntN(5) == 0 && !yield(nil, nil) {
						return
					}
					for i := range block {
						block[i] = -1
					}
				}
			}}
			scorer := &recorder{pace: func() { time.Sleep(time.Duration(random.IntN(1 + scoring))) }}
			r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
				inParts(o)
				o.Media, o.Scorers = media, []sound.Scorer{scorer}
			})
			r.video("a", 10, nil, nil)
			assert.Equal(t, audiosearch.Ingested{Scored: 1}, r.ingest())
			assert.Equal(t, batchesOf(heard), scorer.batches)
		})
	}
}

// recorder keeps what it is given, and looks at it again after a while.
type recorder struct {
	volume
	pace    func()
	batches [][][]float32
}

func (s *recorder) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	var batch [][]float32
	for _, clip := range clips {
		batch = append(batch, slices.Clone(clip))
	}
	s.pace()
	for i, clip := range clips {
		if !slices.Equal(batch[i], clip) {
			return nil, errors.New("the clips were changed during the call")
		}
	}
	s.batches = append(s.batches, batch)
	return s.volume.Score(ctx, clips)
}

// batchesOf cuts sound as the rig's model wants it.
func batchesOf(sound []float32) [][][]float32 {
	var clips [][]float32
	at := 0
	for ; at+2000 <= len(sound); at += 1000 {
		clips = append(clips, sound[at:at+2000])
	}
	batches := slices.Collect(slices.Chunk(clips, 3))
	if at == 0 || at+1000 < len(sound) {
		batches = append(batches, [][]float32{sound[at:]})
	}
	return batches
}
