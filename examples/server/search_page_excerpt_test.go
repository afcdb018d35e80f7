package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/excerpt"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// excerptRig has two organizations with a video each, whose files were the same once.
type excerptRig struct {
	t    *testing.T
	s    *services
	dir  string
	kept *excerpt.Maker // the whole of a file
	cuts int
}

var organizations = []string{"acme", "rival"}

func newExcerptRig(t *testing.T) *excerptRig {
	t.Helper()
	r := &excerptRig{t: t, dir: t.TempDir()}
	b := openStorageFor(t, &settings{memory: true, config: filepath.Join(r.dir, "two.json")})
	var err error
	if r.s, err = wire(testSettings(), b, testKey(), discard()); err != nil {
		t.Fatal(err)
	}
	always := func(*audiosearch.Scoring, time.Duration, time.Duration) bool { return true }
	r.kept = r.maker(excerpt.Kind{Has: always, Make: func(_ context.Context, file string, _, _ time.Duration) ([]byte, error) {
		r.cuts++
		return os.ReadFile(file)
	}})
	then := time.Now().Add(-time.Hour)
	var documents []string
	for _, org := range organizations {
		r.record(org, 440, then)
		documents = append(documents, fmt.Sprintf(`{"id":%q,"datasets":[{"id":"d","videos":[{"id":"v","path":"%s.wav"}]}]}`, org, org))
	}
	if err := apply(t, r.s, `{"organizations":[`+strings.Join(documents, ",")+`]}`); err != nil {
		t.Fatal(err)
	}
	r.score()
	return r
}

func (r *excerptRig) maker(kind excerpt.Kind) *excerpt.Maker {
	r.t.Helper()
	m, err := excerpt.New(r.s.audio.service, r.s.audio.files, kind, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// record writes the file of an organization.
func (r *excerptRig) record(org string, frequency float64, at time.Time) {
	r.t.Helper()
	samples := make([]float32, 12*16000)
	for i := range samples {
		samples[i] = float32(0.5 * math.Sin(2*math.Pi*frequency*float64(i)/16000))
	}
	var b bytes.Buffer
	if err := wav.Encode(&b, 16000, samples); err != nil {
		r.t.Fatal(err)
	}
	file := filepath.Join(r.dir, org+".wav")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chtimes(file, at, at); err != nil {
		r.t.Fatal(err)
	}
}

func (r *excerptRig) score() {
	r.t.Helper()
	for _, org := range organizations {
		got, err := r.s.audio.service.Ingest(r.t.Context(), org, "", "d")
		if err != nil || len(got.Problems) > 0 {
			r.t.Fatal(err, got.Problems)
		}
	}
}

// ask is the request of an organization for what is cut out of its file.
func (r *excerptRig) ask(org string, e *excerpt.Maker, query string) *httptest.ResponseRecorder {
	r.t.Helper()
	w := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/search/x?dataset=d&video=v&"+query, nil).WithContext(r.t.Context())
	r.send(w, request, org, e)
	return w
}

func (r *excerptRig) send(w http.ResponseWriter, request *http.Request, org string, e *excerpt.Maker) {
	page := r.s.audio.page
	v := &visit{httpadapter.Principal{Organization: org, Access: access.Full()}, request.URL.Query()}
	if err := page.excerpt("sound", e)(w, request, v); err != nil {
		page.fail(w, request, err)
	}
}

// own asks, and checks that the answer is what is in the organization's file.
func (r *excerptRig) own(org string) {
	r.t.Helper()
	want, err := os.ReadFile(filepath.Join(r.dir, org+".wav"))
	if err != nil {
		r.t.Fatal(err)
	}
	if w := r.ask(org, r.kept, "at=0"); w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), want) {
		r.t.Errorf("%s: %d, %d bytes, which are not its file", org, w.Code, w.Body.Len())
	}
}

// TestExcerptsOfOthers: two organizations had the same file once, and one is replaced in
// place. Each gets what is cut out of its own, in whatever order they ask, and nothing is
// cut out of a file that was not scored.
func TestExcerptsOfOthers(t *testing.T) {
	for name, first := range map[string][]string{"owner first": {"acme", "rival"}, "other first": {"rival", "acme"}} {
		t.Run(name, func(t *testing.T) {
			r := newExcerptRig(t)
			r.record("rival", 880, time.Now())
			for _, org := range first {
				if org == "acme" {
					r.own(org)
					continue
				}
				w := r.ask(org, r.kept, "at=0")
				if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "was changed after it was searched") {
					t.Errorf("%d: %s", w.Code, w.Body)
				}
			}
			if r.cuts != 1 {
				t.Errorf("%d were made", r.cuts)
			}
			r.score()
			for range 2 {
				r.own("rival")
				r.own("acme")
			}
			if r.cuts != 2 {
				t.Errorf("%d were made", r.cuts)
			}
		})
	}
	t.Run("kept", func(t *testing.T) { // from before the file was replaced
		r := newExcerptRig(t)
		r.own("acme")
		r.own("rival")
		if r.cuts != 2 {
			t.Errorf("%d were made: what is cut out for one organization is not for another", r.cuts)
		}
		r.record("rival", 880, time.Now())
		r.score()
		r.own("rival")
		r.own("acme")
	})
	t.Run("meanwhile", func(t *testing.T) { // written to while it is read
		r := newExcerptRig(t)
		cuts := 0
		e := r.maker(excerpt.Kind{Has: excerpt.Sounds(nil).Has, Make: func(context.Context, string, time.Duration, time.Duration) ([]byte, error) {
			cuts++
			r.record("acme", 880, time.Now())
			return []byte("half of each"), nil
		}})
		for range 2 { // the second time, it is seen before
			if w := r.ask("acme", e, "at=0"); w.Code != http.StatusConflict || cuts != 1 {
				t.Errorf("%d, made %d times", w.Code, cuts)
			}
		}
	})
}

// TestExcerptsRefusedForNow: who comes to a long line is told when to ask again.
func TestExcerptsRefusedForNow(t *testing.T) {
	r := newExcerptRig(t)
	for err, want := range map[error]int{
		excerpt.ErrCrowded: http.StatusTooManyRequests, excerpt.ErrWaited: http.StatusServiceUnavailable, excerpt.ErrChanged: http.StatusConflict,
		excerpt.ErrNotMade: http.StatusNotFound, excerpt.ErrNone: http.StatusNotFound, mortise.ErrUnavailable: http.StatusServiceUnavailable,
	} {
		w := httptest.NewRecorder()
		page := r.s.audio.page
		request := httptest.NewRequest(http.MethodGet, "/search/sound", nil)
		page.fail(w, request, page.noExcerpt(request, new(visit), "sound", fmt.Errorf("wrapped: %w", err)))
		if later := w.Header().Get("Retry-After") != ""; w.Code != want || later != (want == 429 || want == 503) {
			t.Errorf("%v: %d, %v", err, w.Code, w.Header())
		}
	}
}

// TestFailuresOfThePage: what may work a little later says when to ask again.
func TestFailuresOfThePage(t *testing.T) {
	page := newExcerptRig(t).s.audio.page
	for err, want := range map[error]int{
		audiosearch.ErrRunNotFound: http.StatusNotFound, sound.ErrBadMedia: http.StatusNotFound,
		mortise.ErrDeleted:         http.StatusUnauthorized,
		audiosearch.ErrTooManyRuns: http.StatusTooManyRequests, mortise.ErrUnavailable: http.StatusServiceUnavailable,
	} {
		w := httptest.NewRecorder()
		page.fail(w, httptest.NewRequest(http.MethodGet, "/search", nil), fmt.Errorf("wrapped: %w", err))
		if later := w.Header().Get("Retry-After") != ""; w.Code != want || later != (want == 429 || want == 503) {
			t.Errorf("%v: %d, %v", err, w.Code, w.Header())
		}
	}
}

// TestAbandonedExcerptEnds: the program of a request ends when its caller has left, be it
// a request for a range as players send them.
func TestAbandonedExcerptEnds(t *testing.T) {
	r := newExcerptRig(t)
	begun, ended := make(chan struct{}), make(chan struct{})
	e := r.maker(excerpt.Kind{Has: excerpt.Sounds(nil).Has, Make: func(ctx context.Context, _ string, _, _ time.Duration) ([]byte, error) {
		close(begun)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.send(w, req, "acme", e) }))
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/search/sound?dataset=d&video=v&at=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Range", "bytes=1000-")
	done := make(chan error)
	go func() {
		resp, err := http.DefaultClient.Do(request)
		if err == nil {
			err = resp.Body.Close()
		}
		done <- err
	}()
	<-begun
	leave()
	<-ended
	if err := <-done; err == nil {
		t.Error("it was answered")
	}
}
