package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// searchAPI is the audio search, with callers by the names of their roles.
type searchAPI struct {
	*openapiRig
	service *audiosearch.Service
	worker  *audiosearch.Worker
	store   searchAPIStore
}

// searchMemory has another name than its methods.
type searchMemory = memory.AudioSearch

// searchAPIStore is memory that can fail.
type searchAPIStore struct {
	*searchMemory
	fault func(method string) error
}

func (s searchAPIStore) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
	if err := s.fault("Dataset"); err != nil {
		return audiosearch.Dataset{}, err
	}
	return s.searchMemory.Dataset(ctx, org, id)
}

// CreateRun finds no room for a run if that is what fails.
func (s searchAPIStore) CreateRun(ctx context.Context, r audiosearch.Run, most int) error {
	if s.fault("room") != nil {
		return audiosearch.ErrTooManyRuns
	}
	return s.searchMemory.CreateRun(ctx, r, most)
}

// searchAPIModel scores nothing: the scores stand in the store.
type searchAPIModel struct{ classes []sound.Class }

func (m searchAPIModel) Model(context.Context) (sound.Model, error) {
	return sound.Model{ID: "stored", Family: "stored", SampleRate: 16000, Window: 10 * time.Second, Hop: 2 * time.Second, Classes: m.classes}, nil
}

func (searchAPIModel) Score(context.Context, [][]float32) ([]sound.Scores, error) {
	return nil, errors.New("nothing is scored")
}

// halfFit moderates all results alike.
type halfFit struct{}

func (halfFit) Moderate(_ context.Context, _ string, results []audiosearch.Result) ([]float64, error) {
	scores := make([]float64, len(results))
	for i := range scores {
		scores[i] = 0.5
	}
	return scores, nil
}

func newSearchAPI(t *testing.T) *searchAPI {
	t.Helper()
	r := &searchAPI{openapiRig: &openapiRig{t: t, key: "full", answered: make(map[string]map[string]bool)}}
	const silence sound.Class = "Silence"
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	r.store = searchAPIStore{db.AudioSearch().Store.(*memory.AudioSearch), r.fault}
	r.service, err = audiosearch.New(audiosearch.Backend{Store: r.store, Queue: db.Queue(&leases.Options{Logger: silent})}, &audiosearch.Options{Scorers: []sound.Scorer{searchAPIModel{[]sound.Class{silence}}}, Moderate: halfFit{}.Moderate, Env: mortise.Env{Logger: silent}})
	require.NoError(t, err)
	r.worker, err = audiosearch.NewWorker(r.service, nil)
	require.NoError(t, err)
	_, err = r.service.CreateDataset(t.Context(), "acme", "", "calls")
	require.NoError(t, err)
	metadata, err := metadata.Parse([]byte(`{"site":"north","year":2024,"big":1e300,"transferred":false,"note":null}`))
	require.NoError(t, err)
	require.NoError(t, r.service.PutVideos(t.Context(), "acme", "", "calls", audiosearch.Video{ID: "a", Path: "a.mp4", Metadata: metadata}))
	require.NoError(t, r.store.PutScoring(t.Context(), "acme", "calls", "a", "a.mp4", audiosearch.Scoring{
		Model: "stored", Duration: 12 * time.Second, Window: 10 * time.Second, Hop: 2 * time.Second, Windows: 2, Classes: []sound.Class{silence},
	}, [][]uint16{{65535, 1}}))
	h, err := httpadapter.NewAudioSearch(r.service, unlessHasty(httpadapter.Bearer(callerByRole)), &httpadapter.AudioSearchOptions{Options: r.options(), Cancel: true, MinScore: true})
	require.NoError(t, err)
	r.serve(h)
	return r
}

// start begins a run through the API.
func (r *searchAPI) start(body string) string {
	r.t.Helper()
	answer := r.run(exchange{method: http.MethodPost, path: soundAt, body: body, operation: "searchAudioSound", status: http.StatusOK})
	var started struct {
		ID int64 `json:"run_id"`
	}
	require.NoError(r.t, json.Unmarshal(answer, &started))
	return strconv.FormatInt(started.ID, 10)
}

// set puts a run into a state that it has in passing.
func (r *searchAPI) set(id string, state audiosearch.State) {
	r.t.Helper()
	number, err := strconv.ParseInt(id, 10, 64)
	require.NoError(r.t, err)
	require.NoError(r.t, r.store.UpdateRun(r.t.Context(), "acme", number, func(run *audiosearch.Run) error {
		run.State, run.Termination, run.Done, run.Total = state, "", 17, 40
		run.Sound = audiosearch.SoundProgress{Done: 4980480 * time.Millisecond, Total: 11600 * time.Second, Speed: 14.2}
		return nil
	}))
}

// work carries out what waits.
func (r *searchAPI) work() {
	r.t.Helper()
	for {
		more, err := r.worker.RunOnce(r.t.Context())
		require.NoError(r.t, err)
		if !more {
			return
		}
	}
}
