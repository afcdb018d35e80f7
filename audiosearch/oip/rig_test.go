package oip_test

import (
	"context"
	"errors"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/oip"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/oipserver"
)

// The model of the tests hears 500 samples at 1 kHz. The logit of class c is c+1 times
// the mean of their amounts, times the version.
const (
	samples     = 500
	classes     = 3
	description = `{"family":"mean","sample_rate":1000,"samples":500,"gives":"logits","classes":["a","b","c"]}`
)

func meanModel(batch int64, versions ...string) oipserver.Model {
	return oipserver.Model{
		Name: "mean", Versions: versions,
		Input:   oipserver.Tensor{Name: "wave", Datatype: "FP32", Shape: []int64{batch, samples}},
		Outputs: []oipserver.Tensor{{Name: "logits", Datatype: "FP32", Shape: []int64{batch, classes}}},
		Run: func(version string, shape []int64, input []float32) (map[string][]float32, error) {
			var logits []float32
			for clip := range shape[0] {
				logits = append(logits, logitsOf(version, input[clip*samples:][:samples])...)
			}
			return map[string][]float32{"logits": logits}, nil
		},
	}
}

// logitsOf is what the model gives for one clip.
func logitsOf(version string, clip []float32) []float32 {
	sum := 0.0
	for _, x := range clip {
		sum += math.Abs(float64(x))
	}
	factor := 1.0
	if version != "" {
		factor = float64(version[0] - '0')
	}
	logits := make([]float32, classes)
	for c := range logits {
		logits[c] = float32(factor * float64(c+1) * sum / samples)
	}
	return logits
}

// scoresOf is what the scorer must make of that.
func scoresOf(version string, clip []float32) sound.Scores {
	scores := make(sound.Scores, classes)
	for c, logit := range logitsOf(version, clip) {
		scores[c] = float32(1 / (1 + math.Exp(-float64(logit))))
	}
	return scores
}

// clipsOf returns clips that differ.
func clipsOf(n int) [][]float32 {
	clips := make([][]float32, n)
	for i := range clips {
		clips[i] = make([]float32, samples)
		for j := range clips[i] {
			clips[i][j] = float32(i+1) / 16
		}
	}
	return clips
}

// requireScores requires the right scores for clips.
func requireScores(t *testing.T, version string, clips [][]float32, scores []sound.Scores) {
	t.Helper()
	require.Len(t, scores, len(clips))
	for i := range clips {
		require.InDeltaSlice(t, scoresOf(version, clips[i]), scores[i], 1e-6, "clip %d", i)
	}
}

// listen serves a handler, and returns its address.
func listen(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// newScorer returns a scorer of the model of the tests at a server.
func newScorer(t testing.TB, server string, change func(*oip.Options)) *oip.Scorer {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o := &oip.Options{Description: []byte(description), Client: &http.Client{Transport: transport}}
	if change != nil {
		change(o)
	}
	s, err := oip.New(server+"/v2/models/mean", o)
	require.NoError(t, err)
	return s
}

// inferences returns the inferences among what a server was asked.
func inferences(requests []oipserver.Request) []oipserver.Request {
	var infer []oipserver.Request
	for _, r := range requests {
		if r.Method == http.MethodPost {
			infer = append(infer, r)
		}
	}
	return infer
}

// wire is a network in memory, which a synctest bubble can wait for.
type wire struct {
	conns chan net.Conn
	mu    sync.Mutex
	cut   bool // connections are refused
	open  []net.Conn
	done  chan struct{}
}

var errRefused = errors.New("connection refused")

// newWire serves a handler, and returns a client that reaches nothing else.
func newWire(t *testing.T, h http.Handler) (*wire, *http.Client) {
	w := &wire{conns: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(w)
	}()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.cut {
			return nil, errRefused
		}
		here, there := net.Pipe()
		w.open = append(w.open, here)
		w.conns <- there
		return here, nil
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-served
	})
	return w, &http.Client{Transport: transport}
}

// away takes the server away, with all connections, or brings it back.
func (w *wire) away(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.open {
		_ = c.Close()
	}
	w.open = nil
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	close(w.done)
	return nil
}

func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "wire", Net: "unix"} }
