package main

import (
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/spectrogram"
)

// TestSpectrogram: there is a picture of each segment, and of nothing else.
func TestSpectrogram(t *testing.T) {
	r := newExtractRig(t)
	spectra := newExtracts("picture", isWholeSegment, r.s.audio.page.drawSpectrogram)
	ask := func(query string) *httptest.ResponseRecorder { return r.ask("acme", spectra, query) }
	var tags []string
	for _, query := range []string{"at=0&to=10000", "at=2000&to=12000"} {
		w := ask(query)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/png" {
			t.Fatalf("%s: %d, %s", query, w.Code, w.Header())
		}
		got, err := png.Decode(w.Body)
		if err != nil || got.Bounds() != image.Rect(0, 0, spectrogram.Width, spectrogram.Height) {
			t.Fatalf("%s: %v, %v", query, err, got)
		}
		tags = append(tags, w.Header().Get("ETag"))
		// What is before the segment has a line behind it, which is the lightest color.
		before := false
		for x := range spectrogram.Width / 2 {
			before = before || got.At(x, 0) == color.RGBA{255, 255, 255, 255} && got.At(x, spectrogram.Height-1) == got.At(x, 0)
		}
		if before != strings.HasPrefix(query, "at=2") {
			t.Errorf("%s: what is before it is not told from it", query)
		}
	}
	if tags[0] == tags[1] {
		t.Error("two pictures have one tag:", tags)
	}
	for _, query := range []string{"", "at=0", "at=0&to=9999", "at=1&to=10000", "at=0&to=10000x", "at=0&to=-1", "at=2000&to=10000", "at=4000&to=14000",
		"at=0&to=9223372036854775807", "at=9223372036854775807&to=9223372036854775807", "at=-9223372036854775808&to=0"} {
		if w := ask(query); w.Code != http.StatusNotFound {
			t.Errorf("%q: %d", query, w.Code)
		}
	}
	if made := len(spectra.kept); made != 2 {
		t.Errorf("%d were made", made)
	}
}

// TestSegmentsEnd: the last segment may be shorter than a window.
func TestSegmentsEnd(t *testing.T) {
	s := audiosearch.Scoring{Windows: 2, Window: 10 * time.Second, Hop: 2 * time.Second, Duration: 11 * time.Second}
	for _, test := range []struct {
		at, to time.Duration
		want   bool
	}{{0, 10, true}, {2, 11, true}, {2, 12, false}, {0, 11, false}, {0, 0, false}, {4, 11, false}} {
		if got := isWholeSegment(&s, test.at*time.Second, test.to*time.Second); got != test.want {
			t.Errorf("%v to %v: %v", test.at, test.to, got)
		}
	}
}
