package main

import (
	"bytes"
	"context"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// Browsers do not play all that can be searched. For what they do not play there is the
// sound of a place, as WAV.
const (
	soundLength = 30 * time.Second
	soundRate   = 24000            // Hz
	soundLimit  = 30 * time.Second // for the decoding of all that is before the place
)

// unplayed are the kinds of files that no usual browser plays. If another one is not
// played, the script of the page notices.
var unplayed = []string{".aif", ".aiff", ".asf", ".avi", ".flv", ".m2ts", ".mpeg", ".mpg", ".mts", ".mxf", ".ts", ".wma", ".wmv"}

func isUnplayed(file string) bool { return slices.Contains(unplayed, strings.ToLower(path.Ext(file))) }

// sound sends the sound from the start of a segment on.
func (p *searchPage) sound(w http.ResponseWriter, r *http.Request, who httpadapter.Principal) {
	p.sendExtract(w, r, who, extract{"sound", p.sounds, isSegment, p.cutSound})
}

// isSegment reports whether a segment begins at that time.
func isSegment(scoring *audiosearch.Scoring, at, _ time.Duration) bool {
	if at < 0 || scoring.Hop <= 0 {
		return false
	}
	i := (at + scoring.Hop/2) / scoring.Hop // as near as the rounding to milliseconds leaves it
	start, _ := scoring.Span(int(i))
	return i < time.Duration(scoring.Windows) && start == at
}

// cutSound returns a part of the sound of a file as a WAV file.
func (p *searchPage) cutSound(ctx context.Context, file string, at, _ time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, soundLimit)
	defer cancel()
	part, err := p.samples(ctx, file, soundRate, at, at+soundLength)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = wav.Encode(&b, soundRate, part)
	return b.Bytes(), err
}
