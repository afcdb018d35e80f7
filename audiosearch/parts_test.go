package audiosearch_test

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// another returns another service over the same store, folder and media, as a process
// that was started after this one.
func (r *rig) another(change func(*audiosearch.Options), scorers ...sound.Scorer) *audiosearch.Service {
	r.t.Helper()
	opts := &audiosearch.Options{
		Scorers: scorers, Media: r.media, Files: mustFolder(r.t, r.dir), Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)},
	}
	if change != nil {
		change(opts)
	}
	s, err := audiosearch.New(r.db.AudioSearch(), opts)
	require.NoError(r.t, err)
	return s
}

// A part of the rig's model has 6 segments: 4 s of sound, in whole batches of 3.
const (
	partLength  = 4 * time.Second
	partWindows = 6
)

func inParts(o *audiosearch.Options) { o.Part = partLength }

func newPartRig(t *testing.T) *rig {
	t.Helper()
	return newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { inParts(o) })
}

// noise is a file of so many milliseconds.
func noise(length int, seed uint64) []byte {
	b := make([]byte, length)
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// scores returns all scores of a video by a model.
func scores(t *testing.T, db *memory.DB, video, model string) [][]uint16 {
	t.Helper()
	rows, err := db.AudioSearch().Store.WindowScores(t.Context(), org, "d", video, model, 0, 1<<30)
	require.NoError(t, err)
	return rows
}

// TestPartsOutliveTheProcess: wherever the scoring of a long video is cut off, the next
// process scores what is not stored yet, in the same batches, and the scores are the
// same.
func TestPartsOutliveTheProcess(t *testing.T) {
	for _, length := range []int{29_500, 24_000, 25_000, 7000, 6000} {
		for _, cut := range []bool{false, true} {
			content := noise(length, uint64(length))
			if copy(content, "___"); cut {
				copy(content, "CUT")
			}
			whole := newPartRig(t)
			whole.file("a", content, nil)
			whole.ingest()
			want, calls := scores(t, whole.db, "a", "volume/1"), int(whole.scorer.calls.Load())
			for good := range calls {
				r := newPartRig(t)
				r.file("a", content, nil)
				dies := func(context.Context) error {
					if int(r.scorer.calls.Load()) > good {
						return errBroken
					}
					return nil
				}
				r.scorer.hook.Store(&dies)
				_, err := r.Ingest(t.Context(), org, "", "d")
				require.ErrorIs(t, err, errBroken)
				_, err = r.Scoring(t.Context(), org, "d", "a")
				require.ErrorIs(t, err, audiosearch.ErrNotScored, "nobody sees parts")

				next := new(volume)
				in, err := r.another(inParts, next).Ingest(t.Context(), org, "", "d")
				require.NoError(t, err)
				require.Equal(t, 1, in.Scored)
				require.Equal(t, want, scores(t, r.db, "a", "volume/1"))
				stored := min(3*good, len(want)/3*3) / partWindows * partWindows
				require.EqualValues(t, len(want)-stored, next.clips.Load(), "%d ms, after %d batches", length, good)
			}
		}
	}
}

// TestPartsOfTwoProcesses: who finds that another one is ahead goes on behind it.
func TestPartsOfTwoProcesses(t *testing.T) {
	r := newPartRig(t)
	r.file("a", noise(40_000, 1), nil)
	ahead := new(volume)
	other := r.another(inParts, ahead)
	var once atomic.Bool
	hook := func(context.Context) error {
		if r.scorer.calls.Load() == 3 && once.CompareAndSwap(false, true) {
			stop := func(context.Context) error {
				if ahead.clips.Load() >= 30 {
					return errBroken
				}
				return nil
			}
			ahead.hook.Store(&stop)
			// It leaves segments 6 to 35 behind.
			_, err := other.Ingest(t.Context(), org, "", "d")
			assert.ErrorIs(t, err, errBroken)
		}
		return nil
	}
	r.scorer.hook.Store(&hook)
	r.ingest()
	assert.EqualValues(t, 2*partWindows+3, r.scorer.clips.Load(), "its first two parts, and the end")

	whole := newPartRig(t)
	whole.file("a", noise(40_000, 1), nil)
	whole.ingest()
	assert.Equal(t, scores(t, whole.db, "a", "volume/1"), scores(t, r.db, "a", "volume/1"))
}

// TestPartsOfOneThatIsOvertaken: who finds that another one has scored all of the file
// takes its scores, whether it wants to store a part or the end.
func TestPartsOfOneThatIsOvertaken(t *testing.T) {
	for batch := range 7 { // of the 19 segments
		r := newPartRig(t)
		r.file("a", noise(20_000, 1), nil)
		other := r.another(inParts, new(volume))
		hook := func(context.Context) error {
			if int(r.scorer.calls.Load()) == batch+1 {
				in, err := other.Ingest(t.Context(), org, "", "d")
				assert.NoError(t, err)
				assert.Equal(t, audiosearch.Ingested{Scored: 1}, in)
			}
			return nil
		}
		r.scorer.hook.Store(&hook)
		in, err := r.Ingest(t.Context(), org, "", "d")
		require.NoError(t, err)
		want := audiosearch.Ingested{Unchanged: 1}
		if batch < 2 { // it has not stored anything yet, so that it stores all anew
			want = audiosearch.Ingested{Scored: 1}
		}
		require.Equal(t, want, in, "overtaken at batch %d", batch)
		require.Len(t, scores(t, r.db, "a", "volume/1"), 19)
	}
}

// TestPartsOfAnotherFile: what was scored of the file before is of no use.
func TestPartsOfAnotherFile(t *testing.T) {
	r := newPartRig(t)
	r.file("a", noise(20_000, 1), nil)
	dies := func(context.Context) error {
		if r.scorer.calls.Load() > 3 {
			return errBroken
		}
		return nil
	}
	r.scorer.hook.Store(&dies)
	_, err := r.Ingest(t.Context(), org, "", "d")
	require.ErrorIs(t, err, errBroken)
	r.scorer.hook.Store(nil)
	r.scorer.clips.Store(0)
	r.file("a", noise(20_000, 2), nil)
	r.ingest()
	assert.EqualValues(t, 19, r.scorer.clips.Load())

	whole := newPartRig(t)
	whole.file("a", noise(20_000, 2), nil)
	whole.ingest()
	assert.Equal(t, scores(t, whole.db, "a", "volume/1"), scores(t, r.db, "a", "volume/1"))
}

// TestPartsOfAModelThatChanges: a part that nobody knows which model has scored is not
// stored.
func TestPartsOfAModelThatChanges(t *testing.T) {
	r := newPartRig(t)
	r.file("a", noise(20_000, 1), nil)
	other := "volume/2"
	hook := func(context.Context) error {
		if r.scorer.calls.Load() == 2 {
			r.scorer.id.Store(&other)
		}
		return nil
	}
	r.scorer.hook.Store(&hook)
	_, err := r.Ingest(t.Context(), org, "", "d")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	stored, err := r.db.AudioSearch().Store.Parts(t.Context(), org, "d", audiosearch.Part{
		Video: "a", Path: "a", Model: "volume/1", Digest: digestOf(noise(20_000, 1)), Window: 2 * time.Second, Hop: time.Second,
		Classes: []sound.Class{loud, quiet},
	})
	require.NoError(t, err)
	assert.Zero(t, stored)
}

// TestPartsOfAMovedVideo: the scoring ends as soon as a part cannot be stored, and the
// next look at the dataset finds the video where it is.
func TestPartsOfAMovedVideo(t *testing.T) {
	r := newPartRig(t)
	r.file("b", noise(20_000, 1), nil)
	r.file("a", noise(20_000, 1), nil)
	require.NoError(t, r.DeleteVideo(t.Context(), org, "", "d", "b"))
	var once atomic.Bool
	hook := func(context.Context) error {
		if once.CompareAndSwap(false, true) {
			return r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: "b"})
		}
		return nil
	}
	r.scorer.hook.Store(&hook)
	found, err := r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud, Limit: 100})
	require.NoError(t, err)
	assert.Len(t, found.Results, 19)
	assert.Equal(t, "b", found.Results[0].Path)
	assert.EqualValues(t, partWindows+19, r.scorer.clips.Load())
}

// TestShortVideosHaveNoParts: they are stored in one step, as ever.
func TestShortVideosHaveNoParts(t *testing.T) {
	db := newMemory(t)
	store := &countedStore{Store: db.AudioSearch().Store}
	r := newRigOn(t, db, store, nil)
	r.file("a", bytes.Repeat([]byte{1}, 60_000), nil)
	r.ingest()
	assert.Zero(t, store.calls["Parts"]+store.calls["PutPart"])
	assert.Equal(t, 1, store.calls["PutScoring"])
}
