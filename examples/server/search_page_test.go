package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// TestPlayerDoesNotHoldUpTheEnd: an answer whose reader has paused ends when the server
// is told to.
func TestPlayerDoesNotHoldUpTheEnd(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var sent endless
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		slow := newSlowWriter(w, stopping)
		defer slow.done()
		_, err := io.Copy(slow, &sent)
		ended <- err
	}))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for before := int64(-1); sent.reads.Load() != before; time.Sleep(200 * time.Millisecond) { // until all that is between them is full
		before = sent.reads.Load()
	}
	stop()
	if err := <-ended; err == nil {
		t.Error("it has ended well")
	}
	slow := newSlowWriter(httptest.NewRecorder(), stopping)
	if _, err := slow.Write([]byte("x")); !errors.Is(err, errStopping) {
		t.Errorf("got %v", err)
	}
}

// endless is a file without an end.
type endless struct{ reads atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	e.reads.Add(1)
	return len(b), nil
}

func TestSentence(t *testing.T) {
	for _, test := range [][3]string{
		{"The limit", "must be 1 to 1000", "The limit must be 1 to 1000."},
		{"This sound", "cannot be found", "This sound cannot be found."},
		{"The key", "no video has it", "No video has it."},
		{"The key", "élan", "Élan."},
	} {
		if got := sentence(test[0], test[1]); got != test[2] {
			t.Errorf("%q, want %q", got, test[2])
		}
	}
}

// TestSearchPageLeavesTheRestAlone: what is not the page's is answered by the services.
func TestSearchPageLeavesTheRestAlone(t *testing.T) {
	s, _ := open(t)
	handler, err := routes(t.Context(), testSettings(), s, discard())
	if err != nil {
		t.Fatal(err)
	}
	for path, html := range map[string]bool{"/": true, "/search": true, "/search/": false, "/search/x": true, "/search/search.svg": false, "/search/../search": true, "/searchx": false, "/api/v0/search": false} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if got := strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"); got != html {
			t.Errorf("%s: %s", path, w.Header())
		}
	}
}

// TestSearchPageHeaders: a refusal says what else to do, as HTTP has it.
func TestSearchPageHeaders(t *testing.T) {
	s, _ := open(t)
	handler, err := routes(t.Context(), testSettings(), s, discard())
	if err != nil {
		t.Fatal(err)
	}
	for path, allow := range map[string]string{"/search": "GET, HEAD", "/search/search.css": "GET, HEAD", "/search/login": "POST"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodDelete, path, nil))
		if got := w.Header().Get("Allow"); w.Code != http.StatusMethodNotAllowed || got != allow {
			t.Errorf("%s: %d, Allow: %s, want %s", path, w.Code, got, allow)
		}
	}
	for _, path := range []string{"/search", "/search/search.css"} {
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, httptest.NewRequest(http.MethodHead, path, nil)); w.Code != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, w.Code)
		}
	}
	w := httptest.NewRecorder()
	s.site.fail(w, httptest.NewRequest(http.MethodGet, "/search/run", nil), mortise.ErrDeleted)
	if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("of a deleted organization: %d %v", w.Code, w.Header())
	}
}
