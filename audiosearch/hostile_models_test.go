package audiosearch_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// dyingAfter is a hook that lets so many batches be scored.
func dyingAfter(v *volume, batches int64) *func(context.Context) error {
	hook := func(context.Context) error {
		if v.calls.Load() > batches {
			return errBroken
		}
		return nil
	}
	return &hook
}

// strange is a Media that does something before it decodes, and may decode less than
// there is.
type strange struct {
	*bytesMedia
	before func()
	most   int // blocks; 0: all
}

func (o *strange) PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		if o.before != nil {
			o.before()
		}
		n := 0
		for block, err := range o.bytesMedia.PCM(ctx, path, rate) {
			if n++; o.most > 0 && n > o.most || !yield(block, err) {
				return
			}
		}
	}
}

// TestPartsOfAFileThatWasAnotherOne: the file was another one while its first part was
// scored, and then the process ended. When the file is the first one again, that part is
// not its.
func TestPartsOfAFileThatWasAnotherOne(t *testing.T) {
	first, other := noise(20_000, 1), make([]byte, 20_001)
	media := &strange{bytesMedia: new(bytesMedia)}
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		inParts(o)
		o.Media = media
	})
	r.file("a", first, nil)
	path := filepath.Join(r.dir, "a")
	media.before = func() { assert.NoError(t, os.WriteFile(path, other, 0o600)) }
	r.scorer.hook.Store(dyingAfter(r.scorer, 3))
	_, _ = r.Ingest(t.Context(), org, "", "d") // the process ends after a part at the latest

	media.before = nil
	r.scorer.hook.Store(nil)
	r.file("a", first, nil)
	r.ingest()
	whole := newPartRig(t)
	whole.file("a", first, nil)
	whole.ingest()
	assert.Equal(t, scores(t, whole.db, "a", "volume/1"), scores(t, r.db, "a", "volume/1"))
}

// TestPartsOfALongerDecoding: a file from which less is decoded than before, as by
// another version of a decoder, is scored without its parts.
func TestPartsOfALongerDecoding(t *testing.T) {
	r := newPartRig(t)
	content := noise(20_000, 1)
	r.file("a", content, nil)
	r.scorer.hook.Store(dyingAfter(r.scorer, 5))
	_, err := r.Ingest(t.Context(), org, "", "d")
	require.ErrorIs(t, err, errBroken)
	r.scorer.hook.Store(nil)

	less := func(o *audiosearch.Options) {
		inParts(o)
		o.Media = &strange{bytesMedia: new(bytesMedia), most: 10}
	}
	in, err := r.another(less, r.scorer).Ingest(t.Context(), org, "", "d")
	require.NoError(t, err)
	assert.Equal(t, audiosearch.Ingested{Scored: 1}, in)
	whole := newPartRig(t)
	whole.file("a", content[:7000], nil)
	whole.ingest()
	assert.Equal(t, scores(t, whole.db, "a", "volume/1"), scores(t, r.db, "a", "volume/1"))
}

// TestClassesChangeMeanwhile: a scorer that has other classes by the same ID has another
// model.
func TestClassesChangeMeanwhile(t *testing.T) {
	scorer := &turning{flat: newFlat("f", "1", "Loud", "Quiet")}
	r := newScorerRig(t, scorer)
	r.video("a", 4000, nil, nil)
	_, err := r.Ingest(t.Context(), org, "", "d")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	r.ingest()
	assert.InDelta(t, 1, r.find(r.Service, audiosearch.Query{Class: "Quiet"}).Results[0].Score, 0.001)
}

// turning is a flat whose classes change their order when it scores.
type turning struct {
	*flat
	turned atomic.Bool
}

func (s *turning) Model(ctx context.Context) (sound.Model, error) {
	m, err := s.flat.Model(ctx)
	if s.turned.Load() {
		m.Classes = []sound.Class{m.Classes[1], m.Classes[0]}
	}
	return m, err
}

func (s *turning) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	s.turned.Store(true)
	return s.flat.Score(ctx, clips)
}

// TestModelChangesToAndFro: behind a balancer are servers with two versions of a model,
// and each question is answered by one of them. What the other version has scored is not
// stored under the name of the one that answers in the end.
func TestModelChangesToAndFro(t *testing.T) {
	for _, part := range []bool{false, true} {
		r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
			if part {
				inParts(o)
			}
		})
		r.file("a", noise(20_000, 1), nil)
		one, other := "volume/1", "volume/2"
		asked := func(id *string) { // by others, about other videos
			r.scorer.id.Store(id)
			require.NoError(t, r.PingScorers(t.Context()))
		}
		hook := func(context.Context) error {
			switch r.scorer.calls.Load() {
			case 1:
				asked(&other)
			case 2:
				asked(&one)
			}
			return nil
		}
		r.scorer.hook.Store(&hook)
		_, err := r.Ingest(t.Context(), org, "", "d")
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		_, err = r.Scoring(t.Context(), org, "d", "a")
		require.ErrorIs(t, err, audiosearch.ErrNotScored)

		r.scorer.hook.Store(nil)
		r.scorer.calls.Store(0)
		r.ingest()
		require.EqualValues(t, 7, r.scorer.calls.Load(), "no part was kept")
	}
}

// failing is a flat that says what its model is, and cannot score.
type failing struct {
	*flat
	how func(ctx context.Context) error
}

func (s *failing) Score(ctx context.Context, _ [][]float32) ([]sound.Scores, error) {
	return nil, s.how(ctx)
}

// TestIngestWithAScorerThatFails: the others score, wherever it stands, and whoever asked
// hears of it.
func TestIngestWithAScorerThatFails(t *testing.T) {
	for name, how := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return errBroken },
		"a panic":  func(context.Context) error { panic(errBroken) },
		"silence":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			good := newFlat("good", "1", "Bright")
			bad := &failing{newFlat("bad", "1", "Loud"), how}
			r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
				o.Scorers = []sound.Scorer{bad, good}
				o.Stall = 50 * time.Millisecond
			})
			r.video("a", 4000, nil, nil)
			in, err := r.Ingest(t.Context(), org, "", "d")
			require.ErrorIs(t, err, mortise.ErrUnavailable)
			assert.Equal(t, audiosearch.Ingested{Scored: 1}, in)
			assert.EqualValues(t, 2, good.clips.Load())
		})
	}
}

// TestReplacedModelIsNotScoredAgain: what a replaced model lacks is not scored by it,
// because Compact would remove that again, and each search would cost the scoring of all
// videos.
func TestReplacedModelIsNotScoredAgain(t *testing.T) {
	before := newFlat("f", "1", "Old", "Loud")
	r := newRig(t, func(o *audiosearch.Options, w *audiosearch.WorkerOptions) {
		o.Scorers = []sound.Scorer{before}
		w.Sweep.KeepReplaced = time.Nanosecond
	})
	r.video("a", 4000, nil, nil)
	r.ingest()
	_, err := r.another(nil, newFlat("f", "2", "Loud")).Ingest(t.Context(), org, "", "d")
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"f/1": false, "f/2": true}, r.models())
	for range 3 {
		assert.Len(t, r.find(r.Service, audiosearch.Query{Class: "Loud"}).Results, 2)
		for _, model := range []string{"", "f/1"} {
			_, _ = r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: "Old", Model: model})
		}
		_, err := r.sweeper.RunOnce(t.Context())
		require.NoError(t, err)
	}
	assert.EqualValues(t, 2, before.clips.Load())
	_, err = r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: "Old"})
	require.ErrorContains(t, err, "UseModel")
}

// TestRenewingLooksAtWhatIsMissing: a video that the new model cannot score now keeps it
// from taking over. Each search makes another attempt at it, and at nothing else.
func TestRenewingLooksAtWhatIsMissing(t *testing.T) {
	r := newScorerRig(t, newFlat("f", "1", "Loud"))
	for _, id := range []string{"a", "b", "c"} {
		r.video(id, 4000, nil, nil)
	}
	r.ingest()
	require.NoError(t, os.Remove(filepath.Join(r.dir, "b")))
	files := &countedFiles{Files: mustFolder(t, r.dir)}
	s := r.another(func(o *audiosearch.Options) { o.Files = files }, newFlat("f", "2", "Loud"))
	w, err := audiosearch.NewSweeper(s, nil)
	require.NoError(t, err)
	for i := range 3 {
		assert.Len(t, r.find(s, audiosearch.Query{Class: "Loud"}).Results, 6)
		_, err = w.RunOnce(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 3+i, files.asked.Load())
	}
	assert.Equal(t, map[string]bool{"f/1": true, "f/2": false}, r.models())
	r.video("b", 4000, nil, nil)
	r.find(s, audiosearch.Query{Class: "Loud"})
	_, err = w.RunOnce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"f/1": false, "f/2": true}, r.models())
}

// countedFiles counts the files that were asked for.
type countedFiles struct {
	sound.Files
	asked atomic.Int64
}

func (f *countedFiles) Local(ctx context.Context, org, path string) (string, func(), error) {
	f.asked.Add(1)
	return f.Files.Local(ctx, org, path)
}
