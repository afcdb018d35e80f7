//go:build cgo

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/internal/oipserver"
)

// longSound is of so many seconds that the scores of a model for it are kept in three parts, of
// which the last one is short.
const longSound = 25 * 60

// longWindows is how many windows of the transformer that has: one each 5.12 s, until one
// reaches the end. A part has 10 minutes of them, in whole batches: of one window here, of
// eight for an inference server.
const (
	longWindows = 292
	partOfAST   = 118
	partOfOIP   = 120
)

func longVideo(t *testing.T) (m *media, config string) {
	t.Helper()
	m = newMedia(t)
	m.wav("short.wav", dialTone(12))
	m.minutes("long.wav", longSound/60)
	return m, m.document(clip{"short", "short.wav", nil}, clip{"long", "long.wav", nil})
}

// minutes writes a WAV file of so many minutes: one minute of noise again and again. Up to
// 32 no window is like another one, since a minute is no multiple of their distance.
func (m *media) minutes(name string, n int) {
	m.t.Helper()
	m.wav(name, whiteNoise(60, 25))
	one, err := os.ReadFile(m.path(name))
	require.NoError(m.t, err)
	const header = 44
	head, minute := one[:header:header], one[header:]
	binary.LittleEndian.PutUint32(head[4:], uint32(header-8+n*len(minute)))
	binary.LittleEndian.PutUint32(head[40:], uint32(n*len(minute)))
	m.write(name, append(head, bytes.Repeat(minute, n)...))
}

var allOfLong = object{"limit": 1000}

// TestModelServerKilled kills a server in the middle of a long video that a model scores. The
// next one goes on behind what is kept, and finds what one finds that nobody has disturbed,
// though the file of the model is cut, exchanged and removed meanwhile. The one after that
// takes another model, and searches what there is until that has scored everything.
func TestModelServerKilled(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	env := withONNXRuntime(t)
	p := buildServer(t)
	m, config := longVideo(t)
	model := filepath.Join(t.TempDir(), "model.onnx")
	modelFile(t, model, false)
	start := func(dir string) *server {
		return p.startIn(t, dir, env, "-config", config, "-model", model).guardMedia(m)
	}

	undisturbed := start(t.TempDir())
	want := undisturbed.find(viewerToken, "Dog", allOfLong)
	require.Len(t, want, longWindows+2)
	undisturbed.stop()

	dir := t.TempDir()
	s := start(dir)
	run := s.search(viewerToken, "Dog", allOfLong)
	s.await("a part", func() bool { return kept(t, dir) >= partOfAST })
	s.kill()
	before := kept(t, dir)
	require.Contains(t, []int{partOfAST, 2 * partOfAST}, before)
	s = start(dir)
	require.GreaterOrEqual(t, kept(t, dir), before, "what is kept stays")
	// What the server has loaded stays, whatever becomes of the file.
	require.NoError(t, os.Truncate(model, 1000))
	modelFile(t, model+".new", true)
	require.NoError(t, os.Rename(model+".new", model))
	require.NoError(t, os.Remove(model))
	require.Equal(t, "SUCCESS", *s.awaitRun(viewerToken, run).Termination)
	require.Equal(t, want, s.results(viewerToken, run))
	s.awaitIngestion()
	require.Zero(t, kept(t, dir))

	first := loadedModel(t, s)
	s.stop()
	modelFile(t, model, true)
	s = start(dir)
	require.Equal(t, ofLong(want), ofLong(s.find(viewerToken, "Dog", allOfLong)), "the old scores, while the new ones are made")
	require.NotContains(t, s.stderr.String(), "all videos have been looked at", "or this shows nothing")
	require.NotEqual(t, first, loadedModel(t, s))
	s.awaitIngestion()
	found := s.find(viewerToken, "Dog", allOfLong)
	require.Len(t, found, len(want))
	require.NotEqual(t, want, found, "the new scores")
}

// ofLong returns the segments of the long video.
func ofLong(all []segment) (long []segment) {
	for _, s := range all {
		if s.Video.ID == "long" {
			long = append(long, s)
		}
	}
	return long
}

// loadedModel returns the ID of the model that a server says it has loaded.
func loadedModel(t *testing.T, s *server) string {
	t.Helper()
	_, rest, ok := strings.Cut(s.stderr.String(), `"msg":"model loaded","model":"`)
	require.True(t, ok, "%s", &s.stderr)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// asked is what an inference server was asked to score.
type asked struct {
	mu      sync.Mutex
	clips   map[[32]byte]int // how often each was scored
	batches int
	away    func() bool // whether it is, for the next batch
	gone    int         // how often it was
}

// intercept counts, and cuts connections while the server is away.
func (a *asked) intercept(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/infer") {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // who asked was killed
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	head, _ := strconv.Atoi(r.Header.Get("Inference-Header-Content-Length"))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away != nil && a.away() {
		a.gone++
		panic(http.ErrAbortHandler)
	}
	a.batches++
	const clip = 1024 * 128 * 4
	for tensor := body[head:]; len(tensor) >= clip; tensor = tensor[clip:] {
		a.clips[sha256.Sum256(tensor[:clip])]++
	}
	return false
}

// twice returns how many clips there are, and how many of them were scored more than once.
func (a *asked) twice() (all, twice int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, times := range a.clips {
		if times > 1 {
			twice++
		}
	}
	return len(a.clips), twice
}

// TestOIPServerKilled: what the inference server is asked when Mortise's is killed in the
// middle of a long video, and when the inference server itself is away.
func TestOIPServerKilled(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	p := buildServer(t)
	m, config := longVideo(t)
	a := &asked{clips: map[[32]byte]int{}}
	address := astServer(t, &oipserver.Server{Extensions: []string{oipserver.Binary}, Intercept: a.intercept}, "1")
	dir := t.TempDir()
	s := p.startIn(t, dir, nil, "-config", config, "-oip", address).guardMedia(m)
	run := s.search(viewerToken, "Dog", allOfLong)
	s.await("a part and more", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.batches > partOfOIP/8+8
	})
	s.kill()
	before, _ := a.twice()
	s = p.startIn(t, dir, nil, "-config", config, "-oip", address).guardMedia(m)
	require.Equal(t, "SUCCESS", *s.awaitRun(viewerToken, run).Termination)
	require.Len(t, s.results(viewerToken, run), longWindows+2)
	s.awaitIngestion()
	all, twice := a.twice()
	t.Logf("%d clips before the kill, %d in all, %d of them scored twice", before, all, twice)
	const short = 2 // of the video that is in both datasets
	require.LessOrEqual(t, twice, partOfOIP+short)
	require.Equal(t, longWindows+short, all)
	for _, times := range a.clips {
		require.LessOrEqual(t, times, 2)
	}
}

// TestOIPServerAway: the inference server goes away in the second part of a video, until it
// was asked in vain more often than one attempt does, and comes back.
func TestOIPServerAway(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	p := buildServer(t)
	m := newMedia(t)
	m.wav("short.wav", dialTone(12))
	m.minutes("long.wav", 12)
	config := m.document(clip{"short", "short.wav", nil}, clip{"long", "long.wav", nil})
	a := &asked{clips: map[[32]byte]int{}}
	const gone = partOfOIP + 10
	a.away = func() bool { return len(a.clips) >= gone && a.gone < 4 }
	address := astServer(t, &oipserver.Server{Extensions: []string{oipserver.Binary}, Intercept: a.intercept}, "1")
	s := p.start(t, nil, "-config", config, "-oip", address).guardMedia(m)
	found := s.find(viewerToken, "Dog", allOfLong)
	s.awaitIngestion()
	require.Equal(t, 4, a.gone)
	all, twice := a.twice()
	t.Logf("%d clips, %d of them scored twice, %d batches", all, twice, a.batches)
	assert.Len(t, found, all)
	assert.LessOrEqual(t, twice, gone+8-partOfOIP+2, "but for the part that was cut off, and what is in two datasets")
}
