package embed

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// TestModerator: a recording of dialed numbers is not fit to be shown, a dial tone is,
// and what cannot be judged has no score.
func TestModerator(t *testing.T) {
	dir := t.TempDir()
	recordDialTone(filepath.Join(dir, "waiting.wav"))
	recordKeys(t, filepath.Join(dir, "dialing.wav"))
	videos, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer videos.Close()
	host, err := newHost(exampleSecret)
	if err != nil {
		t.Fatal(err)
	}
	service, _, err := addSounds(t.Context(), host, videos)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.CreateDataset(t.Context(), "acme", "", recordings); err != nil {
		t.Fatal(err)
	}
	err = service.PutVideos(t.Context(), "acme", "", recordings,
		audiosearch.Video{ID: "waiting", Path: "waiting.wav"}, audiosearch.Video{ID: "dialing", Path: "dialing.wav"})
	if err != nil {
		t.Fatal(err)
	}
	query := audiosearch.Query{Dataset: recordings, Class: "Dial tone"}
	found, err := service.Search(t.Context(), "acme", "bob", query)
	if err != nil || len(found.Results) != 2 {
		t.Fatal(err, found)
	}
	for _, r := range found.Results {
		if want := map[string]float64{"waiting": 1, "dialing": 0}[r.VideoID]; r.Moderation == nil || math.Abs(*r.Moderation-want) > 0.05 {
			t.Errorf("%s: moderation score %v, want about %v", r.VideoID, r.Moderation, want)
		}
	}
	query.SkipModeration = true
	if found, err = service.Search(t.Context(), "acme", "bob", query); err != nil || found.Results[0].Moderation != nil {
		t.Error(err, "it was asked not to")
	}

	judge := &moderator{sounds: []sound.Class{"Gunshot, gunfire"}, service: service}
	if scores, err := judge.moderate(t.Context(), "acme", found.Results); err == nil {
		t.Errorf("%v, though nobody listens for gunshots here", scores)
	}
	if scores, err := judge.moderate(t.Context(), "umbrella", found.Results); err == nil {
		t.Errorf("%v for a tenant without recordings", scores)
	}
}

// recordKeys writes ten seconds of keys of a telephone: 0.1 s of two tones, and as long a
// pause (ITU-T Q.23, Q.24).
func recordKeys(t *testing.T, path string) {
	t.Helper()
	const rate = 8000
	low, high := []float64{697, 770, 852, 941}, []float64{1209, 1336, 1477}
	samples := make([]float32, 10*rate)
	for i := range samples {
		key := i / (rate / 5)
		if i%(rate/5) >= rate/10 {
			continue
		}
		at := 2 * math.Pi * float64(i) / rate
		samples[i] = float32(0.2*math.Sin(low[key%4]*at) + 0.2*math.Sin(high[key%3]*at))
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := wav.Encode(file, rate, samples); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
