package httpadapter_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// A viewer of a dataset searches its recordings for silence.
func ExampleNewAudioSearch() {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "mortise")
	check(err)
	defer os.RemoveAll(dir)
	check(wav.WriteFile(filepath.Join(dir, "nobody.wav"), 16000, make([]float32, 10*16000))) // ten seconds of nothing

	videos, err := folder.Open(dir)
	check(err)
	defer videos.Close()
	media := wav.Media{}
	scorer, err := signal.New(nil)
	check(err)
	db, err := memory.Open(ctx, nil)
	check(err)
	service, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{scorer}, Media: media, Files: videos})
	check(err)
	_, err = service.CreateDataset(ctx, "acme", "", "calls")
	check(err)
	check(service.PutVideos(ctx, "acme", "", "calls", audiosearch.Video{ID: "c1", Path: "nobody.wav", Metadata: metadata.Map{"line": metadata.Int(7)}}))
	worker, err := audiosearch.NewWorker(service, nil)
	check(err)

	viewer := access.DefaultCatalogue().Access(access.Role{ID: "viewer", Resource: access.Dataset, ResourceInstance: "calls"})
	auth := httpadapter.Bearer(func(_ context.Context, token string) (httpadapter.Principal, error) {
		if token != "the-viewers-token" {
			return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
		}
		return httpadapter.Principal{Organization: "acme", Subject: "person:ada", Access: viewer}, nil
	})
	searches, err := httpadapter.NewAudioSearch(service, auth, nil)
	check(err)

	run := ""
	send := func(method, path, body string) {
		r := httptest.NewRequest(method, "/api/v0/search/metadata-filters/"+strings.ReplaceAll(path, "RUN", run), strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer the-viewers-token")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		searches.ServeHTTP(w, r)
		if id, ok := strings.CutPrefix(w.Body.String(), `{"run_id":`); ok {
			run, _, _ = strings.Cut(strings.TrimSuffix(id, "}"), ",")
		}
		fmt.Println(w.Code, strings.ReplaceAll(w.Body.String(), run, "RUN"))
	}
	send(http.MethodPost, "audio-sound", `{"dataset_id":"calls","audio_class":"Silence","metadata_filters":[{"key":"line","value":"5","op":">"}]}`)
	send(http.MethodGet, "job/result/RUN?dataset_id=calls", "")
	_, err = worker.RunOnce(ctx) // a service has worker.Run(ctx) beside its server
	check(err)
	send(http.MethodGet, "job/status/RUN?dataset_id=calls", "")
	send(http.MethodGet, "job/result/RUN?dataset_id=calls", "")
	send(http.MethodPost, "audio-sound", `{"dataset_id":"calls","audio_class":"Silence","limit":0}`)
	// Output:
	// 200 {"run_id":RUN}
	// 200 {"status":"QUEUED"}
	// 200 {"run_id":RUN,"state":"TERMINATED","termination_type":"SUCCESS","termination_message":null,"progress":{"done":1,"total":1,"sound_done_seconds":10,"sound_total_seconds":10}}
	// 200 {"status":"SUCCESS","search_target":"sound","results":[{"video":{"video_id":"c1","path":"nobody.wav","metadata":{"line":7}},"start_time_ms":0,"end_time_ms":10000,"keyframe":{"image_id":"c1@0","timestamp_ms":0},"score":1,"moderation_score":null}]}
	// 422 {"detail":[{"loc":["body","limit"],"msg":"Input should be greater than or equal to 1","type":"greater_than_equal"}]}
}
