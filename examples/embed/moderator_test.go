package embed

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/synth"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// TestModerator: a recording of dialed numbers is not fit to be shown, a dial tone is,
// and what cannot be judged has no score.
func TestModerator(t *testing.T) {
	dir := t.TempDir()
	recordDialTone(filepath.Join(dir, "waiting.wav"))
	keys := synth.Samples(8000, 1, synth.Keys(0.2, "159#").For(10))
	if err := wav.WriteFile(filepath.Join(dir, "dialing.wav"), 8000, keys); err != nil {
		t.Fatal(err)
	}
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
