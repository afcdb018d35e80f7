//go:build cgo

package e2e

import (
	"encoding/json"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/oip"
	"github.com/seed-6363c74e/mortise/audiosearch/onnx"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/internal/oipserver"
)

// oipWays are servers of the protocol.
func oipWays() map[string]*oipserver.Server {
	return map[string]*oipserver.Server{
		"json":         {},
		"json, nested": {Nested: true},
		"binary":       {Extensions: []string{oipserver.Binary, oipserver.Configuration}},
	}
}

// TestOIPLogits: the scores of the small transformer on an inference server are those of
// the reference, and those of package onnx.
func TestOIPLogits(t *testing.T) {
	nightly.Only(t)
	runtimeLibrary(t)
	var golden map[string][]float64
	require.NoError(t, json.Unmarshal(onnxData(t, "ast_tiny_random.logits.json"), &golden))
	require.Len(t, golden, 9)
	for name, server := range oipWays() {
		t.Run(name, func(t *testing.T) {
			remote, err := oip.New(astServer(t, server, "1"), nil)
			require.NoError(t, err)
			local, err := onnx.New(onnxData(t, "ast_tiny_random.onnx"), nil)
			require.NoError(t, err)
			defer local.Close()
			there, err := remote.Model(t.Context())
			require.NoError(t, err)
			here, err := local.Model(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "ast/1/oip:ast@1", there.ID)
			there.ID, there.Batch = here.ID, here.Batch
			assert.Equal(t, here, there, "but for its ID and its batches it is the same model")

			var clips [][]float32
			var wants [][]float64
			for name, logits := range golden {
				samples := goldenSignal(t, name)
				clips = append(clips, samples[:min(len(samples), astfeatures.WindowSamples)])
				wants = append(wants, logits)
			}
			got, err := remote.Score(t.Context(), clips)
			require.NoError(t, err)
			own, err := local.Score(t.Context(), clips)
			require.NoError(t, err)
			worst, apart := 0.0, 0.0
			for i, want := range wants {
				require.Len(t, got[i], len(want))
				for c, logit := range want {
					p := float64(got[i][c])
					worst = max(worst, math.Abs(math.Log(p/(1-p))-logit))
					apart = max(apart, math.Abs(p-float64(own[i][c])))
				}
			}
			t.Logf("logits off by at most %.1e, scores apart from package onnx by at most %.1e", worst, apart)
			assert.Less(t, worst, 1e-3)
			assert.Less(t, apart, 1e-6)
		})
	}
}

// TestOIPRules: the contract of a scorer, on a network that something else runs.
func TestOIPRules(t *testing.T) {
	nightly.Only(t)
	server := &oipserver.Server{Extensions: []string{oipserver.Binary}}
	remote, err := oip.New(astServer(t, server, "1"), nil)
	require.NoError(t, err)
	audiosearchtest.RunScorer(t, func(*testing.T) sound.Scorer { return remote })
}

// TestOIPSearch: a recording is searched by a model on a server, from the file on.
func TestOIPSearch(t *testing.T) {
	server := &oipserver.Server{Extensions: []string{oipserver.Binary}}
	address := astServer(t, server, "1")
	remote, err := oip.New(address, nil)
	require.NoError(t, err)

	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "speech.wav"))
	require.NoError(t, err)
	samples := goldenSignal(t, "speech")
	for len(samples) < 40*astfeatures.SampleRate {
		samples = append(samples, samples...)
	}
	require.NoError(t, wav.Encode(f, astfeatures.SampleRate, samples[:40*astfeatures.SampleRate]))
	require.NoError(t, f.Close())
	folder, err := folder.Open(dir)
	require.NoError(t, err)
	defer folder.Close()
	media := wav.Media{}
	service := audiosearchtest.New(t, &audiosearchtest.Options{Service: audiosearch.Options{
		Scorers: []sound.Scorer{remote}, Media: media, Files: folder,
	}})
	_, err = service.CreateDataset(t.Context(), "acme", "", "d")
	require.NoError(t, err)
	require.NoError(t, service.PutVideos(t.Context(), "acme", "", "d", audiosearch.Video{ID: "speech", Path: "speech.wav"}))
	search := func() audiosearch.Run {
		run, err := service.Start(t.Context(), "acme", "ada", audiosearch.Query{Dataset: "d", Class: "Speech", Limit: 100})
		require.NoError(t, err)
		service.Drain(t.Context())
		run, err = service.Results(t.Context(), "acme", "d", run.ID)
		require.NoError(t, err)
		require.Equal(t, audiosearch.Success, run.Termination)
		return run
	}
	infers := func() (clips int64, paths string) {
		for _, r := range server.Requests() {
			if strings.HasSuffix(r.Path, "/infer") {
				clips, paths = clips+r.Clips, r.Path
			}
		}
		return clips, paths
	}
	run := search()
	require.Len(t, run.Results, 7, "windows of 10.24 s, each 5.12 s, and one at the end")
	clips, path := infers()
	require.EqualValues(t, 7, clips)
	require.Equal(t, "/v2/models/ast/versions/1/infer", path)
	for _, r := range run.Results {
		first := int(r.Start * astfeatures.SampleRate / time.Second)
		clip := samples[first:min(first+astfeatures.WindowSamples, 40*astfeatures.SampleRate)]
		scores, err := remote.Score(t.Context(), [][]float32{clip})
		require.NoError(t, err)
		assert.InDelta(t, scores[0][0], r.Score, 2./65535, "%v", r.Start)
	}
	infers()
	search()
	clips, _ = infers()
	assert.Zero(t, clips, "nothing is scored twice")
}

// TestOIPServer: the example server hears by a model on an inference server. That is away
// when it starts, then too busy to infer, and answers when a search has met that.
func TestOIPServer(t *testing.T) {
	inference := &oipserver.Server{Extensions: []string{oipserver.Binary}}
	const away, busy, back = 0, 1, 2
	var state atomic.Int32
	inference.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if now := state.Load(); now == back || now == busy && !strings.HasSuffix(r.URL.Path, "/infer") {
			return false
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	address := astServer(t, inference, "1")
	m := newMedia(t)
	samples := goldenSignal(t, "speech")
	samples = slices.Repeat(samples, 1+30*mediaRate/len(samples))[:30*mediaRate]
	m.wav("speech.wav", samples)
	s := buildServer(t).start(t, nil, "-memory", "-oip", address, "-config", m.document(clip{"speech", "speech.wav", nil})).guardMedia(m)
	body := `{"dataset_id":"d1","audio_class":"Speech"}`
	require.Equal(t, http.StatusServiceUnavailable, s.do("POST", soundPath, viewerToken, body).status, "nobody knows the classes")
	state.Store(busy)
	run := s.search(viewerToken, "Speech", object{"limit": 100})
	s.await("an attempt that fails", func() bool {
		log := s.stderr.String()
		return strings.Contains(log, `"msg":"an attempt at a search failed; trying again"`) &&
			strings.Contains(log, "answered 503 Service Unavailable to an inference by model ast")
	})
	state.Store(back)
	require.Equal(t, "SUCCESS", *s.awaitRun(viewerToken, run).Termination)
	found := s.results(viewerToken, run)
	require.Len(t, found, 5)

	local, err := onnx.New(onnxData(t, "ast_tiny_random.onnx"), nil)
	require.NoError(t, err)
	defer local.Close()
	for _, segment := range found {
		first := segment.Start * mediaRate / 1000
		own, err := local.Score(t.Context(), [][]float32{samples[first:min(first+astfeatures.WindowSamples, len(samples))]})
		require.NoError(t, err)
		assert.InDelta(t, own[0][0], segment.Score, 2./65535, "at %d ms", segment.Start)
	}
}
