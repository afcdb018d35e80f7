package excerpt_test

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/excerpt"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/spectrogram"
	"github.com/seed-6363c74e/mortise/audiosearch/synth"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// rig is a service with a video of 12 s, whose segments begin at 0 and 2 s.
type rig struct {
	t       *testing.T
	dir     string
	files   *folder.Folder
	media   sound.Media
	service *audiosearch.Service
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir()}
	r.record(440)
	var err error
	r.files, err = folder.Open(r.dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.files.Close() })
	r.media = wav.Media{}
	scorer, err := signal.New(nil)
	require.NoError(t, err)
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	r.service, err = audiosearch.New(db.AudioSearch(), &audiosearch.Options{
		Scorers: []sound.Scorer{scorer}, Media: r.media, Files: r.files,
	})
	require.NoError(t, err)
	_, err = r.service.EnsureDataset(t.Context(), "acme", "", "d")
	require.NoError(t, err)
	require.NoError(t, r.service.PutVideos(t.Context(), "acme", "", "d", audiosearch.Video{ID: "v", Path: "v.wav"}))
	ingested, err := r.service.Ingest(t.Context(), "acme", "", "d")
	require.NoError(t, err)
	require.Empty(t, ingested.Problems)
	return r
}

// record writes the file, in its place. Each time it has another size.
func (r *rig) record(hz float64) {
	r.t.Helper()
	var b bytes.Buffer
	require.NoError(r.t, wav.Encode(&b, 16000, synth.Samples(16000, 1, synth.Tones(0.5, hz).For(12+hz/16000))))
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, "v.wav"), b.Bytes(), 0o600))
}

func (r *rig) maker(kind excerpt.Kind) *excerpt.Maker {
	r.t.Helper()
	m, err := excerpt.New(r.service, r.files, kind, nil)
	require.NoError(r.t, err)
	return m
}

func TestMake(t *testing.T) {
	r := newRig(t)
	sounds, spectra := r.maker(excerpt.Sounds(r.media)), r.maker(excerpt.Spectrograms(r.media))
	first, err := sounds.Make(t.Context(), "acme", "d", "v", 0, 0)
	require.NoError(t, err)
	later, err := sounds.Make(t.Context(), "acme", "d", "v", 2*time.Second, 0)
	require.NoError(t, err)
	require.NotEqual(t, first.Tag, later.Tag)
	require.Equal(t, 2*24000*2, len(first.Content)-len(later.Content), "two seconds less, of 16 bits at 24 kHz")

	picture, err := spectra.Make(t.Context(), "acme", "d", "v", 0, 10*time.Second)
	require.NoError(t, err)
	image, err := png.Decode(bytes.NewReader(picture.Content))
	require.NoError(t, err)
	require.Equal(t, spectrogram.Width, image.Bounds().Dx())

	for _, times := range [][2]time.Duration{{0, 9 * time.Second}, {1, 10*time.Second + 1}, {4 * time.Second, 14 * time.Second}, {-1, -1}} {
		_, err := spectra.Make(t.Context(), "acme", "d", "v", times[0], times[1])
		require.ErrorIs(t, err, excerpt.ErrNone, times)
	}
	_, err = sounds.Make(t.Context(), "acme", "d", "v", 0, -1)
	require.ErrorIs(t, err, excerpt.ErrNone)
	_, err = sounds.Make(t.Context(), "acme", "d", "other", 0, 0)
	require.ErrorIs(t, err, audiosearch.ErrVideoNotFound)
	_, err = sounds.Make(t.Context(), "rival", "d", "v", 0, 0)
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
}

// TestMakeOfAnotherFile: nothing is made of a file that was not scored, not even if it
// comes while it is being made. What was made before stays.
func TestMakeOfAnotherFile(t *testing.T) {
	r := newRig(t)
	has := excerpt.Sounds(r.media).Has
	made := 0
	whole := r.maker(excerpt.Kind{Has: has, Make: func(_ context.Context, file string, _, _ time.Duration) ([]byte, error) {
		made++
		return os.ReadFile(file)
	}})
	broken := r.maker(excerpt.Kind{Has: has, Make: func(context.Context, string, time.Duration, time.Duration) ([]byte, error) {
		r.record(880)
		return []byte("half of each"), nil
	}})
	before, err := whole.Make(t.Context(), "acme", "d", "v", 0, 0)
	require.NoError(t, err)
	_, err = broken.Make(t.Context(), "acme", "d", "v", 0, 0)
	require.ErrorIs(t, err, excerpt.ErrChanged)
	again, err := whole.Make(t.Context(), "acme", "d", "v", 0, 0)
	require.NoError(t, err)
	require.Equal(t, before, again)
	_, err = whole.Make(t.Context(), "acme", "d", "v", 2*time.Second, 0)
	require.ErrorIs(t, err, excerpt.ErrChanged)
	require.Equal(t, 1, made)
	_, err = r.service.Ingest(t.Context(), "acme", "", "d")
	require.NoError(t, err)
	after, err := whole.Make(t.Context(), "acme", "d", "v", 0, 0)
	require.NoError(t, err)
	require.NotEqual(t, before.Tag, after.Tag)
	require.NotEqual(t, before.Content, after.Content)
}

// TestMakeKnowsTheFile: its size and its time tell one file from another, each by itself.
func TestMakeKnowsTheFile(t *testing.T) {
	r := newRig(t)
	m := r.maker(excerpt.Sounds(r.media))
	path := filepath.Join(r.dir, "v.wav")
	info, err := os.Stat(path)
	require.NoError(t, err)
	for _, hz := range []float64{440, 880} { // of the same size, and of another
		r.record(hz)
		at := info.ModTime()
		if hz == 440 {
			at = at.Add(time.Second)
		}
		require.NoError(t, os.Chtimes(path, at, at))
		_, err = m.Make(t.Context(), "acme", "d", "v", 0, 0)
		require.ErrorIs(t, err, excerpt.ErrChanged, hz)
	}
	r.record(440)
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	_, err = m.Make(t.Context(), "acme", "d", "v", 0, 0)
	require.NoError(t, err)
}

func TestMakeFails(t *testing.T) {
	r := newRig(t)
	failure := errors.New("no program")
	has := excerpt.Sounds(r.media).Has
	m := r.maker(excerpt.Kind{Has: has, Make: func(context.Context, string, time.Duration, time.Duration) ([]byte, error) {
		return nil, failure
	}})
	_, err := m.Make(t.Context(), "acme", "d", "v", 0, 0)
	require.ErrorIs(t, err, excerpt.ErrNotMade)
	require.ErrorIs(t, err, failure)
	require.NoError(t, os.Remove(filepath.Join(r.dir, "v.wav")))
	_, err = r.maker(excerpt.Sounds(r.media)).Make(t.Context(), "acme", "d", "v", 0, 0)
	require.ErrorIs(t, err, excerpt.ErrNotMade)
	require.ErrorIs(t, err, sound.ErrBadMedia)
}

// TestPictures: there is one of each keyframe of a video, and of no sound.
func TestPictures(t *testing.T) {
	kind := excerpt.Pictures(func(_ context.Context, file string, at time.Duration, width int) ([]byte, error) {
		require.Equal(t, [3]any{"file", time.Second, 320}, [3]any{file, at, width})
		return []byte("picture"), nil
	}, 320)
	content, err := kind.Make(t.Context(), "file", time.Second, 0)
	require.NoError(t, err)
	require.Equal(t, "picture", string(content))
	frames := []time.Duration{0, time.Second}
	require.True(t, kind.Has(&audiosearch.Scoring{HasVideo: true, Keyframes: frames}, time.Second, 0))
	require.False(t, kind.Has(&audiosearch.Scoring{HasVideo: true, Keyframes: frames}, 2*time.Second, 0))
	require.False(t, kind.Has(&audiosearch.Scoring{Keyframes: frames}, time.Second, 0))
}

func TestNewRefuses(t *testing.T) {
	r := newRig(t)
	kind := excerpt.Sounds(r.media)
	for _, err := range []error{
		second(excerpt.New(nil, r.files, kind, nil)), second(excerpt.New(r.service, nil, kind, nil)),
		second(excerpt.New(r.service, r.files, excerpt.Kind{}, nil)),
		second(excerpt.New(r.service, r.files, kind, &excerpt.Options{Kept: -1})),
	} {
		require.ErrorContains(t, err, "excerpt: ")
	}
}

func second(_ *excerpt.Maker, err error) error { return err }
