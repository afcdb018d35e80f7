package audiosearch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// modelled returns a service over the rig's store with another scorer.
func (r *rig) modelled(scorer sound.Scorer, media sound.Media) *audiosearch.Service {
	r.t.Helper()
	s, err := audiosearch.New(r.db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{scorer}, Media: media, Files: mustFolder(r.t, r.dir)})
	require.NoError(r.t, err)
	return s
}

// TestModelIsChecked: what a scorer says of itself is not believed.
func TestModelIsChecked(t *testing.T) {
	r := newRig(t, nil)
	good := sound.Model{ID: "m", Family: "m", SampleRate: 1000, Window: 2 * time.Second, Hop: time.Second, Classes: []sound.Class{loud, quiet}}
	for name, change := range map[string]func(*sound.Model){
		"no ID":         func(m *sound.Model) { m.ID = "" },
		"no rate":       func(m *sound.Model) { m.SampleRate = 0 },
		"rate":          func(m *sound.Model) { m.SampleRate = 384_001 },
		"no window":     func(m *sound.Model) { m.Window = 0 },
		"long window":   func(m *sound.Model) { m.Window = 10*time.Minute + 1 },
		"hop too short": func(m *sound.Model) { m.Hop = time.Millisecond - 1 },
		"hop over":      func(m *sound.Model) { m.Hop = m.Window + 1 },
		"no sample":     func(m *sound.Model) { m.SampleRate, m.Hop = 1, 400*time.Millisecond },
		"batch":         func(m *sound.Model) { m.Batch = 1025 },
		"no class":      func(m *sound.Model) { m.Classes = nil },
		"twice":         func(m *sound.Model) { m.Classes = []sound.Class{loud, loud} },
		"nameless":      func(m *sound.Model) { m.Classes = []sound.Class{loud, ""} },
		"no family":     func(m *sound.Model) { m.Family = "" },
		"too many":      func(m *sound.Model) { m.Classes = manyClasses(sound.MaxClasses + 1) },
	} {
		m := good
		change(&m)
		s := r.modelled(&fixedModel{model: m}, r.media)
		_, err := s.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
		require.ErrorIs(t, err, mortise.ErrUnavailable, name)
		require.ErrorIs(t, s.PingScorers(t.Context()), mortise.ErrUnavailable, name)
	}
	r.video("a", 30_000, nil, nil)
	for _, batch := range []int{0, -1} {
		m := good
		m.ID, m.Batch = fmt.Sprint("batch", batch), batch
		in, err := r.modelled(&fixedModel{model: m}, r.media).Ingest(t.Context(), org, "", "d")
		require.NoError(t, err)
		assert.Equal(t, audiosearch.Ingested{Scored: 1}, in)
	}
}

// manyClasses returns so many classes, and loud the first.
func manyClasses(n int) []sound.Class {
	classes := []sound.Class{loud}
	for i := 1; i < n; i++ {
		classes = append(classes, sound.Class(fmt.Sprint("sound ", i)))
	}
	return classes
}

// infoMedia is a Media of given information and samples.
type infoMedia struct {
	fakeMedia
	info sound.Info
}

func (m *infoMedia) Probe(context.Context, string) (sound.Info, error) { return m.info, nil }

// TestTimesAreWholeMilliseconds: of keyframes, in order, each once, none before the
// start; and of the sound, while segments are cut at samples.
func TestTimesAreWholeMilliseconds(t *testing.T) {
	const ms, us = time.Millisecond, time.Microsecond
	r := newRig(t, nil)
	r.video("a", 1, nil, nil)
	model := sound.Model{Family: "f", SampleRate: 16_000, Window: 10*ms + 40*us, Hop: 5*ms + 40*us, Classes: []sound.Class{loud, quiet}}
	for i, test := range []struct {
		info sound.Info
		want []time.Duration
	}{
		{sound.Info{HasVideo: true, Keyframes: []time.Duration{1700*ms + 400*us, 1699*ms + 600*us, 300 * ms, -5 * ms, 0}}, []time.Duration{0, 300 * ms, 1700 * ms}},
		{sound.Info{Keyframes: []time.Duration{ms}}, nil},
		{sound.Info{HasVideo: true}, nil},
	} {
		model.ID = fmt.Sprint(i)
		media := &infoMedia{info: test.info}
		media.pcm = func(yield func([]float32, error) bool) { yield(make([]float32, 1001), nil) }
		s := r.modelled(&fixedModel{model: model}, media)
		_, err := s.Ingest(t.Context(), org, "", "d")
		require.NoError(t, err)
		scoring, err := s.Scoring(t.Context(), org, "d", "a")
		require.NoError(t, err)
		assert.Equal(t, test.want, scoring.Keyframes)
		assert.Equal(t, test.want != nil, scoring.HasVideo)
		assert.Equal(t, []time.Duration{63 * ms, 161 * time.Second / 16_000, 81 * time.Second / 16_000}, []time.Duration{scoring.Duration, scoring.Window, scoring.Hop})
	}
}

// TestTooLongEitherWay: as the file says, and as it turns out.
func TestTooLongEitherWay(t *testing.T) {
	for name, media := range map[string]*infoMedia{
		"as it says":      {info: sound.Info{Duration: time.Hour}, fakeMedia: fakeMedia{pcm: func(yield func([]float32, error) bool) { yield(make([]float32, 10), nil) }}},
		"as it turns out": {fakeMedia: fakeMedia{pcm: func(yield func([]float32, error) bool) { yield(make([]float32, 60_001), nil) }}},
	} {
		r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
			o.Media, o.MaxDuration = media, time.Minute
		})
		r.video("a", 1, nil, nil)
		in := r.ingest()
		require.Len(t, in.Problems, 1, name)
		assert.Contains(t, in.Problems[0].Message, "longer than 1m0s", name)
	}
}

// slowFiles takes its time.
type slowFiles struct {
	sound.Files
	pause time.Duration
}

func (f slowFiles) Local(ctx context.Context, org, path string) (string, func(), error) {
	time.Sleep(f.pause)
	return f.Files.Local(ctx, org, path)
}

// TestSlowIsNotStalled: each step may take as long as Stall, and all together longer.
func TestSlowIsNotStalled(t *testing.T) {
	const pause = 90 * time.Second
	pausing := func(context.Context) error {
		time.Sleep(pause)
		return nil
	}
	for name, prepare := range map[string]func(*rig, *audiosearch.Options){
		"files, probe, first block": func(_ *rig, o *audiosearch.Options) {
			o.Files = slowFiles{o.Files, pause}
			o.Media = &fakeMedia{probe: func() error { return pausing(nil) }, pcm: func(yield func([]float32, error) bool) {
				time.Sleep(pause)
				yield(make([]float32, 10), nil)
			}}
		},
		"blocks": func(_ *rig, o *audiosearch.Options) { o.Media.(*bytesMedia).hook.Store(&pausing) },
		"batches": func(r *rig, o *audiosearch.Options) {
			r.scorer.hook.Store(&pausing)
			o.Media = &fakeMedia{pcm: func(yield func([]float32, error) bool) { yield(make([]float32, 30_000), nil) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o *audiosearch.Options
				r := newRig(t, func(opts *audiosearch.Options, _ *audiosearch.WorkerOptions) { o = opts })
				o.Stall = 2 * time.Minute
				prepare(r, o)
				var err error
				r.Service, err = audiosearch.New(r.db.AudioSearch(), o)
				require.NoError(t, err)
				r.video("a", 5000, nil, nil)
				assert.Equal(t, audiosearch.Ingested{Scored: 1}, r.ingest())
			})
		})
	}
}

// TestWhoHangs: after a batch was scored, the file is to blame again; while scores are
// stored, it is not.
func TestWhoHangs(t *testing.T) {
	impatient := func(o *audiosearch.Options, w *audiosearch.WorkerOptions) {
		o.Stall, w.MaxAttempts = 50*time.Millisecond, 1
	}
	r := newRig(t, impatient)
	r.video("a", 20_000, nil, nil)
	hook := func(ctx context.Context) error {
		if r.scorer.calls.Load() == 0 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	r.media.hook.Store(&hook)
	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, audiosearch.Success, run.Termination)
	assert.Contains(t, run.Message, "reading it showed no progress")

	db := newMemory(t)
	r = newRigOn(t, db, hangingPut{db.AudioSearch().Store}, impatient)
	r.video("a", 2000, nil, nil)
	assert.Equal(t, audiosearch.InternalError, r.search(audiosearch.Query{Class: loud}).Termination)
}

type hangingPut struct{ audiosearch.Store }

func (hangingPut) PutScoring(ctx context.Context, _, _, _, _ string, _ audiosearch.Scoring, _ [][]uint16) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestCutOffIsNotBroken: what a Media says of a file because it was cut off, such as a
// program that was killed, is not kept.
func TestCutOffIsNotBroken(t *testing.T) {
	db := newMemory(t)
	r := newRigOn(t, db, deafStore{db.AudioSearch().Store}, nil)
	r.video("a", 3000, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	hook := func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return errBadFile
	}
	r.media.hook.Store(&hook)
	_, err := r.Ingest(ctx, org, "", "d")
	require.ErrorIs(t, err, context.Canceled)
	_, err = r.Scoring(t.Context(), org, "d", "a")
	require.ErrorIs(t, err, audiosearch.ErrNotScored)
	assert.Zero(t, r.kinds()[mortise.KindNotIngested])
}

// TestMessagesOfVideos: one line of bounded length, of whole characters; and a format
// that is broken is broken.
func TestMessagesOfVideos(t *testing.T) {
	for err, want := range map[error]string{
		sound.BadMedia(errors.New(strings.Repeat("aé", 200))):                    strings.Repeat("aé", 100) + "...",
		sound.BadMedia(errors.New("a" + strings.Repeat("é", 200))):               "a" + strings.Repeat("é", 149) + "...",
		sound.BadMedia(errors.New("two\nlines \xff")):                            "two lines \uFFFD",
		sound.BadMedia(fmt.Errorf("the format is too new: %w", sound.ErrFormat)): "the format is too new: " + sound.ErrFormat.Error(),
	} {
		r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
			o.Media = &fakeMedia{probe: func() error { return err }}
		})
		r.video("a", 10, nil, nil)
		assert.Equal(t, []audiosearch.VideoProblem{{Video: "a", Message: want}}, r.ingest().Problems)
		scoring, err := r.Scoring(t.Context(), org, "d", "a")
		require.NoError(t, err)
		assert.Equal(t, want, scoring.Problem)
	}
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Files = fakeFiles("/no/such/folder/a") })
	r.video("a", 10, nil, nil)
	in := r.ingest()
	require.Len(t, in.Problems, 1)
	assert.NotContains(t, in.Problems[0].Message, "folder")
}

// TestSameSizeOrSameTime: either alone does not make a file unchanged.
func TestSameSizeOrSameTime(t *testing.T) {
	r := newRig(t, nil)
	at := time.Now().Add(-time.Hour)
	put := func(length, peak int, at time.Time) {
		r.video("a", length, map[int]byte{peak: 255}, nil)
		require.NoError(t, os.Chtimes(filepath.Join(r.dir, "a"), at, at))
	}
	put(3000, 100, at)
	r.ingest()
	put(3000, 2900, at.Add(time.Second))
	assert.Equal(t, audiosearch.Ingested{Scored: 1}, r.ingest(), "another content of the same size")
	put(4000, 2900, at.Add(time.Second))
	assert.Equal(t, audiosearch.Ingested{Scored: 1}, r.ingest(), "another size at the same time")
}
