package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// missing is a store that is away a few times when videos are listed.
type missing struct {
	audiosearch.Store
	times int
}

func (m *missing) ListVideos(ctx context.Context, org, dataset, after string, limit int) ([]audiosearch.Video, error) {
	if m.times > 0 {
		m.times--
		return nil, errors.New("connection refused, host=db")
	}
	return m.Store.ListVideos(ctx, org, dataset, after, limit)
}

// TestIngestionTriesAgain: a storage that is away for a while is waited for, and what is
// wrong with a video is said once.
func TestIngestionTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openStorageFor(t, &settings{memory: true})
		store := &missing{Store: b.audio.Store, times: 4}
		b.audio.Store = store
		var text bytes.Buffer
		s, err := wire(testSettings(), b, testKey(), slog.New(slog.NewJSONHandler(&text, nil)))
		if err != nil {
			t.Fatal(err)
		}
		times := store.times
		store.times = 0
		if err := apply(t, s, `{"organizations":[{"id":"acme","datasets":[{"id":"d","videos":[{"id":"a","path":"a.wav"},{"id":"b","path":"b.wav"}]}]}]}`); err != nil {
			t.Fatal(err)
		}
		store.times = times
		text.Reset() // it says that the queue does not share a store of the test's own
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			s.audio.ingestion.run(ctx)
			close(done)
		}()
		pauses := firstPause * (1 + 2 + 4)
		time.Sleep(pauses)
		synctest.Wait()
		for range 2 { // each is told once, however often it is looked at
			if _, err := s.audio.service.Ingest(ctx, "acme", "", "d"); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		<-done
		for what, want := range map[string]int{"cannot score videos; trying again": times - 1, "a video cannot be searched": 2, "there is no such file": 2,
			"all videos have been looked at": 1, `"problems":2`: 1} {
			if n := strings.Count(text.String(), what); n != want {
				t.Errorf("%d times %q, want %d: %s", n, what, want, &text)
			}
		}
	})
}

// TestIngestionIsLogged: where no bar shows it, it is logged once a minute how far it is,
// with what is known.
func TestIngestionIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		in := newIngestion(nil, slog.New(slog.NewJSONHandler(&text, nil)))
		told := audiosearch.Observation{Kind: audiosearch.KindScoring, Organization: "acme", Dataset: "d", Model: "ast/1", Done: 2, Total: 9,
			Sound: audiosearch.SoundProgress{Done: time.Hour, Total: 10 * time.Hour, Speed: 12}}
		in.observe(t.Context(), told)
		if in.far != (progress{}) {
			t.Errorf("the bar shows what somebody else scores: %+v", in.far)
		}
		text.Reset()
		in.far.total, in.before, in.logged = 20, 5, time.Now()
		for range 150 {
			time.Sleep(time.Second)
			in.observe(t.Context(), told)
		}
		if n := strings.Count(text.String(), `"msg":"scoring videos","organization":"acme","dataset":"d","model":"ast/1","done":2,"total":9,`+
			`"sound":"1:00:00 of about 10:00:00, 12.0x, about 45:00 left"`); n != 2 || strings.Count(text.String(), "\n") != n {
			t.Errorf("in two and a half minutes: %s", &text)
		}
		if bar := in.far.bar(); bar != "Scoring videos [##......................] 7 of 20  1:00:00 of about 10:00:00, 12.0x, about 45:00 left" {
			t.Error(bar)
		}
		told.Model, told.Sound = "signal/1", audiosearch.SoundProgress{}
		in.observe(t.Context(), told)
		if bar := in.far.bar(); !strings.HasPrefix(bar, "Scoring videos by signal/1 [") {
			t.Error(bar)
		}
		told.Done = 99 // videos that came meanwhile
		in.observe(t.Context(), told)
		if in.far.total < in.far.done {
			t.Errorf("%+v", in.far)
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

// TestLoggedSeconds: in float64, 4 + 0.488 is 4.4879999999999995.
func TestLoggedSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{4487_900 * time.Microsecond: "4.488", time.Hour: "3600", 0: "0"} {
		if got := fmt.Sprint(loggedSeconds(d)); got != want {
			t.Errorf("%v is logged as %s, want %s", d, got, want)
		}
	}
}
