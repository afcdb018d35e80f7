package oip_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/oip"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/oipserver"
)

// way is an encoding, against a server that speaks it.
type way struct {
	extensions []string
	nested     bool
	encoding   oip.Encoding
	binary     bool // of the requests
	most       int  // clips, as the server says
}

var ways = map[string]way{
	"json":                      {},
	"json, nested answers":      {nested: true},
	"json, as it was asked":     {extensions: []string{oipserver.Binary}, encoding: oip.EncodingJSON},
	"json, another extension":   {extensions: []string{"schedule_policy"}},
	"binary, as it is listed":   {extensions: []string{oipserver.Binary}, binary: true},
	"binary, as it was asked":   {extensions: []string{oipserver.Binary}, encoding: oip.EncodingBinary, binary: true},
	"binary, with a batch of 3": {extensions: []string{oipserver.Binary, oipserver.Configuration}, binary: true, most: 3},
}

// open serves the model.
func (w way) open(t *testing.T, versions ...string) (*oipserver.Server, *oip.Scorer) {
	server := &oipserver.Server{Extensions: w.extensions, Nested: w.nested}
	m := meanModel(-1, versions...)
	m.MaxBatch = w.most
	server.Serve(m)
	return server, newScorer(t, listen(t, server), func(o *oip.Options) { o.Encoding = w.encoding })
}

func TestScorerRules(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			_, s := way.open(t, "1")
			audiosearchtest.RunScorer(t, func(t *testing.T) sound.Scorer { return s })
		})
	}
}

func TestScores(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			server, s := way.open(t, "1", "2")
			most := way.most
			if most == 0 {
				most = 8
			}
			model, err := s.Model(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []any{"mean/1/oip:mean@2", "mean", most}, []any{idOf(model), model.Family, model.Batch})
			server.Requests()

			clips := clipsOf(11)
			clips[10] = clips[10][:200] // the end of a video
			scores, err := s.Score(t.Context(), clips)
			require.NoError(t, err)
			clips[10] = append(clips[10][:200:200], make([]float32, 300)...)
			requireScores(t, "2", clips, scores)
			sum := int64(0)
			for _, r := range inferences(server.Requests()) {
				assert.Equal(t, []any{"/v2/models/mean/versions/2/infer", http.StatusOK}, []any{r.Path, r.Status})
				assert.Equal(t, way.binary, r.Header.Get("Inference-Header-Content-Length") != "")
				assert.LessOrEqual(t, r.Clips, int64(most))
				sum += r.Clips
			}
			assert.EqualValues(t, 11, sum)
		})
	}
}

// idOf is the ID without the digest of the description.
func idOf(m sound.Model) string {
	id, _, _ := strings.Cut(m.ID, "/described:")
	return id
}

// TestFixedBatch: what takes one clip at a time is asked for several at once.
func TestFixedBatch(t *testing.T) {
	server := &oipserver.Server{Extensions: []string{oipserver.Binary}}
	m := meanModel(1)
	run, arrived, all := m.Run, make(chan struct{}, 8), make(chan struct{})
	m.Run = func(version string, shape []int64, input []float32) (map[string][]float32, error) {
		if arrived <- struct{}{}; len(arrived) == cap(arrived) {
			close(all)
		}
		<-all // or the eighth never comes
		return run(version, shape, input)
	}
	server.Serve(m)
	s := newScorer(t, listen(t, server), nil)
	clips := clipsOf(8)
	scores, err := s.Score(t.Context(), clips)
	require.NoError(t, err)
	requireScores(t, "", clips, scores)
	assert.Len(t, inferences(server.Requests()), 8)
}

// TestBatching: the calls of several videos share a request.
func TestBatching(t *testing.T) {
	server := &oipserver.Server{}
	server.Serve(meanModel(-1))
	s := sound.Batching(newScorer(t, listen(t, server), nil), 8, 1<<62)
	clips := clipsOf(8)
	errs := make([]error, 8)
	scores := make([]sound.Scores, 8)
	conformance.Together(8, func(i int) {
		rows, err := s.Score(t.Context(), clips[i:i+1])
		if errs[i] = err; err == nil {
			scores[i] = rows[0]
		}
	})
	conformance.NoErrors(t, errs)
	requireScores(t, "", clips, scores)
	infer := inferences(server.Requests())
	require.Len(t, infer, 1)
	assert.EqualValues(t, 8, infer[0].Clips)
}

func TestIDs(t *testing.T) {
	tests := []struct {
		name, weights string
		versions      []string
		path, want    string
	}{
		{name: "mean", want: "oip:mean@"},
		{name: "mean", versions: []string{"1"}, want: "oip:mean@1"},
		{name: "mean", versions: []string{"9", "10", "2"}, want: "oip:mean@10"},
		{name: "mean", versions: []string{"v9", "v10"}, want: "oip:mean@v10"},
		{name: "mean", versions: []string{"1", "2"}, path: "/versions/1", want: "oip:mean@1"},
		{name: "mean@1", want: "oip:mean%401@"},
		{name: "mean", versions: []string{"1"}, weights: "july", want: "oip:july"},
	}
	for _, test := range tests {
		server := &oipserver.Server{}
		m := meanModel(-1, test.versions...)
		m.Name = test.name
		server.Serve(m)
		s, err := oip.New(listen(t, server)+"/v2/models/"+test.name+test.path, &oip.Options{Description: []byte(description), Weights: test.weights})
		require.NoError(t, err)
		model, err := s.Model(t.Context())
		require.NoError(t, err, "%+v", test)
		assert.Equal(t, "mean/1/"+test.want, idOf(model))
		assert.NotContains(t, model.ID, "127.0.0.1")
	}
}

// TestVersionsDiffer: the metadata that count are those of the version that is taken.
func TestVersionsDiffer(t *testing.T) {
	server := &oipserver.Server{}
	server.Serve(meanModel(-1, "3", "1"))
	server.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v2/models/mean" { // as the server chooses: version 1
			return false
		}
		fmt.Fprint(w, `{"name":"mean","versions":["3","1"],"inputs":[{"name":"old","datatype":"FP32","shape":[-1,-1]}],`+
			`"outputs":[{"name":"old","datatype":"FP32","shape":[-1,3]}]}`)
		return true
	}
	s := newScorer(t, listen(t, server), nil)
	m, err := s.Model(t.Context())
	require.NoError(t, err)
	require.Equal(t, "mean/1/oip:mean@3", idOf(m))
	clips := clipsOf(3)
	scores, err := s.Score(t.Context(), clips)
	require.NoError(t, err)
	requireScores(t, "3", clips, scores)
}

func TestNew(t *testing.T) {
	good := "http://gpu:8000/v2/models/ast"
	for _, address := range []string{
		good, good + "/", good + "/versions/2", "https://gpu/serving/acme/v2/models/ast", "http://[::1]:8000/v2/models/a%20b",
	} {
		_, err := oip.New(address, nil)
		assert.NoError(t, err, address)
	}
	for _, address := range []string{
		"", "gpu:8000", "http://", "ftp://gpu/v2/models/ast", "http://gpu:8000", "http://gpu:8000/v2/models/", "http://gpu/v1/models/ast",
		good + "/infer", good + "/versions", good + "/versions/", good + "/versions/1/infer", "http://:8000/v2/models/ast", "http://gpu/v2/models/..",
		"http://gpu/v2/models/a%zz", "http://u:hunter2hunter2@gpu/v2/models/ast", good + "?key=hunter2hunter2", "http://u:hunter2hunter2/@gpu/v2/models/ast",
		good + "#hunter2hunter2", "http://gpu:hunter2hunter2/v2/models/ast",
	} {
		_, err := oip.New(address, nil)
		require.Error(t, err, address)
		assert.NotContains(t, err.Error(), "hunter2", "a secret")
		assert.NotContains(t, err.Error(), "\n")
	}
	for name, o := range map[string]oip.Options{
		"Batch":       {Batch: 1025},
		"Hop":         {Hop: -1},
		"Timeout":     {Timeout: -1},
		"Encoding":    {Encoding: 3},
		"Weights":     {Weights: strings.Repeat("w", 121)},
		"Description": {Description: []byte(`{"family":"x","what":1}`)},
		"Header":      {Header: http.Header{"Authorization": {"Bearer hunter2hunter2\r\nX: y"}}},
		"token":       {Header: http.Header{"a b": {"c"}}},
		"protocol":    {Header: http.Header{"content-type": {"c"}}},
	} {
		_, err := oip.New(good, &o)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), "hunter2", "a secret")
	}
}

// TestHeader: credentials go with each request, and to no other host.
func TestHeader(t *testing.T) {
	server := &oipserver.Server{Extensions: []string{oipserver.Binary, oipserver.Configuration}}
	server.Serve(meanModel(-1, "1"))
	hosts := make(chan string, 20)
	server.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		hosts <- r.Host
		return false
	}
	s := newScorer(t, listen(t, server), func(o *oip.Options) {
		o.Header = http.Header{"authorization": {"Bearer of-a-secret"}, "Host": {"ast.example"}}
	})
	_, err := s.Score(t.Context(), clipsOf(1))
	require.NoError(t, err)
	require.NoError(t, s.Ready(t.Context()))
	requests := server.Requests()
	require.Len(t, requests, 5) // metadata, server, configuration, inference, ready
	for _, r := range requests {
		assert.Equal(t, "Bearer of-a-secret", r.Header.Get("Authorization"), r.Path)
		assert.Equal(t, "ast.example", <-hosts)
	}
}

func TestReady(t *testing.T) {
	server := &oipserver.Server{}
	s := newScorer(t, listen(t, server), nil)
	require.ErrorContains(t, s.Ready(t.Context()), "404")
	server.Serve(meanModel(-1))
	require.NoError(t, s.Ready(t.Context()))

	said := &oipserver.Server{Intercept: func(w http.ResponseWriter, _ *http.Request) bool {
		fmt.Fprint(w, `{"name":"mean","ready":false}`)
		return true
	}}
	require.ErrorContains(t, newScorer(t, listen(t, said), nil).Ready(t.Context()), "not ready")
	require.ErrorIs(t, s.Ready(conformance.Ended(t)), context.Canceled)
}

// TestUnusable: a model that cannot be used is refused for good.
func TestUnusable(t *testing.T) {
	server := &oipserver.Server{}
	server.Serve(meanModel(-1))
	s := newScorer(t, listen(t, server), func(o *oip.Options) { o.Description = nil })
	_, err := s.Model(t.Context())
	require.ErrorIs(t, err, sound.ErrPermanent)
	require.ErrorContains(t, err, "wave FP32 [any,500]")
	require.ErrorContains(t, err, "input_values FP32 [batch,1024,128]")
}

// TestFeatures: the transformer is recognized, and the server gets the features that are
// computed here.
func TestFeatures(t *testing.T) {
	for _, encoding := range []oip.Encoding{oip.EncodingJSON, oip.EncodingBinary} {
		server := &oipserver.Server{Extensions: []string{oipserver.Binary}}
		server.Serve(astModel())
		s, err := oip.New(listen(t, server)+"/v2/models/ast", &oip.Options{Encoding: encoding})
		require.NoError(t, err)
		m, err := s.Model(t.Context())
		require.NoError(t, err)
		require.Equal(t, "ast/1/oip:ast@1", m.ID)
		clips := [][]float32{make([]float32, astfeatures.WindowSamples), make([]float32, 50_000)}
		for _, clip := range clips {
			for i := range clip {
				clip[i] = float32(i%97) / 200
			}
		}
		scores, err := s.Score(t.Context(), clips)
		require.NoError(t, err)
		features := make([]float32, astfeatures.Frames*astfeatures.Bins)
		for i, clip := range clips {
			astfeatures.Extract(features, clip)
			require.Len(t, scores[i], audioset.NumClasses)
			for c, score := range scores[i] {
				require.InDelta(t, 1/(1+math.Exp(-float64(features[c]))), score, 1e-6)
			}
		}
	}
}

// TestConcurrent: many at once, some of whom give up, get their own scores or their own
// error.
func TestConcurrent(t *testing.T) {
	server := &oipserver.Server{Extensions: []string{oipserver.Binary}}
	server.Serve(meanModel(-1, "1"))
	s := newScorer(t, listen(t, server), func(o *oip.Options) { o.Batch = 2 })
	clips := clipsOf(40)
	conformance.Together(16, func(i int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if i%4 == 3 {
			go cancel()
		}
		mine := clips[2*i : 2*i+5]
		scores, err := s.Score(ctx, mine)
		if i%4 == 3 && err != nil {
			assert.ErrorIs(t, err, context.Canceled)
			return
		}
		if assert.NoError(t, err) {
			for j := range mine {
				assert.InDeltaSlice(t, scoresOf("1", mine[j]), scores[j], 1e-6)
			}
		}
	})
}

// TestEarlyAnswer: a server that answers before it has read a request gets no numbers
// that belong to the caller again.
func TestEarlyAnswer(t *testing.T) {
	server := &oipserver.Server{Extensions: []string{oipserver.Binary}}
	server.Serve(astModel())
	server.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/infer") {
			return false
		}
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.WriteHeader(http.StatusTooManyRequests)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.Copy(io.Discard, r.Body)
		return true
	}
	s, err := oip.New(listen(t, server)+"/v2/models/ast", &oip.Options{Retries: -1})
	require.NoError(t, err)
	clips := make([][]float32, 8)
	for i := range clips {
		clips[i] = make([]float32, astfeatures.WindowSamples)
	}
	for range 5 { // the buffers of one are those of the next
		_, err = s.Score(t.Context(), clips)
		require.ErrorContains(t, err, "429")
	}
}
