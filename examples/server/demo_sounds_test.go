package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestDemoSounds: each sound of the demo is found where it is.
func TestDemoSounds(t *testing.T) {
	b := openStorageFor(t, &settings{memory: true})
	s, err := wire(testSettings(), b, testKey(), discard())
	if err != nil {
		t.Fatal(err)
	}
	if err := startDemo(t.Context(), io.Discard, s, new(demoPage), discard()); err != nil {
		t.Fatal(err)
	}
	for class, video := range map[sound.Class]string{
		"Dial tone": "office-phone", "Telephone dialing, DTMF": "office-phone", "Busy signal": "office-phone", "Smoke detector, smoke alarm": "kitchen-alarm",
		"Mains hum": "workshop", "White noise": "radio", "Pink noise": "radio", "Sine wave": "test-signals", "Chirp tone": "test-signals", "Silence": "night",
	} {
		found, err := s.audio.service.Search(t.Context(), demoOrganization, "", audiosearch.Query{Dataset: "sounds", Class: class, MinScore: 0.9})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Problems) > 0 {
			t.Fatalf("%+v", found.Problems)
		}
		if len(found.Results) == 0 || found.Results[0].VideoID != video {
			t.Errorf("%s: found %+v, want %s", class, found.Results, video)
		}
		for _, r := range found.Results {
			if r.VideoID != video {
				t.Errorf("%s: also found in %s, with %v", class, r.VideoID, r.Score)
			}
		}
	}

	// A second start makes nothing anew, and leaves nothing else behind.
	path := filepath.Join(b.files.dir, "night.wav")
	if err := os.WriteFile(path, []byte("somebody's own"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := startDemo(t.Context(), io.Discard, s, new(demoPage), discard()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "somebody's own" {
		t.Errorf("%v, %d bytes", err, len(text))
	}
	if files, err := os.ReadDir(b.files.dir); err != nil || len(files) != len(demoSounds()) {
		t.Errorf("%v %v", files, err)
	}
}

// TestDemoSoundsOfTwoStarts: what another server is about to write is left alone.
func TestDemoSoundsOfTwoStarts(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "night.wav.part")
	if err := os.Mkdir(other, 0o700); err != nil { // which nobody can write to or rename to a file
		t.Fatal(err)
	}
	if err := makeDemoSounds(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != len(demoSounds())+1 {
		t.Errorf("%v %v", files, err)
	}
}
