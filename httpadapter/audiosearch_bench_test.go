package httpadapter_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// soundSink is memory that keeps one run: a finished one with a thousand results.
type soundSink struct {
	*memorySounds
	run audiosearch.Run
}

func (s *soundSink) CreateRun(context.Context, audiosearch.Run, int) error { return nil }

func (s *soundSink) UpdateRun(_ context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	return update(&audiosearch.Run{Organization: org, ID: id})
}

func (s *soundSink) Run(context.Context, string, int64) (audiosearch.Run, error) { return s.run, nil }

func (s *soundSink) RunResults(_ context.Context, _ string, _ int64, from int) ([]audiosearch.Result, error) {
	return s.run.Results[from:min(from+100, len(s.run.Results))], nil
}

func (*soundSink) Enqueue(context.Context, mortise.Job) error { return nil }

func (*soundSink) Cancel(context.Context, mortise.Job) error { return errors.ErrUnsupported }

func (*soundSink) Consume(context.Context, mortise.ConsumeOptions, mortise.Handler) error {
	return errors.ErrUnsupported
}

const benchSearch = `{"dataset_id":"calls","audio_class":"Dial tone","limit":20,"metadata_filters":[` +
	`{"key":"site","value":"north"},{"key":"title","value":"night","op":"contains"},{"key":"year","value":"2024","op":">="}],"skip_moderation":true}`

// BenchmarkSearchRoute measures POST .../audio-sound, beside a bare net/http handler that
// authenticates alike, decodes with encoding/json, validates, starts a run of the same
// service and answers the same. The store keeps no runs. The two take turns within one
// run; run it with -benchtime=20000x or more. A time-ratio below 1 says that the adapter
// is the faster one.
func BenchmarkSearchRoute(b *testing.B) {
	service, adapter, bare := benchSounds(b)
	bare.Handle("POST "+soundURL, bareSearch(service))
	compareSounds(b, adapter, bare, func() *http.Request {
		r := httptest.NewRequest(http.MethodPost, soundURL, strings.NewReader(benchSearch))
		r.Header.Set("Content-Type", "application/json")
		return r
	})
}

// BenchmarkResultRoute measures GET .../job/result/{run_id} for a thousand results beside
// a handler that writes the same with encoding/json. Run it with -benchtime=2000x or
// more.
func BenchmarkResultRoute(b *testing.B) {
	service, adapter, bare := benchSounds(b)
	bare.Handle("GET "+jobResult+"{run_id}", bareResult(service))
	compareSounds(b, adapter, bare, func() *http.Request { return httptest.NewRequest(http.MethodGet, jobResult+"1"+of("calls"), nil) })
}

func compareSounds(b *testing.B, adapter, bare http.Handler, request func() *http.Request) {
	serve := func(h http.Handler) time.Duration {
		r := request()
		r.Header.Set("Authorization", "Bearer "+benchKey)
		w := httptest.NewRecorder()
		start := time.Now()
		h.ServeHTTP(w, r)
		spent := time.Since(start)
		if w.Code != http.StatusOK {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
		return spent
	}
	var adapterTime, bareTime time.Duration
	for b.Loop() {
		adapterTime += serve(adapter)
		bareTime += serve(bare)
	}
	n := float64(b.N)
	b.ReportMetric(float64(adapterTime.Nanoseconds())/n, "adapter-ns")
	b.ReportMetric(float64(bareTime.Nanoseconds())/n, "bare-ns")
	b.ReportMetric(float64(adapterTime)/float64(bareTime), "time-ratio")
	b.ReportMetric(testing.AllocsPerRun(10, func() { serve(adapter) }), "adapter-allocs")
	b.ReportMetric(testing.AllocsPerRun(10, func() { serve(bare) }), "bare-allocs")
	b.ReportMetric(0, "ns/op")
}

func benchSounds(b *testing.B) (*audiosearch.Service, *httpadapter.Handler, *http.ServeMux) {
	b.Helper()
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	db, err := memory.Open(b.Context(), nil)
	check(err)
	sink := &soundSink{memorySounds: db.AudioSearch().Store.(*memory.AudioSearch)}
	sink.run = audiosearch.Run{ID: 1, Query: audiosearch.Query{Dataset: "calls"}, State: audiosearch.StateTerminated, Termination: audiosearch.Success}
	for i := range 1000 {
		id, at := fmt.Sprintf("call-%04d", i), time.Duration(i)*2*time.Second
		sink.run.Results = append(sink.run.Results, audiosearch.Result{
			VideoID: id, Path: "2024/" + id + ".mp4", Start: at, End: at + 10*time.Second, Score: float64(65535-i) / math.MaxUint16,
			Metadata: metadata.Map{"site": metadata.String("north"), "title": metadata.String("A call at night"), "year": metadata.Int(2024)},
			Keyframe: audiosearch.Keyframe{ImageID: id + "@" + strconv.FormatInt(at.Milliseconds(), 10), At: at},
		})
	}
	service, err := audiosearch.New(audiosearch.Backend{Store: sink, Queue: sink}, &audiosearch.Options{Scorers: []sound.Scorer{new(deafScorer)}})
	check(err)
	_, err = service.CreateDataset(b.Context(), "acme", "", "calls")
	check(err)
	check(service.PutVideos(b.Context(), "acme", "", "calls", audiosearch.Video{ID: "a", Path: "a.mp4", Metadata: sink.run.Results[0].Metadata}))
	sink.run.CreatedAt = time.Now() // a run is younger than its dataset
	keys := keyTable{sha256.Sum256([]byte(benchKey)): "acme"}
	adapter, err := httpadapter.NewAudioSearch(service, httpadapter.Bearer(func(_ context.Context, token string) (httpadapter.Principal, error) {
		if org, ok := keys.verify(token); ok {
			return httpadapter.Principal{Organization: org, Access: access.Full()}, nil
		}
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}), nil)
	check(err)
	return service, adapter, http.NewServeMux()
}

type bareSearchRequest struct {
	Dataset string      `json:"dataset_id"`
	Class   sound.Class `json:"audio_class"`
	Limit   *int        `json:"limit"`
	Offset  int         `json:"offset"`
	Filters []struct {
		Key   *string     `json:"key"`
		Value *string     `json:"value"`
		Op    metadata.Op `json:"op"`
	} `json:"metadata_filters"`
	SkipModeration bool `json:"skip_moderation"`
}

// bareSearch is what a Go service would write by hand.
func bareSearch(service *audiosearch.Service) http.HandlerFunc {
	keys := keyTable{sha256.Sum256([]byte(benchKey)): "acme"}
	return func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		org, known := keys.verify(token)
		if !ok || !known {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var body bareSearchRequest
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body); err != nil || body.Offset < 0 || len(body.Filters) > 100 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		q := audiosearch.Query{Dataset: body.Dataset, Class: body.Class, Offset: body.Offset, SkipModeration: body.SkipModeration}
		if body.Limit != nil {
			if q.Limit = *body.Limit; q.Limit < 1 || q.Limit > 1000 {
				w.WriteHeader(http.StatusUnprocessableEntity)
				return
			}
		}
		for _, f := range body.Filters {
			if f.Key == nil || f.Value == nil {
				w.WriteHeader(http.StatusUnprocessableEntity)
				return
			}
			q.Filters = append(q.Filters, metadata.Filter{Key: *f.Key, Value: *f.Value, Op: f.Op})
		}
		run, err := service.Start(r.Context(), org, "", q)
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]int64{"run_id": run.ID})
	}
}

// bareResults are results with the tags of encoding/json.
type bareResults struct {
	Status  string              `json:"status"`
	Target  string              `json:"search_target"`
	Results []bareResultOfSound `json:"results"`
}

type bareResultOfSound struct {
	Video struct {
		ID       string       `json:"video_id"`
		Path     string       `json:"path"`
		Metadata metadata.Map `json:"metadata"`
	} `json:"video"`
	Start    int64 `json:"start_time_ms"`
	End      int64 `json:"end_time_ms"`
	Keyframe struct {
		ID string `json:"image_id"`
		At int64  `json:"timestamp_ms"`
	} `json:"keyframe"`
	Score      float64  `json:"score"`
	Moderation *float64 `json:"moderation_score"`
}

func bareResult(service *audiosearch.Service) http.HandlerFunc {
	keys := keyTable{sha256.Sum256([]byte(benchKey)): "acme"}
	return func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		org, known := keys.verify(token)
		if !ok || !known {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		id, err := strconv.ParseInt(r.PathValue("run_id"), 10, 64)
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		run, err := service.Results(r.Context(), org, r.FormValue("dataset_id"), id)
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body := bareResults{Status: string(run.Termination), Target: "sound", Results: make([]bareResultOfSound, len(run.Results))}
		for i, found := range run.Results {
			one := &body.Results[i]
			one.Video.ID, one.Video.Path, one.Video.Metadata = found.VideoID, found.Path, found.Metadata
			one.Start, one.End = found.Start.Milliseconds(), found.End.Milliseconds()
			one.Keyframe.ID, one.Keyframe.At = found.Keyframe.ImageID, found.Keyframe.At.Milliseconds()
			one.Score, one.Moderation = found.Score, found.Moderation
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}
}
