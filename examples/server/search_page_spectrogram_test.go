package main

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// sine is a sound of full scale.
func sine(frequency float64, samples int) []float32 {
	sound := make([]float32, samples)
	for i := range sound {
		sound[i] = float32(math.Sin(2 * math.Pi * frequency * float64(i) / spectrumRate))
	}
	return sound
}

// TestLevels: a sine is a line of 0 dB at the height of its frequency, and silence is dark.
func TestLevels(t *testing.T) {
	for _, frequency := range []float64{60, 440, 1000, 7500} {
		cells := levels(sine(frequency, 3*spectrumRate))
		for x := 20; x < spectrumWidth-20; x++ {
			column := cells[x*spectrumHeight : (x+1)*spectrumHeight]
			loudest := 0
			for y := range column {
				if column[y] > column[loudest] {
					loudest = y
				}
			}
			want := math.Log(spectrumHigh/frequency) / math.Log(spectrumHigh/spectrumLow) * spectrumHeight
			// Between two bins a line is lower and wider: the octaves at the bottom have few.
			if off := math.Abs(float64(loudest) + 0.5 - want); off > 1+150/frequency || column[loudest] < -3 || column[loudest] > 0.1 {
				t.Fatalf("%v Hz, column %d: the loudest row is %d with %.1f dB, want about %.1f with 0", frequency, x, loudest, column[loudest], want)
			}
		}
	}
	nothing := draw(levels(make([]float32, 5*spectrumRate)), 0, spectrumWidth)
	if bytes.ContainsFunc(nothing.Pix, func(shade rune) bool { return shade != 0 }) {
		t.Error("silence is not dark")
	}
	odd := sine(440, 100) // less than a frame
	odd[7], odd[8] = float32(math.NaN()), float32(math.Inf(1))
	for _, shade := range draw(levels(odd), 10, 20).Pix {
		if int(shade) >= len(shades) {
			t.Fatalf("shade %d", shade)
		}
	}
}

// TestSpectrogramIsMarked: what is outside of the segment is darker, and a line is between.
func TestSpectrogramIsMarked(t *testing.T) {
	const from, to = 100, 500
	picture := draw(levels(sine(1000, 4*spectrumRate)), from, to)
	for x := range spectrumWidth {
		for y := range spectrumHeight {
			shade := int(picture.ColorIndexAt(x, y))
			line, outside := shade == 2*shadesOf, shade >= shadesOf
			if line != (x == from-1 || x == to) || outside != (x < from || x >= to) {
				t.Fatalf("%d,%d: shade %d", x, y, shade)
			}
		}
	}
	r, g, b, _ := shades[shadesOf-1].RGBA()
	if dr, dg, db, _ := shades[2*shadesOf-1].RGBA(); dr >= r || dg >= g || db >= b {
		t.Error("what is outside is not darker")
	}
}

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
		if err != nil || got.Bounds() != image.Rect(0, 0, spectrumWidth, spectrumHeight) {
			t.Fatalf("%s: %v, %v", query, err, got)
		}
		tags = append(tags, w.Header().Get("ETag"))
		paletted := got.(*image.Paletted)
		before := paletted.ColorIndexAt(0, 0) >= shadesOf
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
