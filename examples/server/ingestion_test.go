package main

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestIngestionIsLogged: where no bar shows it, it is logged once a minute how far it is,
// with what is known.
func TestIngestionIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		in := newIngestion(slog.New(slog.NewJSONHandler(&text, nil)))
		told := mortise.Observation{Kind: mortise.KindScoring, Organization: "acme", Object: "d",
			Detail: audiosearch.Detail{Dataset: "d", Model: "ast/1", Done: 2, Total: 9,
				Sound: audiosearch.SoundProgress{Done: time.Hour, Total: 10 * time.Hour, Speed: 12}}}
		in.observe(t.Context(), told) // of a search, say
		text.Reset()
		for range 150 {
			time.Sleep(time.Second)
			in.observe(t.Context(), told)
		}
		if n := strings.Count(text.String(), `"msg":"scoring videos","organization":"acme","dataset":"d","model":"ast/1","done":2,"total":9,`+
			`"sound":"1:00:00 of about 10:00:00, 12.0x, about 45:00 left"`); n != 2 || strings.Count(text.String(), "\n") != n {
			t.Errorf("in two and a half minutes: %s", &text)
		}
		text.Reset()
		in.observe(t.Context(), mortise.Observation{Kind: mortise.KindIngested, Organization: "acme", Object: "v",
			Detail: audiosearch.Detail{Dataset: "d", Length: 7 * time.Second}, Duration: 4487_900 * time.Microsecond})
		if !strings.Contains(text.String(), `"msg":"video scored","organization":"acme","dataset":"d","video":"v","sound":"0:07","seconds":4.488}`) {
			t.Error(text.String())
		}
	})
}

// TestIngestionBegins: the first line comes a minute after the beginning, and on a terminal
// there is a bar in its place.
func TestIngestionBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openStorageFor(t, &settings{memory: true})
		var text, screen bytes.Buffer
		s, err := wire(testSettings(), b, testKey(), slog.New(slog.NewJSONHandler(&text, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if err := apply(t, s, `{"organizations":[{"id":"acme","datasets":[{"id":"d","videos":[{"id":"a","path":"a.wav"}]}]}]}`); err != nil {
			t.Fatal(err)
		}
		in := s.audio.ingestion
		in.run(t.Context(), s.audio.service)
		in.observe(t.Context(), mortise.Observation{Kind: mortise.KindScoring})
		if strings.Contains(text.String(), "scoring videos") || !strings.Contains(text.String(), "all videos have been looked at") {
			t.Error(text.String())
		}
		in.screen = &console{to: &screen, terminal: true}
		in.run(t.Context(), s.audio.service)
		if !strings.Contains(screen.String(), "Scoring videos [........................] 0 of 1") || !strings.HasSuffix(screen.String(), wipe) {
			t.Errorf("%q", &screen)
		}
	})
}

// TestMediaFolder: where the paths of videos begin.
func TestMediaFolder(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	for name, test := range map[string]struct {
		s      settings
		folder string // "" for a temporary one
	}{
		"of the document": {settings{config: filepath.Join(dir, "acme.json"), data: data}, dir},
		"of the demo":     {settings{data: dir}, filepath.Join(dir, demoMedia)},
		"in memory":       {settings{data: data, memory: true}, ""},
	} {
		for range 2 {
			m, err := openMedia(&test.s)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if m.temporary != (test.folder == "") || !m.temporary && m.dir != test.folder {
				t.Errorf("%s: %s", name, m.dir)
			}
			err = m.close()
			if left, _ := filepath.Glob(m.dir); err != nil || (len(left) == 0) != m.temporary {
				t.Errorf("%s: %v, %v", name, left, err)
			}
		}
	}
	var usage *usageError
	if _, err := openMedia(&settings{config: filepath.Join(dir, "nowhere", "acme.json")}); !errors.As(err, &usage) {
		t.Errorf("got %v", err)
	}
}
