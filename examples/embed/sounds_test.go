package embed

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/synth"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// Example_sounds looks for a dial tone in the recordings of a tenant.
func Example_sounds() {
	dir, err := os.MkdirTemp("", "mortise")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	recordDialTone(filepath.Join(dir, "call.wav"))
	videos, err := folder.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer videos.Close()

	host, err := newHost(exampleSecret)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	service, worker, err := addSounds(ctx, host, videos)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := service.CreateDataset(ctx, "acme", "", "calls"); err != nil {
		log.Fatal(err)
	}
	if err := service.PutVideos(ctx, "acme", "", "calls", audiosearch.Video{ID: "1", Path: "call.wav", Metadata: metadata.Map{"line": metadata.Int(7)}}); err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(host)
	defer server.Close()
	search, bob := server.URL+"/sounds/api/v0/search/metadata-filters/", token("bob", "acme")

	started := request("POST", search+"audio-sound", bob, `{"dataset_id":"calls","audio_class":"Dial tone","limit":1,"metadata_filters":[{"key":"line","op":">","value":"5"}]}`)
	run := regexp.MustCompile(`[0-9]+}`).FindString(started)
	run = run[:len(run)-1]
	if _, err := worker.RunOnce(ctx); err != nil { // the host runs worker.Run beside its server
		log.Fatal(err)
	}
	result := request("GET", search+"job/result/"+run+"?dataset_id=calls", bob, "")
	result = regexp.MustCompile(`"score":[01.0-9]+`).ReplaceAllString(result, `"score":SCORE`)
	fmt.Println(regexp.MustCompile(`"moderation_score":(1|0.99[0-9]*)}`).ReplaceAllString(result, `"moderation_score":FIT}`))
	fmt.Println(request("GET", search+"job/result/"+run+"?dataset_id=calls", token("eve", "umbrella"), ""))
	// Output:
	// 200 {"status":"SUCCESS","search_target":"sound","results":[{"video":{"video_id":"1","path":"call.wav","metadata":{"line":7}},"start_time_ms":0,"end_time_ms":10000,"keyframe":{"image_id":"1@0","timestamp_ms":0},"score":SCORE,"moderation_score":FIT}]}
	// 404 {"detail":"Dataset not found"}
}

// recordDialTone writes ten seconds of the tone that telephones in America have: 350 and 440 Hz.
func recordDialTone(path string) {
	if err := wav.WriteFile(path, 8000, synth.Samples(8000, 1, synth.Tones(0.2, 350, 440).For(10))); err != nil {
		log.Fatal(err)
	}
}
