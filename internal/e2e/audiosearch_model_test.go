//go:build cgo

package e2e

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	ort "github.com/yalue/onnxruntime_go"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/onnx"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// step is the difference of two scores that are neighbours.
const step = 1.0 / math.MaxUint16

// ownModel runs the small transformer without the packages that the server runs it with.
type ownModel struct {
	input, output *ort.Tensor[float32]
	session       *ort.AdvancedSession
	media         sound.Media
}

func newOwnModel(t *testing.T) *ownModel {
	t.Helper()
	library := runtimeLibrary(t)
	// Package onnx loads the library, once, whoever else of these tests does so now.
	loaded, err := onnx.Open(tinyTransformer(t), &onnx.Options{Library: library})
	require.NoError(t, err)
	require.NoError(t, loaded.Close())
	require.True(t, ort.IsInitialized())
	m := &ownModel{media: allMedia(t)}
	m.input, err = ort.NewEmptyTensor[float32](ort.NewShape(1, astfeatures.Frames, astfeatures.Bins))
	require.NoError(t, err)
	m.output, err = ort.NewEmptyTensor[float32](ort.NewShape(1, audioset.NumClasses))
	require.NoError(t, err)
	m.session, err = ort.NewAdvancedSession(tinyTransformer(t), []string{"input_values"}, []string{"logits"},
		[]ort.Value{m.input}, []ort.Value{m.output}, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, m.session.Destroy())
		assert.NoError(t, m.input.Destroy())
		assert.NoError(t, m.output.Destroy())
	})
	return m
}

// logits returns what the model says of the first window of a file.
func (m *ownModel) logits(t *testing.T, path string) []float32 {
	t.Helper()
	var clip []float32
	for block, err := range m.media.PCM(t.Context(), path, astfeatures.SampleRate) {
		require.NoError(t, err)
		clip = append(clip, block...)
	}
	clip = clip[:min(len(clip), astfeatures.WindowSamples)]
	astfeatures.Extract(m.input.GetData(), clip)
	require.NoError(t, m.session.Run())
	return slices.Clone(m.output.GetData())
}

// heardFile is a file of a golden signal, and how far what is heard in it may be from the
// reference, as a logit.
type heardFile struct {
	name, signal string
	within       float64
}

// goldenFiles writes each golden signal as a WAV file of its own rate, for which the
// reference's tolerance holds. Those that follow are resampled or coded before, so that
// they are other signals: above the bands that are heard a resampler leaves what it
// cannot keep, and a codec adds noise of its own. What is asserted of them is twice what
// was measured, or three times. FLAC keeps the samples, and goes the way that the codecs
// go.
func goldenFiles(t *testing.T, m *media, golden map[string][]float64) (files []heardFile) {
	t.Helper()
	for name := range golden {
		m.wav(name+".wav", goldenSignal(t, name))
		files = append(files, heardFile{name + ".wav", name, 1e-3})
	}
	slices.SortFunc(files, func(a, b heardFile) int { return len(a.name) - len(b.name) })
	m.ffmpeg("-i", "speech.wav", "-ar", "48000", "-ac", "2", "speech_48k_stereo.wav")
	m.ffmpeg("-i", "noise_1s.wav", "-ar", "48000", "-ac", "2", "noise_48k_stereo.wav")
	m.ffmpeg("-i", "dialtone_12s.wav", "-ar", "44100", "-ac", "2", "-c:a", "aac", "-b:a", "192k", "dialtone.m4a")
	m.ffmpeg("-i", "speech.wav", "-ar", "44100", "-ac", "2", "-c:a", "aac", "-b:a", "192k", "speech.m4a")
	m.ffmpeg("-i", "speech.wav", "-c:a", "flac", "speech.flac")
	return append(files,
		heardFile{"speech.flac", "speech", 1e-3},
		heardFile{"speech_48k_stereo.wav", "speech", 0.5},
		heardFile{"noise_48k_stereo.wav", "noise_1s", 0.5},
		heardFile{"dialtone.m4a", "dialtone_12s", 1},
		heardFile{"speech.m4a", "speech", 1},
	)
}

// TestModelHearsAsTheReference: from a file to the scores over HTTP, the server hears
// what PyTorch hears with torchaudio's features.
func TestModelHearsAsTheReference(t *testing.T) {
	t.Parallel()
	own := newOwnModel(t)
	golden := goldenLogits(t)
	p := buildServer(t)
	m := newMedia(t)
	files := goldenFiles(t, m, golden)
	var clips []clip
	for _, f := range files {
		clips = append(clips, clip{f.name, f.name, nil})
	}
	s := p.startModel(t, tinyTransformer(t), m.document(clips...)).guardMedia(m)
	s.awaitIngestion()
	logits := make(map[string][]float32)
	for _, f := range files {
		logits[f.name] = own.logits(t, m.path(f.name))
	}

	// Classes that the server without a model has, and others.
	classes := []sound.Class{"Speech", "Bark", "Dial tone", "Rain", "Siren", "White noise", "Field recording"}
	type errors struct{ steps, logit float64 }
	worst := make(map[string]*errors)
	for _, class := range classes {
		index, ok := audioset.Index(class)
		require.True(t, ok, class)
		first := make(map[string]float64)
		for _, found := range s.find(viewerToken, string(class), object{"limit": 1000}) {
			if found.Start == 0 {
				first[found.Video.ID] = found.Score
			}
		}
		require.Len(t, first, len(files), class)
		for _, f := range files {
			e := worst[f.name]
			if e == nil {
				e = new(errors)
				worst[f.name] = e
			}
			score := first[f.name]
			e.steps = max(e.steps, math.Abs(score-sigmoid(float64(logits[f.name][index])))/step)
			e.logit = max(e.logit, math.Abs(logit(score)-golden[f.signal][index]))
		}
	}
	for _, f := range files {
		e := worst[f.name]
		t.Logf("%-22s over HTTP, %d classes: off by at most %.2f steps from the sigmoid of our own logits, by %.1e from the reference's logits",
			f.name, len(classes), e.steps, e.logit)
		assert.LessOrEqual(t, e.steps, 2.0, f.name)
		assert.Less(t, e.logit, f.within, f.name) // the steps of the scores included
	}
}

// TestModelHearsAllClasses: the same of all classes, in process, as they are stored.
func TestModelHearsAllClasses(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	own := newOwnModel(t)
	golden := goldenLogits(t)
	m := newMedia(t)
	files := goldenFiles(t, m, golden)
	folder, err := folder.Open(m.dir)
	require.NoError(t, err)
	defer func() { assert.NoError(t, folder.Close()) }()
	scorer, err := onnx.Open(tinyTransformer(t), &onnx.Options{Library: runtimeLibrary(t)})
	require.NoError(t, err)
	defer func() { assert.NoError(t, scorer.Close()) }()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	service, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{
		Scorers: []sound.Scorer{scorer}, Media: own.media, Files: folder,
	})
	require.NoError(t, err)
	require.NoError(t, db.AudioSearch().Store.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "o", ID: "d"}))
	var videos []audiosearch.Video
	for _, f := range files {
		videos = append(videos, audiosearch.Video{ID: f.name, Path: f.name})
	}
	require.NoError(t, db.AudioSearch().Store.PutVideos(t.Context(), "o", "d", videos))
	in, err := service.Ingest(t.Context(), "o", "", "d")
	require.NoError(t, err)
	require.Equal(t, len(files), in.Scored)
	require.Empty(t, in.Problems)

	for _, f := range files {
		logits := own.logits(t, m.path(f.name))
		// The first window.
		top, err := service.Top(t.Context(), "o", "d", f.name, 0, time.Millisecond, audioset.NumClasses)
		require.NoError(t, err)
		require.Len(t, top, audioset.NumClasses)
		steps, ofLogits, ofScores := 0.0, 0.0, 0.0
		for _, heard := range top {
			index, ok := audioset.Index(heard.Class)
			require.True(t, ok, heard.Class)
			steps = max(steps, math.Abs(heard.Score-sigmoid(float64(logits[index])))/step)
			ofLogits = max(ofLogits, math.Abs(float64(logits[index])-golden[f.signal][index]))
			ofScores = max(ofScores, math.Abs(heard.Score-sigmoid(golden[f.signal][index])))
		}
		t.Logf("%-22s 527 classes: off by at most %.2f steps from the sigmoid of our own logits; these by %.1e from the reference's; scores by %.1e",
			f.name, steps, ofLogits, ofScores)
		assert.LessOrEqual(t, steps, 2.0, f.name)
		assert.Less(t, ofLogits, f.within, f.name)
	}
}
