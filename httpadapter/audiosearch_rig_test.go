package httpadapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// Paths of the audio search.
const (
	soundURL  = "/api/v0/search/metadata-filters/audio-sound"
	jobStatus = "/api/v0/search/metadata-filters/job/status/"
	jobResult = "/api/v0/search/metadata-filters/job/result/"
	jobCancel = "/api/v0/search/metadata-filters/job/cancel/"
)

var everySearchOption = httpadapter.AudioSearchOptions{Cancel: true, MinScore: true}

// soundRig is an audio search on memory behind the adapter, with callers of all kinds.
// The organizations acme and rival have each a dataset calls, acme has bells, too, and
// rival theirs. The videos of calls are scored already.
type soundRig struct {
	t       testing.TB
	db      *memory.DB
	store   *faultySounds
	scorer  *deafScorer
	service *audiosearch.Service
	worker  *audiosearch.Worker
	handler *httpadapter.Handler
	log     *lockedBuffer
	seen    *lockedObserver
}

// deafScorer has a model, and hears nothing: what it would hear stands in the store.
type deafScorer struct {
	mu  sync.Mutex
	err error
}

func (s *deafScorer) Model(context.Context) (sound.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sound.Model{
		ID: "deaf/1", Family: "deaf", SampleRate: 16000, Window: 10 * time.Second, Hop: 2 * time.Second, Classes: []sound.Class{dialTone, silence},
	}, s.err
}

func (s *deafScorer) Score(context.Context, [][]float32) ([]sound.Scores, error) {
	return nil, errors.New("deaf")
}

// fail makes the scorer fail, or work again.
func (s *deafScorer) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

const dialTone, silence sound.Class = "Dial tone", "Silence"

// memorySounds has another name than its methods.
type memorySounds = memory.AudioSearch

// faultySounds is memory whose methods fail on demand, by name, and which refuses IDs
// that a database may not take for text.
type faultySounds struct {
	*memorySounds
	faultyMethods
}

func (f *faultySounds) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
	if err := f.before("Dataset"); err != nil {
		return audiosearch.Dataset{}, err
	}
	if problem := name.Problem(id); problem != "" {
		return audiosearch.Dataset{}, errors.New("the ID " + problem)
	}
	return f.memorySounds.Dataset(ctx, org, id)
}

func (f *faultySounds) MissingKeys(ctx context.Context, org, dataset string, keys []string) ([]string, error) {
	if err := f.before("MissingKeys"); err != nil {
		return nil, err
	}
	return f.memorySounds.MissingKeys(ctx, org, dataset, keys)
}

func (f *faultySounds) CreateRun(ctx context.Context, r audiosearch.Run, most int) error {
	if err := f.before("CreateRun"); err != nil {
		return err
	}
	return f.memorySounds.CreateRun(ctx, r, most)
}

func (f *faultySounds) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	if err := f.before("Run"); err != nil {
		return audiosearch.Run{}, err
	}
	if id < 0 || id > 1<<53-1 {
		return audiosearch.Run{}, errors.New("no ID of a run")
	}
	return f.memorySounds.Run(ctx, org, id)
}

func (f *faultySounds) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	if err := f.before("UpdateRun"); err != nil {
		return err
	}
	return f.memorySounds.UpdateRun(ctx, org, id, update)
}

func (f *faultySounds) RunResults(ctx context.Context, org string, id int64, from int) ([]audiosearch.Result, error) {
	if err := f.before("RunResults"); err != nil {
		return nil, err
	}
	if from > 0 {
		if err := f.before("RunResults later"); err != nil {
			return nil, err
		}
	}
	return f.memorySounds.RunResults(ctx, org, id, from)
}

func (r *soundRig) faults(methods ...string) { r.store.faults(methods...) }

// soundCallers are the access tokens that a rig knows. All but the rival are of the
// organization acme.
var soundCallers = map[string]access.Access{
	"full":           access.Full(),
	"rival":          access.Full(),
	"none":           {},
	"admin":          roles(access.Role{ID: "admin"}),
	"editor":         roles(access.Role{ID: "editor"}),
	"viewer":         roles(access.Role{ID: "viewer"}),
	"dataset editor": roles(access.Role{ID: "editor", Resource: "dataset"}),
	"calls editor":   roles(access.Role{ID: "editor", Resource: "dataset", ResourceInstance: "calls"}),
	"bells viewer":   roles(access.Role{ID: "viewer", Resource: "dataset", ResourceInstance: "bells"}),
	"vault admin":    roles(access.Role{ID: "admin", Resource: "vault"}),
}

func verifySoundCaller(_ context.Context, token string) (httpadapter.Principal, error) {
	name := strings.ReplaceAll(token, "-", " ")
	access, ok := soundCallers[name]
	if !ok {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	p := httpadapter.Principal{Organization: "acme", Subject: "client:" + name, Access: access}
	if name == "rival" {
		p.Organization = "rival"
	}
	return p, nil
}

func newSoundRig(t testing.TB, opts *httpadapter.AudioSearchOptions, service *audiosearch.Options) *soundRig {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	r := &soundRig{t: t, db: db, store: &faultySounds{memorySounds: db.AudioSearch().Store.(*memory.AudioSearch)},
		scorer: new(deafScorer), log: new(lockedBuffer), seen: new(lockedObserver)}
	if service == nil {
		service = new(audiosearch.Options)
	}
	service.Logger = slog.New(slog.DiscardHandler)
	service.Scorers = []sound.Scorer{r.scorer}
	r.service, err = audiosearch.New(audiosearch.Backend{Store: r.store, Queue: db.Queue(&leases.Options{Logger: service.Logger})}, service)
	require.NoError(t, err)
	r.worker, err = audiosearch.NewWorker(r.service, &audiosearch.WorkerOptions{MaxAttempts: 1})
	require.NoError(t, err)
	for _, d := range [][2]string{{"acme", "calls"}, {"acme", "bells"}, {"rival", "calls"}, {"rival", "theirs"}} {
		_, err = r.service.CreateDataset(t.Context(), d[0], "", d[1])
		require.NoError(t, err)
	}
	r.video("a", "2024/a.mp4", `{"site":"north","year":2024}`, 0, 1, 0.5)
	r.video("b", "b.wav", `{"site":"south","year":2025.50,"note":null}`, 0.25)
	if opts == nil {
		all := everySearchOption
		opts = &all
	}
	opts.Logger, opts.Observer = slog.New(slog.NewJSONHandler(r.log, nil)), r.seen.observe
	r.handler, err = httpadapter.NewAudioSearch(r.service, httpadapter.Bearer(verifySoundCaller), opts)
	require.NoError(t, err)
	return r
}

// video adds a video to the calls of acme, with the scores of its segments for a dial
// tone; those for silence are all 0.
func (r *soundRig) video(id, path, meta string, scores ...float32) {
	r.t.Helper()
	m, err := metadata.Parse([]byte(meta))
	require.NoError(r.t, err)
	require.NoError(r.t, r.service.PutVideos(r.t.Context(), "acme", "", "calls", audiosearch.Video{ID: id, Path: path, Metadata: m}))
	tones := make([]uint16, len(scores))
	for i, score := range scores {
		tones[i] = uint16(math.Round(float64(score) * math.MaxUint16))
	}
	window, hop := 10*time.Second, 2*time.Second
	scoring := audiosearch.Scoring{
		Model: "deaf/1", Duration: time.Duration(len(scores)-1)*hop + window, Window: window, Hop: hop, Windows: len(scores),
		HasVideo: true, Keyframes: []time.Duration{0, 2500 * time.Millisecond}, Classes: []sound.Class{dialTone, silence},
	}
	if id == "b" { // a part of a live recording
		scoring.Start = 7250 * time.Millisecond
	}
	require.NoError(r.t, r.store.PutScoring(r.t.Context(), "acme", "calls", id, path, scoring, [][]uint16{tones, make([]uint16, len(scores))}))
}

// as sends a request of a caller.
func (r *soundRig) as(caller, method, target, body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, target, reader)
	if caller != "" {
		req.Header.Set("Authorization", "Bearer "+strings.ReplaceAll(caller, " ", "-"))
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, edit := range edits {
		edit(req)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w
}

func (r *soundRig) post(body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	return r.as("full", http.MethodPost, soundURL, body, edits...)
}

func (r *soundRig) get(target string) *httptest.ResponseRecorder {
	return r.as("full", http.MethodGet, target, "")
}

// start sends a search, and returns its run.
func (r *soundRig) start(body string) string {
	r.t.Helper()
	w := r.post(body)
	require.Equal(r.t, http.StatusOK, w.Code, w.Body.String())
	var answer struct {
		RunID int64 `json:"run_id"`
	}
	require.NoError(r.t, json.Unmarshal(w.Body.Bytes(), &answer))
	id := strconv.FormatInt(answer.RunID, 10)
	require.Equal(r.t, `{"run_id":`+id+`}`, w.Body.String())
	return id
}

// work carries out the runs that wait.
func (r *soundRig) work() {
	r.t.Helper()
	for {
		more, err := r.worker.RunOnce(r.t.Context())
		require.NoError(r.t, err)
		if !more {
			return
		}
	}
}

// stored returns the query of a run.
func (r *soundRig) stored(id string) audiosearch.Query {
	r.t.Helper()
	return r.run(id).Query
}

func (r *soundRig) run(id string) audiosearch.Run {
	r.t.Helper()
	n, err := strconv.ParseInt(id, 10, 64)
	require.NoError(r.t, err)
	run, err := r.store.Run(r.t.Context(), "acme", n)
	require.NoError(r.t, err)
	return run
}

// aSearch is a body that is fine, with further fields.
func aSearch(more string) string {
	if more != "" {
		more = "," + more
	}
	return `{"dataset_id":"calls","audio_class":"Dial tone"` + more + `}`
}

// of is the query that names a dataset.
func of(dataset string) string { return "?dataset_id=" + dataset }

// requireSentence checks a failure that is this sentence.
func requireSentence(t *testing.T, w *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	require.Equal(t, text, requireDetail(t, w, status))
}
