package audiosearch_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// hooks are everything that a host can plug in. What is named by broken panics.
type hooks struct {
	sound.Scorer
	sound.Media
	sound.SameFiles

	mu     sync.Mutex
	broken string
}

const secretText = "credentials of the model server"

func (h *hooks) call(name string) {
	h.mu.Lock()
	broken := h.broken == name
	h.mu.Unlock()
	if broken {
		panic(secretText)
	}
}

func (h *hooks) repair() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = ""
}

func (h *hooks) Model(ctx context.Context) (sound.Model, error) {
	h.call("Model")
	return h.Scorer.Model(ctx)
}

func (h *hooks) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	h.call("Score")
	return h.Scorer.Score(ctx, clips)
}

func (h *hooks) Probe(ctx context.Context, path string) (sound.Info, error) {
	h.call("Probe")
	return h.Media.Probe(ctx, path)
}

func (h *hooks) PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		h.call("PCM")
		h.Media.PCM(ctx, path, rate)(yield)
	}
}

func (h *hooks) Local(ctx context.Context, org, path string) (string, func(), error) {
	h.call("Local")
	file, release, err := h.SameFiles.Local(ctx, org, path)
	return file, func() { release(); h.call("release") }, err
}

func (h *hooks) Same(org, path, file string) bool {
	h.call("Same")
	return h.SameFiles.Same(org, path, file)
}

func (h *hooks) Moderate(_ context.Context, _ string, results []audiosearch.Result) ([]float64, error) {
	h.call("Moderate")
	return make([]float64, len(results)), nil
}

func (h *hooks) observe(context.Context, mortise.Observation) { h.call("Observe") }

func (h *hooks) Inject(_ context.Context, carrier map[string]string) {
	carrier["traceparent"] = "00"
	h.call("Inject")
}

func (h *hooks) Start(ctx context.Context, _ mortise.Work, _ map[string]string) (context.Context, func(error)) {
	h.call("Start")
	return ctx, func(error) { h.call("end") }
}

// hookedRig is a rig whose service has the hooks, and its log.
func hookedRig(t *testing.T, broken string) (*rig, *hooks, *lockedBuffer) {
	t.Helper()
	h, logged := &hooks{Scorer: new(volume), broken: broken}, new(lockedBuffer)
	r := newRig(t, nil)
	folder, err := folder.Open(r.dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, folder.Close()) })
	h.Media, h.SameFiles = r.media, folder
	log := slog.New(slog.NewTextHandler(logged, nil))
	r.Service, err = audiosearch.New(audiosearch.Backend{Store: r.db.AudioSearch().Store, Queue: r.db.Queue(&leases.Options{Logger: log})}, &audiosearch.Options{
		Scorers: []sound.Scorer{h},
		Media:   h, Files: h, Moderate: h.Moderate, Env: mortise.Env{Observer: h.observe, Tracer: h, Logger: log},
	})
	require.NoError(t, err)
	r.worker, err = audiosearch.NewWorker(r.Service, &audiosearch.WorkerOptions{
		MaxAttempts: 2, Watch: time.Millisecond,
		Backoff: func(int) time.Duration { h.call("Backoff"); return 0 },
	})
	require.NoError(t, err)
	return r, h, logged
}

// A panic of a hook is logged with its stack. After a panic of a scorer, or of Files when
// the scores are stored, the answer is ErrUnavailable. A panic of Media, or of Files before,
// costs the video. Other panics leave their own answer out. No answer has the value of the
// panic, and the service works on.
func TestPanicsOfHooks(t *testing.T) {
	const away, costsVideo, nothing = "away", "costs the video", "nothing"
	for broken, want := range map[string]string{
		"": nothing, "Model": away, "Score": away,
		"Probe": costsVideo, "PCM": costsVideo, "Local": costsVideo, "Same": costsVideo,
		"Moderate": nothing, "Observe": nothing, "Inject": nothing, "release": away, "Start": nothing, "end": nothing,
	} {
		t.Run(broken, func(t *testing.T) {
			r, h, logged := hookedRig(t, broken)
			r.video("a", 3000, nil, nil)
			query := audiosearch.Query{Dataset: "d", Class: loud}
			found, err := r.Search(t.Context(), org, "ada", query)
			switch want {
			case away:
				require.ErrorIs(t, err, mortise.ErrUnavailable)
				require.NotContains(t, err.Error(), secretText)
			case costsVideo:
				require.NoError(t, err)
				require.Len(t, found.Problems, 1)
				require.NotContains(t, found.Problems[0].Message, secretText)
			default:
				require.NoError(t, err)
				require.Len(t, found.Results, 2)
				require.Equal(t, broken != "Moderate", found.Results[0].Moderation != nil)
			}
			if want != away { // or else no run can be begun
				run := r.search(query)
				require.Equal(t, audiosearch.Success, run.Termination)
				require.NotContains(t, run.Message, secretText)
			}
			if broken == "" {
				require.Empty(t, logged.String())
				return
			}
			require.Contains(t, logged.String(), "level=ERROR")
			require.Contains(t, logged.String(), "hooks).call", "its stack")
			require.NotContains(t, logged.String(), secretText)

			h.repair()
			found, err = r.Search(t.Context(), org, "ada", query)
			require.NoError(t, err)
			require.Len(t, found.Results, 2)
			require.Empty(t, found.Problems)
		})
	}
}

// A worker that runs outlives the panics of what is plugged into it: each run ends, and
// one that is given up is logged at WARN.
func TestWorkerOutlivesPanics(t *testing.T) {
	t.Parallel() // it waits most of the time
	for _, broken := range []string{"Observe", "Start", "end", "Moderate", "Score", "Backoff"} {
		t.Run(broken, func(t *testing.T) {
			r, h, logged := hookedRig(t, "")
			if broken == "Backoff" { // which only a failure asks
				fail := func(context.Context) error { return errors.New(secretText) }
				h.Scorer.(*volume).hook.Store(&fail)
			}
			r.video("a", 3000, nil, nil)
			id := r.start(audiosearch.Query{Class: loud})
			h.mu.Lock()
			h.broken = broken
			h.mu.Unlock()
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.worker.Run(ctx) }()
			require.Eventually(t, func() bool { return r.results(id).State == audiosearch.StateTerminated }, 30*time.Second, time.Millisecond)
			stop()
			require.NoError(t, <-ended)
			given := strings.Contains(logged.String(), `level=WARN msg="a search was given up" run=`)
			assert.Equal(t, broken == "Score" || broken == "Backoff", given)
			assert.Equal(t, given, r.results(id).Termination == audiosearch.InternalError)
			assert.Equal(t, broken == "Backoff", strings.Contains(logged.String(), secretText), "the error of the scorer")
			assert.Contains(t, logged.String(), "hooks).call", "its stack")
		})
	}
}

// lockedBuffer is written by a worker and read by the test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
