package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// videoDocument returns a document with one dataset of these videos.
func videoDocument(videos ...string) string {
	return `{"organizations":[{"id":"acme","datasets":[{"id":"d","videos":[` + strings.Join(videos, ",") + `]}]}]}`
}

// TestProvisioningOfDatasets: what is missing is created, and what exists stays as it is.
func TestProvisioningOfDatasets(t *testing.T) {
	for name, open := range storages {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s, err := wire(testSettings(), open(t), testKey(), slog.New(slog.NewJSONHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			v := func(id, path, metadata string) string {
				return fmt.Sprintf(`{"id":%q,"path":%q,"metadata":%s}`, id, path, metadata)
			}
			const numbers = `{"n":1.50,"big":123456789012345678901234567890,"e":1e2,"s":"1","t":true,"z":null}`
			for _, step := range []struct {
				name, text string
				videos     int
				warning    string
			}{
				{"new", videoDocument(v("a", "a.wav", numbers), v("b", "b.wav", "{}")), 2, ""},
				{"again", videoDocument(v("a", "a.wav", numbers), `{"id":"b","path":"b.wav"}`), 2, ""},
				{"a number in another way", videoDocument(v("a", "a.wav", strings.Replace(numbers, "1.50", "1.5", 1))), 2, "other metadata"},
				{"another path", videoDocument(v("a", "c.wav", numbers)), 2, "another path"},
				{"both", videoDocument(v("b", "c.wav", `{"n":1}`)), 2, "another path and other metadata"},
				{"one more", videoDocument(v("c", "c.wav", "{}")), 3, ""},
				{"nothing left", videoDocument(), 3, ""},
			} {
				log.Reset()
				if err := apply(t, s, step.text); err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				told := log.String()
				if step.warning == "" && told != "" || step.warning != "" && (strings.Count(told, "\n") != 1 ||
					!strings.Contains(told, "a video is stored with "+step.warning+"; what exists is never changed") ||
					!strings.Contains(told, `"place":"line 1, column 64: organizations[0].datasets[0].videos[0]"`)) {
					t.Errorf("%s: logged %s", step.name, told)
				}
				stored := make(map[string]audiosearch.Video)
				for video, err := range s.audio.service.Videos(t.Context(), "acme", "d") {
					if err != nil {
						t.Fatal(err)
					}
					stored[video.ID] = video
				}
				want, _ := metadata.Parse([]byte(numbers))
				if len(stored) != step.videos || stored["a"].Path != "a.wav" || !maps.Equal(stored["a"].Metadata, want) || stored["b"].Path != "b.wav" {
					t.Errorf("%s: %+v", step.name, stored)
				}
			}
			if got := len(s.audio.ingestion.datasets); got != 7 {
				t.Errorf("%d datasets to look at", got)
			}
		})
	}
}
