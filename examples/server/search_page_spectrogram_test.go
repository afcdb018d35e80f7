package main

import (
	"context"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/excerpt"
	"github.com/seed-6363c74e/mortise/audiosearch/spectrogram"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// TestSpectrogram: there is a picture of each segment, and of nothing else.
func TestSpectrogram(t *testing.T) {
	r := newExcerptRig(t)
	media := wav.Media{}
	made := 0
	kind := excerpt.Spectrograms(media)
	draw := kind.Make
	kind.Make = func(ctx context.Context, file string, at, to time.Duration) ([]byte, error) {
		made++
		return draw(ctx, file, at, to)
	}
	spectra := r.maker(kind)
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
	if made != 2 {
		t.Errorf("%d were made", made)
	}
}
